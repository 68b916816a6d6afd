//! The hosted checkout page of the sandbox gateway. The token in its link authorizes the request; there is no API key.

use super::TicketingService;
use crate::error::{Error, ResourceKind, Result};
use crate::model::checkout::{CheckoutOutcome, CheckoutResult, HostedCheckout};
use crate::payment::sandbox_reference;
use crate::sales::{hosted_checkout, order_lifecycle};

/// # The checkout page of the sandbox
impl TicketingService {
    /// Returns the contents of the sandbox's checkout page for a token. The order may have any status.
    ///
    /// The token is the last part of the checkout link. It authorizes the call, so there is no [`Caller`](crate::Caller).
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = created.checkout_url.expect("a pending order has a link");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// assert_eq!(service.hosted_checkout(token)?.event_title, "Summer Night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hosted_checkout(&self, token: &str) -> Result<HostedCheckout> {
        let reference = self.payment_reference(token)?;
        self.store().read(|tx| hosted_checkout::page(tx, &reference))
    }

    /// Checks that there is a checkout with this token.
    #[cfg(feature = "http")]
    pub(crate) fn find_hosted_checkout(&self, token: &str) -> Result<()> {
        let reference = self.payment_reference(token)?;
        self.store().read_one(|tx| hosted_checkout::find(tx, &reference)).map(drop)
    }

    /// Applies the outcome that the customer chose on the sandbox's checkout page. Cancelling an order that is not
    /// pending changes nothing.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = created.checkout_url.expect("a pending order has a link");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// service.finish_hosted_checkout(token, CheckoutOutcome::Success)?;
    /// assert_eq!(service.get_order(&caller, created.order.id)?.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_hosted_checkout(&self, token: &str, outcome: CheckoutOutcome) -> Result<CheckoutResult> {
        let reference = self.payment_reference(token)?;
        let order = self.store().read(|tx| hosted_checkout::find(tx, &reference))?;
        match outcome {
            CheckoutOutcome::Success => {
                self.complete_payment(order.organization, order.id, Some(&reference), None).map(drop)?;
            }
            CheckoutOutcome::Failure => {
                self.store().write_for(order.organization, move |tx| {
                    order_lifecycle::payment_failed(tx, order.organization, order.id, Some(&reference))
                })?;
            }
            CheckoutOutcome::Cancel => {
                self.store().write_for(order.organization, move |tx| {
                    order_lifecycle::cancel_if_pending(tx, order.organization, order.id)
                })?;
            }
        }
        self.store_in_operation().read(|tx| hosted_checkout::result(tx, order, outcome))
    }

    /// Returns the payment reference that belongs to a checkout token.
    fn payment_reference(&self, token: &str) -> Result<String> {
        if !self.inner.sandbox {
            return Err(Error::NotFound(ResourceKind::Checkout));
        }
        Ok(sandbox_reference(token))
    }
}
