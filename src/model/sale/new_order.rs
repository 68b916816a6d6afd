//! Requests to create orders.

use super::customer::NewCustomer;
use super::received_payment::MarkPaid;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::limits::ListLimit::{MaxItems, MinItems};
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::{CountryCode, MaxLength, MinLength, SafeLink, Uri};
use crate::form::limits::{LINE_LENGTH, URL_LENGTH};
use crate::model::values::amounts::Amounts;
use crate::model::values::id::{EventId, TicketTypeId};
use crate::model::values::metadata::Metadata;

/// The greatest number of items of an order, and of a basket.
pub(crate) const MAX_ITEMS: usize = 100;

/// The greatest quantity of one item of an order.
pub(crate) const MAX_ITEM_QUANTITY: i64 = 100;

/// The greatest number of tickets of an order, all items together.
pub(crate) const MAX_TICKETS: i64 = 500;

text_enum! {
    /// How a new order is to be paid.
    pub enum PaymentChoice {
        /// Through the payment gateway, if there is one.
        Gateway = "GATEWAY",
        /// By hand, at a box office for example: the gateway is not asked for a checkout. The order is PENDING until it
        /// is marked as paid.
        Manual = "MANUAL",
        /// Already paid, at a box office for example: the order is COMPLETED at once, and its tickets are issued. It
        /// was paid in cash, unless `paid` tells another way. Needs the scope `payments:write` too.
        Paid = "PAID",
    }
}

/// # Constructors
impl CreateOrder {
    /// Creates an order of `quantity` tickets of one type.
    #[must_use]
    pub fn new(event_id: EventId, customer: NewCustomer, ticket_type_id: TicketTypeId, quantity: i64) -> Self {
        Self::with_items(event_id, customer, [NewOrderItem::new(ticket_type_id, quantity)])
    }

    /// Creates an order of all these items, such as the contents of a basket.
    ///
    /// ```
    /// use ticketing::order::NewOrderItem;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let basket = vec![(ticket_type.id, 2), (ticket_type.id, 1)];
    /// let items = basket.into_iter().map(|(ticket_type, quantity)| NewOrderItem::new(ticket_type, quantity));
    /// let created = service.create_order(&caller, CreateOrder::with_items(event.id, ada, items))?;
    /// assert_eq!(created.order.total, Amount::cents(3 * 1250));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_items(event_id: EventId, customer: NewCustomer, items: impl IntoIterator<Item = NewOrderItem>) -> Self {
        Self {
            event_id,
            customer,
            items: items.into_iter().collect(),
            discount_code: None,
            affiliate_code: None,
            language: None,
            shipping_address: None,
            checkout_redirect_urls: None,
            reference: None,
            metadata: None,
            payment: None,
            paid: None,
        }
    }

    /// Adds an item: `quantity` tickets of another type.
    #[must_use]
    pub fn item(mut self, ticket_type_id: TicketTypeId, quantity: i64) -> Self {
        self.items.push(NewOrderItem::new(ticket_type_id, quantity));
        self
    }

    /// The payment that was already taken. `None` if the order is not PAID.
    pub(crate) fn payment_taken(&self) -> Option<MarkPaid> {
        let is_paid = self.payment == Some(PaymentChoice::Paid) || self.payment.is_none() && self.paid.is_some();
        is_paid.then(|| self.paid.clone().unwrap_or_default())
    }
}

form! {
    /// A request to create an order.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CreateOrder {
        /// The event.
        pub event_id: EventId,
        /// The customer.
        pub customer: NewCustomer,
        /// The ticket types and the quantity of each: 1 to 100 items, with at most 500 tickets in total.
        pub items: Vec<NewOrderItem> [MinItems(1), MaxItems(MAX_ITEMS)],
        /// The code of a discount: at most 255 characters. Without a code, the best automatic discount applies.
        pub discount_code: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// The code of the affiliate who referred the customer: at most 255 characters.
        pub affiliate_code: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// The language of the order, such as `de-AT`, or the header `Accept-Language` of the browser, whose first tag
        /// with the highest weight counts: at most 255 characters.
        pub language: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// Where physical tickets are sent. Required if the delivery method of the event is PHYSICAL.
        pub shipping_address: Option<ShippingAddress> [nullable],
        /// Where the customer is redirected after the checkout. Not allowed for an order that is PAID already.
        pub checkout_redirect_urls: Option<CheckoutRedirectUrls>,
        /// The organization's own name for the order: 1 to 255 characters. Lists can be filtered by it. It need not be
        /// unique.
        pub reference: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
        /// What the organization attaches to the order: strings by name, at most 16,384 bytes.
        pub metadata: Option<Metadata> [nullable],
        /// How the order is to be paid. By default through the payment gateway, if there is one; with `paid`, PAID.
        pub payment: Option<PaymentChoice>,
        /// How the money for an order that is PAID was taken, and a note for the ledger. Not allowed with another
        /// `payment`.
        pub paid: Option<MarkPaid> [nullable],
    }
}

impl NewOrderItem {
    /// Creates an item of `quantity` tickets of one type.
    #[must_use]
    pub const fn new(ticket_type_id: TicketTypeId, quantity: i64) -> Self {
        Self { ticket_type_id, quantity }
    }
}

form! {
    /// One item of a new order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct NewOrderItem {
        /// The ticket type.
        pub ticket_type_id as "ticketId": TicketTypeId,
        /// The number of tickets: 1 to 100.
        pub quantity: i64 [Min(1), Max(MAX_ITEM_QUANTITY)],
    }
}

form! {
    /// The address that physical tickets are sent to.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
    pub struct ShippingAddress {
        /// Street and number: 1 to 255 characters.
        pub street: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// Postal code: 1 to 255 characters.
        pub zip: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// Town: 1 to 255 characters.
        pub city: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// A two-letter country code (ISO 3166-1 alpha-2).
        pub country: String [CountryCode],
    }
}

form! {
    /// Where the customer is redirected after the checkout: URIs (RFC 3986) of at most 2,048 characters. An `http` or
    /// `https` URL has a host and no user; the scheme of an app is accepted, but none that runs a script or reads local
    /// data, such as `javascript` or `data`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
    pub struct CheckoutRedirectUrls {
        /// After a successful payment.
        pub success: String [MaxLength(URL_LENGTH), Uri, SafeLink],
        /// After a failed payment.
        pub failure: String [MaxLength(URL_LENGTH), Uri, SafeLink],
        /// After the customer has cancelled the checkout.
        pub cancel: String [MaxLength(URL_LENGTH), Uri, SafeLink],
    }
}

/// # Constructors
impl ShippingAddress {
    /// Creates an address: street and number, postal code, town, and a two-letter country code (ISO 3166-1 alpha-2).
    #[must_use]
    pub fn new(
        street: impl Into<String>,
        zip: impl Into<String>,
        city: impl Into<String>,
        country: impl Into<String>,
    ) -> Self {
        Self { street: street.into(), zip: zip.into(), city: city.into(), country: country.into() }
    }
}

/// # Constructors
impl CheckoutRedirectUrls {
    /// Creates the URLs for a successful payment, a failed one, and a cancelled checkout.
    #[must_use]
    pub fn new(success: impl Into<String>, failure: impl Into<String>, cancel: impl Into<String>) -> Self {
        Self { success: success.into(), failure: failure.into(), cancel: cancel.into() }
    }
}

impl Amounts for ShippingAddress {}
impl Amounts for CheckoutRedirectUrls {}
