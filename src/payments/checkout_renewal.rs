//! The renewal of a checkout. The transactions before and after the calls to the payment gateway are in
//! `sales::checkouts::checkout_renewal`.

use crate::error::{Error, Reason, Result};
use crate::model::payments::checkout::{CheckoutState, RenewCheckoutResponse};
use crate::model::tenants::caller::Identity;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::payment::{CloseCheckout, GatewayCalls, GatewayError, LookUp};
use crate::payments::Payments;
use crate::payments::look_up_limit::LookUpPermission;
use crate::sales::checkouts::checkout_links::LeasedStart;
use crate::sales::checkouts::checkout_renewal::{self, RenewalProgress, ToRenew};
use crate::sales::idempotent_operation::IdempotentOperation;
use crate::store::money::checkouts::CheckoutOrder;

impl Payments {
    /// See [`TicketingService::renew_checkout`](crate::TicketingService::renew_checkout).
    pub(crate) fn renew(
        &self,
        caller: Identity,
        operation: &IdempotentOperation,
        id: OrderId,
    ) -> Result<Replayable<RenewCheckoutResponse>> {
        let organization = caller.organization;
        let of_transaction = operation.clone();
        let seen = self.writes.store()?.read(|tx| checkout_renewal::examine(tx, organization, id))?;
        let (Some(gateway), Some(terms)) = (&self.gateway, self.gateway_terms(organization)?) else {
            return Err(Error::CheckoutNotRenewed(GatewayError::Unavailable("there is none".to_owned())));
        };
        seen.check_gateway(gateway.key())?;
        let order = CheckoutOrder { organization, id };
        if self.can_be_paid(gateway, order, &seen)? {
            return self
                .writes
                .run_on(caller, id, move |tx, _| checkout_renewal::keep(tx, &of_transaction, organization, id, &seen));
        }
        let progress = self.writes.run_on(caller, id, move |tx, _| {
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
        let limit = &self.renewal_look_ups;
        // After a payment has failed, the gateway is also asked to close the checkout.
        let question = if seen.has_failed { format!("{reference} failed") } else { reference.to_owned() };
        match limit.request(order.organization, &question, self.environment.now()) {
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
        start: LeasedStart,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<RenewCheckoutResponse>> {
        let (organization, id, renewals) = (start.order.order.organizer_id, start.order.order.id, start.order.renewals);
        let operation = operation.clone();
        let recorded = self.ask_for_link(gateway, start, move |tx, checkout| {
            checkout_renewal::record(tx, &operation, organization, id, renewals, checkout)
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
        self.writes
            .store_in_operation()
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
