//! The requests that a payment gateway receives.

use std::time::Duration;

use crate::form::declare::setters::with_setters;
use crate::model::payments::gateway_report::GatewayRefund;
use crate::model::sale::customer::Customer;
use crate::model::sale::gateway_account::GatewayAccount;
use crate::model::sale::new_order::CheckoutRedirectUrls;
use crate::model::sale::refund::RefundSource;
use crate::model::values::amount::Amount;
use crate::model::values::id::{CustomerId, EventId, OrderId, OrganizationId, RefundId};
use crate::model::values::metadata::Metadata;
use crate::model::values::timestamp::Timestamp;

/// For how long after its decision the first attempt at a refund is certainly the first one.
const FRESH: Duration = Duration::from_mins(1);

impl CheckoutRequest {
    /// Creates a request, for tests of a gateway. Its idempotency key and its public URL are those that the service
    /// uses by default. The organization, the event and the customer do not exist, there are no items, and the hold of
    /// 15 minutes begins at [`Timestamp::UNIX_EPOCH`], unless they are set.
    ///
    /// ```
    /// use ticketing::Amount;
    /// use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
    ///
    /// struct ExamplePay;
    ///
    /// impl PaymentGateway for ExamplePay {
    ///     fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
    ///         let minor_units = request.amount.minor_units();
    ///         let link = format!("https://pay.example/{minor_units}/{}", request.currency);
    ///         Ok(Checkout::new(link, &request.idempotency_key))
    ///     }
    ///
    ///     fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
    ///         let Some(_) = &request.reference else { return Err(GatewayError::Refused("not paid".to_owned())) };
    ///         Ok(request.made(&request.idempotency_key))
    ///     }
    /// }
    ///
    /// let order_id = "order_1NR6E9XB00000".parse()?;
    /// let request = CheckoutRequest::new(order_id, Amount::cents(1250), "EUR").order_reference("A-17");
    /// let checkout = ExamplePay.start_checkout(&request)?;
    /// assert_eq!(checkout.link, "https://pay.example/1250/EUR");
    ///
    /// let refund = RefundRequest::new(order_id, Amount::cents(1250), "EUR");
    /// assert!(ExamplePay.refund(&refund).is_err());
    /// assert!(ExamplePay.refund(&refund.reference(checkout.reference)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(order_id: OrderId, amount: Amount, currency: impl Into<String>) -> Self {
        Self {
            order_id,
            organization_id: OrganizationId::UNKNOWN,
            account: GatewayAccount::Unrecorded,
            event_id: EventId::UNKNOWN,
            amount,
            currency: currency.into(),
            customer: Customer::new(CustomerId::UNKNOWN, "Customer", "customer@example.com"),
            redirect_urls: None,
            order_reference: None,
            metadata: Metadata::new(),
            created_at: Timestamp::UNIX_EPOCH,
            renewed_at: None,
            hold_until: Timestamp::UNIX_EPOCH.saturating_add(Duration::from_mins(15)),
            event_title: "Event".to_owned(),
            items: Vec::new(),
            locale: None,
            public_url: "http://127.0.0.1:8080".to_owned(),
            return_url: None,
            idempotency_key: format!("checkout-{order_id}"),
        }
    }
}

with_setters! {
    /// An order for which the gateway is to create a checkout.
    ///
    /// The service may ask again for the same checkout: all fields are the same then. A renewed checkout of an order is
    /// another one, with another idempotency key.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CheckoutRequest {
        /// The order.
        pub order_id: OrderId,
        /// The organization that sells the tickets.
        pub organization_id: OrganizationId,
        /// The account that takes the payment, as [`PaymentGateway::account`](super::PaymentGateway::account) has named
        /// it when this checkout was first asked for.
        pub account: GatewayAccount,
        /// The event that the tickets are for.
        pub event_id: EventId,
        /// The amount to pay.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The customer who pays. Mail can be sent to its [mailbox](Customer::mailbox) only.
        pub customer: Customer,
        /// The pages to send the customer to afterwards, if the order names them.
        pub redirect_urls: Option<CheckoutRedirectUrls>,
        /// The organization's own name for the order, if it has one.
        pub order_reference: Option<String>,
        /// What the organization has attached to the order.
        pub metadata: Metadata,
        /// When the order was created.
        pub created_at: Timestamp,
        /// When the checkout was [renewed](crate::TicketingService::renew_checkout). `None` for the first checkout of
        /// an order.
        pub renewed_at: Option<Timestamp>,
        /// Until when the order reserves its seats. The checkout should not be payable for longer, if the gateway can
        /// do that. If the order ends before, the service closes the checkout:
        /// [`Checkouts::close`](super::Checkouts::close).
        pub hold_until: Timestamp,
        /// The title of the event, when the order was created.
        pub event_title: String,
        /// The items. Their amounts add up to the amount to pay.
        pub items: Vec<CheckoutItem>,
        /// The customer's locale, or else the language of the order, if the order has one of them. It is what the
        /// client sent: any text.
        pub locale: Option<String>,
        /// The public URL of this service ([`Builder::public_url`](crate::Builder::public_url)), without a trailing
        /// slash.
        pub public_url: String,
        /// The page of the server to which the gateway can send the customer back, whatever became of the payment. The
        /// page asks the gateway, and then leads to the success, failure or cancel URL of the order. Nobody can guess
        /// the URL. `None` for checkouts of early versions.
        pub return_url: Option<String>,
        /// The idempotency key: the same for every attempt to create this checkout. It is `checkout-<order id>` for the
        /// first checkout of an order, and `checkout-<order id>-2`, `-3` and so on for those that replace it.
        pub idempotency_key: String,
    }
}

