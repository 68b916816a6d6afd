//! The hosted checkout page of the sandbox gateway. The token in its link authorizes the request; there is no API key.

use crate::error::{Error, ResourceKind, Result};
#[cfg(feature = "server")]
use crate::model::payments::checkout::SettledCheckout;
use crate::model::payments::checkout::{CheckoutOutcome, CheckoutResult, HostedCheckout};
use crate::payment::{SandboxGateway, SandboxNotice, SandboxPayment, sandbox_reference};
use crate::sales::checkouts::hosted_checkout;
use crate::sales::orders::order_lifecycle;
use crate::service::TicketingService;
#[cfg(feature = "server")]
use crate::store::money::checkouts::CheckoutOrder;

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

    /// Returns what a page says of the order of a checkout that was settled.
    #[cfg(feature = "server")]
    pub(crate) fn page_of_settled(&self, settled: &SettledCheckout) -> Result<HostedCheckout> {
        let order = CheckoutOrder { organization: settled.order.organizer_id, id: settled.order.id };
        self.store_in_operation().read(|tx| hosted_checkout::page_of_order(tx, order))
    }

    /// Returns the organization that sells what is paid under this token.
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
        let sandbox = self.sandbox()?;
        let reference = sandbox_reference(token);
        let order = self.store()?.read(|tx| hosted_checkout::find(tx, &reference))?;
        match outcome {
            CheckoutOutcome::Success => {
                let page = self.store()?.read(|tx| hosted_checkout::page(tx, &reference))?;
                let payment = SandboxPayment {
                    reference: format!("sandbox_{}", order.id),
                    amount: page.order.total,
                    currency: page.currency,
                };
                self.notify(sandbox, &SandboxNotice { checkout: reference, payment: Some(payment) })?;
            }
            CheckoutOutcome::Failure => self.notify(sandbox, &SandboxNotice { checkout: reference, payment: None })?,
            CheckoutOutcome::Cancel => {
                self.store()?.write_event(order.organization, order.id.into(), move |tx| {
                    order_lifecycle::cancel_if_pending(tx, order.organization, order.id)
                })?;
            }
        }
        self.store_in_operation().read(|tx| hosted_checkout::result(tx, order, outcome))
    }

    /// Lets the sandbox report what happened on its page, as a provider would.
    fn notify(&self, sandbox: &SandboxGateway, notice: &SandboxNotice) -> Result<()> {
        let signed = sandbox.signed(notice);
        let signed = signed.map_err(|error| Error::Internal(error.to_string()))?;
        self.receive_gateway_notice(&signed.headers, &signed.body).map(drop)
    }

    fn sandbox(&self) -> Result<&SandboxGateway> {
        self.inner.sandbox.as_deref().ok_or(Error::NotFound(ResourceKind::Checkout))
    }

    fn checkout_reference(&self, token: &str) -> Result<String> {
        self.sandbox().map(|_| sandbox_reference(token))
    }
}
