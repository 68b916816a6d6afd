//! The renewal of a checkout. The transactions before and after the calls to the payment gateway are in
//! `sales::checkouts::checkout_renewal`.

use super::checkout_links::checkout_request;
use crate::enums::scope::Scope;
use crate::error::{Error, Reason, Result};
use crate::form::request::Nothing;
use crate::model::payments::checkout::{CheckoutState, RenewCheckoutResponse};
use crate::model::tenants::caller::{IdempotentCall, Identity};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::payment::{CloseCheckout, GatewayCalls, GatewayError, LookUp};
use crate::sales::checkouts::checkout_links::LeasedStart;
use crate::sales::checkouts::checkout_renewal::{self, RenewalProgress, ToRenew};
use crate::sales::idempotent_operation::{IdempotentOperation, OperationTarget};
use crate::service::TicketingService;
use crate::service::state::look_up_limit::LookUpPermission;
use crate::store::money::checkout_renewals;
use crate::store::money::checkouts::{CheckoutOrder, NewCheckout};

/// # Checkouts that are renewed
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
    /// - [`Error::NotFound`] if the order does not exist, or if the gateway was not asked for a checkout of it.
    /// - [`Error::Conflict`] with the reason `order-not-pending` if the order is paid or has ended;
    ///   `checkout-in-progress` if another request is asking the gateway for a checkout of the order;
    ///   `payment-in-progress` if the customer has paid and the money is still on its way; `limit-reached` if the
    ///   checkout was renewed 10 times.
    /// - [`Error::CheckoutNotRenewed`] if the gateway does not answer within [20
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
            .in_steps(|operation, _| self.try_renew_checkout(caller.as_caller().identity(), &operation, id))
    }

    fn try_renew_checkout(
        &self,
        caller: Identity,
        operation: &IdempotentOperation,
        id: OrderId,
    ) -> Result<Replayable<RenewCheckoutResponse>> {
        let organization = caller.organization;
        let of_transaction = operation.clone();
        let seen = self.store()?.read(|tx| checkout_renewal::examine(tx, organization, id))?;
        let (Some(gateway), Some(terms)) = (&self.inner.gateway, self.gateway_terms(organization)?) else {
            return Err(Error::CheckoutNotRenewed(GatewayError::Unavailable("there is none".to_owned())));
        };
        seen.check_gateway(gateway.key())?;
        let order = CheckoutOrder { organization, id };
        if self.can_be_paid(gateway, order, &seen)? {
            return self
                .writes()
                .run_on(caller, id, move |tx, _| checkout_renewal::keep(tx, &of_transaction, organization, id, &seen));
        }
        let progress = self.writes().run_on(caller, id, move |tx, _| {
            checkout_renewal::begin(tx, &of_transaction, organization, id, &seen, &terms)
        })?;
        match progress {
            RenewalProgress::Finished(response) => Ok(response),
            RenewalProgress::NeedsLink(start) => self.start_renewed(gateway, *start, operation),
        }
    }

    /// Asks the gateway whether the customer can pay under a checkout. Records what it says.
    fn can_be_paid(&self, gateway: &GatewayCalls, order: CheckoutOrder, seen: &ToRenew) -> Result<bool> {
        let Some(reference) = seen.to_look_up() else { return Ok(false) };
        let state = self.state_to_renew(gateway, order, seen, reference)?;
        match &state {
            CheckoutState::Open | CheckoutState::Unknown => Ok(true),
            CheckoutState::Closed => Ok(false),
            CheckoutState::Returned(_) => self.settle(order, Some(reference), &state).map(|_| false),
            CheckoutState::Processing => {
                let detail = "the customer has paid, and the money is still on its way";
                Err(Error::conflict(Reason::PaymentInProgress, detail))
            }
            CheckoutState::Paid(_) => {
                self.settle(order, Some(reference), &state)?;
                let detail = "the payment gateway says that the checkout of the order was paid";
                Err(Error::conflict(Reason::OrderNotPending, detail))
            }
        }
    }

    /// The outcome of a checkout. While nothing changes, the gateway is asked once in 4 seconds.
    fn state_to_renew(
        &self,
        gateway: &GatewayCalls,
        order: CheckoutOrder,
        seen: &ToRenew,
        reference: &str,
    ) -> Result<CheckoutState> {
        let limit = &self.inner.renewal_look_ups;
        // After a payment has failed, the gateway is also asked to close the checkout.
        let question = if seen.has_failed { format!("{reference} failed") } else { reference.to_owned() };
        match limit.request(order.organization, &question, self.inner.environment.now()) {
            LookUpPermission::Granted => {}
            LookUpPermission::Answered(state) => return Ok(state),
            LookUpPermission::InProgress => {
                let detail =
                    "another request is asking the payment gateway about the checkout; try again in two seconds";
                return Err(Error::conflict(Reason::CheckoutInProgress, detail));
            }
            LookUpPermission::TooMany => {
                let problem = "the organization has asked about as many checkouts in 4 seconds as are left to others";
                return Err(Error::CheckoutNotRenewed(GatewayError::NotExecuted(problem.to_owned())));
            }
        }
        let answer = state_of(gateway, order, seen, reference).map_err(Error::CheckoutNotRenewed);
        match &answer {
            Ok(state @ (CheckoutState::Open | CheckoutState::Processing | CheckoutState::Unknown)) => {
                limit.record_answer(&question, state.clone());
            }
            // What changes is recorded. After a failure the gateway is asked again.
            _ => limit.forget(&question),
        }
        answer
    }

    fn start_renewed(
        &self,
        gateway: &GatewayCalls,
        LeasedStart { order, lease_ends_at }: LeasedStart,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<RenewCheckoutResponse>> {
        let (organization, id, renewals) = (order.order.organizer_id, order.order.id, order.renewals);
        let gateway = self.renewing_claim(gateway, id, lease_ends_at, checkout_renewals::renew_lease);
        let request = checkout_request(order);
        let started = gateway.call(organization, move |gateway| gateway.start(&request));
        let recorded = started.map_err(Error::gateway).and_then(|checkout| {
            let operation = operation.clone();
            self.store_in_operation().write_event(organization, id.into(), move |tx| {
                let checkout = NewCheckout { link: &checkout.link, reference: &checkout.reference };
                checkout_renewal::record(tx, &operation, organization, id, renewals, &checkout)
            })
        });
        match recorded {
            Ok(Some(response)) => Ok(response),
            Ok(None) => {
                let detail = "the order has ended or was paid while the payment gateway was asked for a checkout";
                Err(Error::conflict(Reason::OrderNotPending, detail))
            }
            Err(Error::PaymentGatewayFailed(failure)) => self.renewal_failed(organization, id, renewals, failure.cause),
            Err(error) => Err(error),
        }
    }

    fn renewal_failed<T>(
        &self,
        organization: OrganizationId,
        id: OrderId,
        renewals: i64,
        failure: GatewayError,
    ) -> Result<T> {
        tracing::warn!(
            target: "ticketing::payment",
            order = %id,
            %failure,
            "the payment gateway returned no link for a renewed checkout"
        );
        let is_refused = matches!(failure, GatewayError::Refused(_));
        self.store_in_operation()
            .write_event(organization, id.into(), move |tx| checkout_renewal::failed(tx, id, renewals, is_refused))?;
        Err(Error::CheckoutNotRenewed(failure))
    }
}

/// The outcome of a checkout. One whose payment has failed is closed, if that is possible.
fn state_of(
    gateway: &GatewayCalls,
    CheckoutOrder { organization, id }: CheckoutOrder,
    seen: &ToRenew,
    reference: &str,
) -> Result<CheckoutState, GatewayError> {
    let look_up = LookUp::of((organization, id), seen.event, seen.account(), reference);
    let state = or_unknown(gateway.call(organization, move |gateway| gateway.look_up(&look_up)))?;
    if !seen.has_failed || !matches!(state, CheckoutState::Open | CheckoutState::Unknown) {
        return Ok(state);
    }
    let close = CloseCheckout::of((organization, id), seen.event, seen.account(), reference);
    or_unknown(gateway.call(organization, move |gateway| gateway.close_checkout(&close)))
}

/// A checkout about which the gateway refuses to say anything is unknown.
fn or_unknown(answer: Result<CheckoutState, GatewayError>) -> Result<CheckoutState, GatewayError> {
    match answer {
        Err(GatewayError::Refused(_)) => Ok(CheckoutState::Unknown),
        answer => answer,
    }
}