/// An item of an order, as the customer pays it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckoutItem {
    /// The name of the ticket type, when the order was created.
    pub name: String,
    /// The number of tickets.
    pub quantity: i64,
    /// What all these tickets cost together, less the discount.
    pub amount: Amount,
}

impl CheckoutItem {
    /// Creates an item with its name, its number of tickets, and what they cost together.
    #[must_use]
    pub fn new(name: impl Into<String>, quantity: i64, amount: Amount) -> Self {
        Self { name: name.into(), quantity, amount }
    }
}

/// Declares a request about a checkout that the gateway has created.
macro_rules! about_a_checkout {
    ($(#[$doc:meta])* pub struct $request:ident) => {
        impl $request {
            /// Creates a request, for tests of a gateway. The organization and the event do not exist, unless they are
            /// set.
            #[must_use]
            pub fn new(order_id: OrderId, reference: impl Into<String>) -> Self {
                Self {
                    order_id,
                    organization_id: OrganizationId::UNKNOWN,
                    account: GatewayAccount::Unrecorded,
                    event_id: EventId::UNKNOWN,
                    reference: reference.into(),
                }
            }

            pub(crate) fn of(
                (organization_id, order_id): (OrganizationId, OrderId),
                event_id: EventId,
                account: GatewayAccount,
                reference: &str,
            ) -> Self {
                Self { organization_id, account, event_id, ..Self::new(order_id, reference) }
            }
        }

        with_setters! {
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub struct $request {
                /// The order.
                pub order_id: OrderId,
                /// The organization that sells the tickets.
                pub organization_id: OrganizationId,
                /// The account at the provider that has the checkout.
                pub account: GatewayAccount,
                /// The event that the tickets are for.
                pub event_id: EventId,
                /// The gateway's id of the checkout, from [`Checkout::reference`](super::Checkout::reference).
                pub reference: String,
            }
        }
    };
}

about_a_checkout! {
    /// A checkout that must not be payable any more.
    pub struct CloseCheckout
}

about_a_checkout! {
    /// A request for the state of a checkout.
    pub struct LookUp
}

impl PaymentLookUp {
    /// Creates a request, for tests of a gateway. The organization and the account are not known, unless they are set.
    #[must_use]
    pub fn new(payment_reference: impl Into<String>) -> Self {
        Self { payment_reference: payment_reference.into(), organization_id: None, account: GatewayAccount::Unrecorded }
    }
}

with_setters! {
    /// A payment that the gateway is asked about.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PaymentLookUp {
        /// The gateway's id of the payment.
        pub payment_reference: String,
        /// The organization that sold the tickets. `None` if it is not known yet.
        pub organization_id: Option<OrganizationId>,
        /// The account at the provider that has the payment. It was recorded, or a
        /// [notice](super::GatewayNotice::account) has named it.
        pub account: GatewayAccount,
    }
}

impl RefundRequest {
    /// Creates a request, for tests of a gateway: see the example of [`CheckoutRequest::new`]. Its idempotency key is
    /// the one that the service uses for the refund of a whole payment. It is the first attempt, has no references, and
    /// the refund, the organization and the event do not exist, unless they are set.
    #[must_use]
    pub fn new(order_id: OrderId, amount: Amount, currency: impl Into<String>) -> Self {
        Self {
            order_id,
            organization_id: OrganizationId::UNKNOWN,
            account: GatewayAccount::Unrecorded,
            event_id: EventId::UNKNOWN,
            refund_id: RefundId::UNKNOWN,
            source: RefundSource::Order,
            attempt: 1,
            decided_at: Timestamp::UNIX_EPOCH,
            asked_at: Timestamp::UNIX_EPOCH,
            reference: None,
            earlier_references: Vec::new(),
            payment_reference: None,
            earlier_refunds: Vec::new(),
            amount,
            currency: currency.into(),
            idempotency_key: format!("refund-{order_id}"),
        }
    }

