//! The payment links of orders, and the checkout page of the sandbox.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::Nothing;
use crate::model::payments::checkout::{
    CheckoutOutcome, CheckoutResult, HostedCheckout, RenewCheckoutResponse, SettledCheckout,
};
use crate::model::tenants::caller::IdempotentCall;
use crate::model::values::id::OrderId;
use crate::sales::idempotent_operation::OperationTarget;
use crate::service::TicketingService;

/// # Checkouts
impl TicketingService {
    /// Renews the checkout of a pending order: returns a URL at which the customer can pay, also if the earlier
    /// checkout has failed or has ended.
    ///
    /// The gateway is asked for the outcome of the earlier checkout:
    /// - Nothing can be paid under it any more: the gateway is asked for a new one.
    /// - It is open, or the gateway cannot say: it is returned as it is. If its payment was reported as failed, the
    ///   gateway is asked to [close](crate::payment::Checkouts::close) it first, and replaces it if that succeeds.
    ///
    /// The gateway is asked at most once in 4 seconds about a checkout. Until then, one that was open is returned as it
    /// is. Of 160 checkouts that are asked about in this time, an organization alone gets half.
    ///
    /// So an order never has two checkouts under which it can be paid. A payment that is still reported for an earlier
    /// one completes the order, and a second payment is refunded. The hold of the order stays as it was, and the
    /// checkout can be renewed 10 times. If the gateway fails, the order stays as it is.
    ///
    /// Requires the scope `orders:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the order does not exist, or if the gateway was not asked for a checkout of it.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `order-not-pending` if the order is paid or has ended;
    ///   `checkout-in-progress` if another request is asking the gateway for a checkout of the order;
    ///   `payment-in-progress` if the customer has paid and the money is still on its way; `limit-reached` if the
    ///   checkout was renewed 10 times.
    /// - [`Error::CheckoutNotRenewed`](crate::Error::CheckoutNotRenewed) if the gateway does not answer within [20
    ///   seconds](crate::Builder::gateway_timeout), or refuses; or if the earlier checkout is at another gateway and is
    ///   not closed.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let first = created.checkout_url.expect("a pending order has a link");
    /// let same = service.renew_checkout(&caller, created.order.id)?;
    /// assert_eq!((same.checkout_url, same.renewed), (first.clone(), false));
    ///
    /// service.payment_failed(&caller, created.order.id)?;
    /// let second = service.renew_checkout(&caller, created.order.id)?;
    /// assert!(second.renewed && second.checkout_url != first);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn renew_checkout<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
    ) -> Result<C::Output<RenewCheckoutResponse>> {
        self.writes().require(caller.as_caller(), Scope::OrdersWrite)?;
        self.write(caller, OperationTarget::on("renew_checkout", id), Nothing)
            .in_steps(|operation, _| self.payments().renew(caller.as_caller().identity(), &operation, id))
    }

    /// Asks the gateway for the outcome of a checkout, and records it: for the page to which the gateway sends the
    /// customer back, which must not trust what the browser says. `reference` is the gateway's id of the checkout, or the
    /// last part of [`CheckoutRequest::return_url`](crate::payment::CheckoutRequest::return_url).
    ///
    /// The gateway is asked only if it has the checkout, and the order is pending, or the order has expired or was
    /// cancelled and its checkout is not closed. It is asked at most once in 4 seconds about a checkout, and 80 times
    /// about all of them. One organization alone gets half of that, so a page that is loaded again and again keeps
    /// nobody from paying. Otherwise the result is what is stored, and the state is [`CheckoutState::Unknown`](crate::payment::CheckoutState::Unknown). There
    /// is no [`Caller`](crate::Caller): the reference authorizes the call.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if no checkout has this reference.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the gateway does not answer.
    ///
    /// ```
    /// use ticketing::payment::CheckoutState;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let checkout = service.get_checkout(&caller, created.order.id)?;
    /// let reference = checkout.reference.expect("the gateway has answered");
    /// let settled = service.settle_checkout(&reference)?;
    /// assert_eq!(settled.state, CheckoutState::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle_checkout(&self, reference: &str) -> Result<SettledCheckout> {
        self.payments().settle_by_reference(reference)
    }

    /// Returns the contents of the sandbox's checkout page for a token. The order may have any status.
    ///
    /// The token is the last part of the checkout link. It authorizes the call, so there is no
    /// [`Caller`](crate::Caller).
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    /// - [`Error::Gone`](crate::Error::Gone) if the checkout was [renewed](Self::renew_checkout): the order has a newer link.
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
        self.payments().hosted_checkout(token)
    }

    /// Applies the outcome that the customer chose on the sandbox's checkout page. Cancelling an order that is not
    /// pending changes nothing.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the token is unknown, or the gateway is not the
    ///   [sandbox](crate::Builder::sandbox_gateway).
    /// - [`Error::Gone`](crate::Error::Gone) if the checkout was [renewed](Self::renew_checkout): the order has a newer link.
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
        self.payments().finish_hosted_checkout(token, outcome)
    }
}
