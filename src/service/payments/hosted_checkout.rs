//! The hosted checkout page of the sandbox gateway. The token in its link authorizes the request; there is no API key.

use crate::error::{Error, ResourceKind, Result};
#[cfg(feature = "server")]
use crate::model::payments::checkout::SettledCheckout;
use crate::model::payments::checkout::{
    CheckoutOutcome, CheckoutResult, CheckoutState, GatewayPayment, HostedCheckout,
};
#[cfg(feature = "server")]
use crate::model::sale::receipt::OrderOnPage;
use crate::payment::{GatewayEvent, GatewayNotice, sandbox_reference};
use crate::sales::checkouts::hosted_checkout;
use crate::sales::orders::order_lifecycle;
#[cfg(feature = "server")]
use crate::sales::orders::receipts;
use crate::service::TicketingService;
#[cfg(feature = "server")]
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::order::orders;

/// # The checkout page of the sandbox
impl TicketingService {
    /// Returns the contents of the sandbox's checkout page for a token. The order may have any status.
    ///
    /// The token is the last part of the checkout link. It authorizes the call, so there is no
    /// [`Caller`](crate::Caller).
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    /// - [`Error::Gone`] if the checkout was [renewed](Self::renew_checkout): the order has a newer link.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = created.checkout_url.expect("a pending order has a link");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// assert_eq!(service.get_hosted_checkout(token)?.event_title, "Summer Night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_hosted_checkout(&self, token: &str) -> Result<HostedCheckout> {
        let reference = self.checkout_reference(token)?;
        self.store()?.read(|tx| hosted_checkout::page(tx, &reference))
    }

    /// Returns what the sandbox's checkout page says for a token.
    #[cfg(feature = "server")]
    pub(crate) fn page_of_checkout(&self, token: &str) -> Result<OrderOnPage> {
        let reference = self.checkout_reference(token)?;
        self.store()?.read(|tx| {
            let CheckoutOrder { organization, id } = hosted_checkout::find(tx, &reference)?;
            receipts::on_page(tx, organization, id)
        })
    }

    /// Returns what a page says of the order of a checkout that was settled.
    #[cfg(feature = "server")]
    pub(crate) fn page_of_settled(&self, settled: &SettledCheckout) -> Result<OrderOnPage> {
        self.store_in_operation().read(|tx| receipts::on_page(tx, settled.order.organizer_id, settled.order.id))
    }

    /// Returns the organization of the checkout with this token.
    #[cfg(feature = "server")]
    pub(crate) fn find_hosted_checkout(&self, token: &str) -> Result<crate::model::values::id::OrganizationId> {
        let reference = self.checkout_reference(token)?;
        self.store()?.read_one(|tx| hosted_checkout::find(tx, &reference)).map(|order| order.organization)
    }

    /// Applies the outcome that the customer chose on the sandbox's checkout page. Cancelling an order that is not
    /// pending changes nothing.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    /// - [`Error::Gone`] if the checkout was [renewed](Self::renew_checkout): the order has a newer link.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = created.checkout_url.expect("a pending order has a link");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// service.finish_hosted_checkout(token, CheckoutOutcome::Success)?;
    /// assert_eq!(service.get_order(&caller, created.order.id)?.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_hosted_checkout(&self, token: &str, outcome: CheckoutOutcome) -> Result<CheckoutResult> {
        let reference = self.checkout_reference(token)?;
        let order = self.store()?.read(|tx| hosted_checkout::find(tx, &reference))?;
        match outcome {
            CheckoutOutcome::Success => {
                let paid = self.store()?.read(|tx| orders::get(tx, order.organization, order.id))?;
                let payment_reference = sandbox_reference(&order.id.to_string());
                let payment = GatewayPayment::new(payment_reference, paid.total, paid.currency);
                self.receive_from_sandbox(reference, GatewayEvent::Checkout(CheckoutState::Paid(payment)))?;
            }
            CheckoutOutcome::Failure => self.receive_from_sandbox(reference, GatewayEvent::PaymentFailed)?,
            CheckoutOutcome::Cancel => {
                self.store()?.write_event(order.organization, order.id.into(), move |tx| {
                    order_lifecycle::cancel_if_pending(tx, order.organization, order.id)
                })?;
            }
        }
        self.store_in_operation().read(|tx| hosted_checkout::result(tx, order, outcome))
    }

    /// Records what happened on the sandbox's page, as if a provider had reported it.
    fn receive_from_sandbox(&self, checkout_reference: String, event: GatewayEvent) -> Result<()> {
        // The id of a notice is logged, so it must not contain the token.
        let notice = GatewayNotice::new("sandbox", event).checkout_reference(checkout_reference);
        self.receive_notice(&notice)?;
        Ok(())
    }

    /// The sandbox's reference of the checkout with this token.
    fn checkout_reference(&self, token: &str) -> Result<String> {
        if !self.inner.has_sandbox {
            return Err(Error::NotFound(ResourceKind::Checkout));
        }
        Ok(sandbox_reference(token))
    }
}
