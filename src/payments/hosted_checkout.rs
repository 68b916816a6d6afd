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
use crate::payments::Payments;
use crate::sales::checkouts::hosted_checkout;
use crate::sales::orders::order_lifecycle;
#[cfg(feature = "server")]
use crate::sales::orders::receipts;
#[cfg(feature = "server")]
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::order::orders;

impl Payments {
    /// See [`TicketingService::get_hosted_checkout`](crate::TicketingService::get_hosted_checkout).
    pub(crate) fn hosted_checkout(&self, token: &str) -> Result<HostedCheckout> {
        let reference = self.checkout_reference(token)?;
        self.writes.store()?.read(|tx| hosted_checkout::page(tx, &reference))
    }

    /// See [`TicketingService::finish_hosted_checkout`](crate::TicketingService::finish_hosted_checkout).
    pub(crate) fn finish_hosted_checkout(&self, token: &str, outcome: CheckoutOutcome) -> Result<CheckoutResult> {
        let reference = self.checkout_reference(token)?;
        let order = self.writes.store()?.read(|tx| hosted_checkout::find(tx, &reference))?;
        match outcome {
            CheckoutOutcome::Success => {
                let paid = self.writes.store()?.read(|tx| orders::get(tx, order.organization, order.id))?;
                let payment_reference = sandbox_reference(&order.id.to_string());
                let payment = GatewayPayment::new(payment_reference, paid.total, paid.currency);
                self.receive_from_sandbox(reference, GatewayEvent::Checkout(CheckoutState::Paid(payment)))?;
            }
            CheckoutOutcome::Failure => self.receive_from_sandbox(reference, GatewayEvent::PaymentFailed)?,
            CheckoutOutcome::Cancel => {
                self.writes.store()?.write_event(order.organization, order.id.into(), move |tx| {
                    order_lifecycle::cancel_if_pending(tx, order.organization, order.id)
                })?;
            }
        }
        self.writes.store_in_operation().read(|tx| hosted_checkout::result(tx, order, outcome))
    }

    /// Returns what the sandbox's checkout page says for a token.
    #[cfg(feature = "server")]
    pub(crate) fn page_of_checkout(&self, token: &str) -> Result<OrderOnPage> {
        let reference = self.checkout_reference(token)?;
        self.writes.store()?.read(|tx| {
            let CheckoutOrder { organization, id } = hosted_checkout::find(tx, &reference)?;
            receipts::on_page(tx, organization, id)
        })
    }

    /// Returns what a page says of the order of a checkout that was settled.
    #[cfg(feature = "server")]
    pub(crate) fn page_of_settled(&self, settled: &SettledCheckout) -> Result<OrderOnPage> {
        self.writes.store_in_operation().read(|tx| receipts::on_page(tx, settled.order.organizer_id, settled.order.id))
    }

    /// Returns the organization of the checkout with this token.
    #[cfg(feature = "server")]
    pub(crate) fn find_hosted_checkout(&self, token: &str) -> Result<crate::model::values::id::OrganizationId> {
        let reference = self.checkout_reference(token)?;
        self.writes.store()?.read_one(|tx| hosted_checkout::find(tx, &reference)).map(|order| order.organization)
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
        if !self.has_sandbox {
            return Err(Error::NotFound(ResourceKind::Checkout));
        }
        Ok(sandbox_reference(token))
    }
}