    /// The refund that the provider has made for this request. `reference` is the provider's id of it. Its state is
    /// [`Succeeded`](super::RefundState::Succeeded): set [another one](GatewayRefund::state) if the provider says that
    /// it may still fail.
    #[must_use]
    pub fn made(&self, reference: impl Into<String>) -> GatewayRefund {
        GatewayRefund::new(reference, self.amount, &self.currency).refund(self.refund_id)
    }

    /// Whether the provider may have made this refund already: an earlier answer may have been lost, and providers
    /// forget idempotency keys. A gateway without [`RefundReports`](super::RefundReports) has to look for it before it
    /// asks; with them, the service has looked. `false` only for the first attempt at a refund that was decided less
    /// than a minute ago. An older decision may come from a backup of the database.
    #[must_use]
    pub fn may_have_been_made(&self) -> bool {
        let age = self.asked_at.duration_since(self.decided_at);
        self.attempt > 1 || age.is_none_or(|age| age >= FRESH)
    }
}

with_setters! {
    /// A payment that the gateway is to refund.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RefundRequest {
        /// The order.
        pub order_id: OrderId,
        /// The organization that sold the tickets.
        pub organization_id: OrganizationId,
        /// The account at the provider that has the payment.
        pub account: GatewayAccount,
        /// The event that the tickets were for.
        pub event_id: EventId,
        /// The refund. Attach it to what the provider stores, so that its notices can be told from those of refunds
        /// that somebody else asked for.
        pub refund_id: RefundId,
        /// What is refunded: [`Order`](RefundSource::Order) if tickets were sold for it. Another payment has paid
        /// nothing.
        pub source: RefundSource,
        /// The number of the attempt, counted from 1. See [`may_have_been_made`](Self::may_have_been_made).
        pub attempt: u32,
        /// When it was decided that the money goes back.
        pub decided_at: Timestamp,
        /// When this attempt began.
        pub asked_at: Timestamp,
        /// The gateway's id of the newest checkout of the order, from
        /// [`Checkout::reference`](super::Checkout::reference). `None` if the gateway returned no checkout, or returned
        /// it after the timeout: then find the payment by the order id in the idempotency key of the checkout,
        /// `checkout-<order id>`.
        pub reference: Option<String>,
        /// The gateway's ids of the checkouts that the newest one has replaced, the newest of them first: one of them
        /// may be the one that was paid. Empty if `payment_reference` is known.
        pub earlier_references: Vec<String>,
        /// The gateway's id of the payment, from [`GatewayPayment::payment_reference`]. `None` if the payment was
        /// reported without it.
        ///
        /// [`GatewayPayment::payment_reference`]: super::GatewayPayment::payment_reference
        pub payment_reference: Option<String>,
        /// The provider's ids of the refunds of the payment that are recorded already, also of those that have failed
        /// since. They do not count as this one, also if they carry its id: it is for what is left.
        pub earlier_refunds: Vec<String>,
        /// The amount to refund: the whole payment, or a part of it.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The idempotency key: the same for every attempt at this part of the refund, and another one for each other part.
        pub idempotency_key: String,
    }
}

impl StatementRequest {
    /// Creates a request for the statement of a period: what happened at `from` or later, and before `to`. It is about
    /// all organizations and the account of the gateway itself, unless they are set.
    #[must_use]
    pub const fn new(from: Timestamp, to: Timestamp) -> Self {
        Self { from, to, account: GatewayAccount::Own, organization_id: None }
    }
}

with_setters! {
    /// A period whose payments, refunds and disputes the gateway is to list.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct StatementRequest {
        /// The beginning of the period.
        pub from: Timestamp,
        /// The end of the period. What happens at this time is not part of it.
        pub to: Timestamp,
        /// The account at the provider. Payments of other accounts are not listed.
        pub account: GatewayAccount,
        /// Only payments of this organization, as the program has attached it to them. `None` for those of all.
        pub organization_id: Option<OrganizationId>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_attempt_at_a_refund_that_was_just_decided_asks_at_once() {
        let decided = Timestamp::UNIX_EPOCH.saturating_add(Duration::from_hours(1));
        let request = |attempt: u32, asked_at: Timestamp| {
            let order = "order_1NR6E9XB00000".parse().expect("an id");
            let request = RefundRequest::new(order, Amount::cents(1250), "EUR").decided_at(decided);
            request.attempt(attempt).asked_at(asked_at)
        };
        let after = |seconds| decided.saturating_add(Duration::from_secs(seconds));
        assert!(!request(1, decided).may_have_been_made());
        assert!(!request(1, after(59)).may_have_been_made());
        assert!(request(1, after(60)).may_have_been_made());
        assert!(request(2, decided).may_have_been_made());
        assert!(request(1, Timestamp::UNIX_EPOCH).may_have_been_made(), "the clock was set back");
    }
}
