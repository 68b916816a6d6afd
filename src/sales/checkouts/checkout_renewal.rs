//! The renewal of a checkout: the transactions before and after the gateway is asked. No transaction is open during a
//! call.
//!
//! 1. [`examine`] reads the newest checkout of the order. The gateway is asked for its outcome.
//! 2. [`begin`] replaces it if nothing can be paid under it any more. The new one has a lease, as the first one has:
//!    until it ends, no other process asks the gateway for a checkout of the order. So two renewals at once lead to one
//!    new checkout.
//! 3. The gateway is asked for the new checkout, with another idempotency key than for those before.
//! 4. [`record`] stores its link. Without a link, [`failed`] stores that the gateway returned none. After a failure or
//!    a crash, the next renewal asks for the same checkout again.
//!
//! The hold of the order stays as it was.

use super::checkout_links::{self, GatewayTerms, LeasedStart};
use crate::error::gateway_failure::GatewayError;
use crate::error::{Error, Reason, Result};
use crate::model::payments::checkout::{CheckoutStatus, RenewCheckoutResponse};
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity, GatewayKey};
use crate::model::sale::order::{OrderStatus, PaymentStatus};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::rules::money::checkout_schedule::{MAX_RENEWALS, claim_left};
use crate::rules::money::gateway_choice::{is_asked, is_missing};
use crate::rules::order::{check_pending, status_at_hold};
use crate::sales::idempotent_operation::{IdempotentOperation, PriorOutcome};
use crate::sales::orders::order_lifecycle;
use crate::store::money::checkout_renewals::CurrentCheckout;
use crate::store::money::checkouts::NewCheckout;
use crate::store::money::{checkout_attempts, checkout_parameters, checkout_renewals, checkouts};
use crate::store::order::order_status::{self, OrderState};
use crate::store::{LockedEvent, Transaction};

/// An order whose checkout is to be renewed, as it was read before the gateway was asked.
#[derive(Debug, Clone)]
pub(crate) struct ToRenew {
    pub(crate) event: EventId,
    checkout: CurrentCheckout,
    /// Whether the payment was reported as failed.
    pub(crate) has_failed: bool,
}

impl ToRenew {
    /// Fails if something may still be paid under the checkout, and it is at another gateway than this one.
    pub(crate) fn check_gateway(&self, gateway: GatewayKey<'_>) -> Result<()> {
        let recorded = self.checkout.gateway.as_ref().map(GatewayIdentity::key);
        if self.checkout.status == CheckoutStatus::Closed || is_asked(gateway, recorded) {
            return Ok(());
        }
        Err(Error::CheckoutNotRenewed(GatewayError::NotExecuted(is_missing(recorded))))
    }

    pub(crate) fn account(&self) -> GatewayAccount {
        GatewayAccount::of(self.checkout.gateway.as_ref())
    }

    /// The gateway's id of the checkout about which the gateway has to be asked. `None` if nothing can be paid under
    /// it.
    pub(crate) fn to_look_up(&self) -> Option<&str> {
        self.checkout.reference.as_deref().filter(|_| self.checkout.status != CheckoutStatus::Closed)
    }
}

/// Reads the newest checkout of a pending order.
pub(crate) fn examine(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<ToRenew> {
    let state = order_status::load(tx, organization, id)?;
    let status = status_at_hold(state.status, state.hold_until, tx.now());
    let is_cancelled = status == OrderStatus::Pending && state.is_event_cancelled();
    check_pending(if is_cancelled { OrderStatus::Cancelled } else { status })?;
    let checkout = checkout_renewals::current(tx, id)?;
    check_not_starting(tx, &checkout)?;
    Ok(ToRenew { event: state.event, checkout, has_failed: state.payment == Some(PaymentStatus::Failed) })
}

fn check_not_starting(tx: &Transaction<'_>, checkout: &CurrentCheckout) -> Result<()> {
    let is_starting = checkout.status == CheckoutStatus::Open && checkout.reference.is_none();
    if is_starting && claim_left(checkout.lease_ends_at, tx.now()).is_some() {
        return Err(in_progress());
    }
    Ok(())
}

fn in_progress() -> Error {
    let detail = "the payment gateway is being asked for a checkout of this order; try again in two seconds";
    Error::conflict(Reason::CheckoutInProgress, detail)
}

/// Loads the order and its newest checkout again, and checks that no other request has changed them.
fn load(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    seen: &ToRenew,
) -> Result<(OrderState, CurrentCheckout)> {
    let state = order_lifecycle::load(tx, organization, id)?;
    check_pending(state.status)?;
    let checkout = checkout_renewals::current(tx, id)?;
    check_not_starting(tx, &checkout)?;
    if (&checkout.reference, checkout.renewals) != (&seen.checkout.reference, seen.checkout.renewals) {
        return Err(in_progress());
    }
    Ok((state, checkout))
}

/// A renewal before the gateway is asked for the new checkout.
pub(crate) enum RenewalProgress {
    /// There is nothing left to do.
    Finished(Replayable<RenewCheckoutResponse>),
    /// The gateway must be asked for a checkout.
    NeedsLink(Box<LeasedStart>),
}

/// Returns the checkout of a pending order as it is: the customer can still pay under it.
pub(crate) fn keep(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    organization: OrganizationId,
    id: OrderId,
    seen: &ToRenew,
) -> Result<Replayable<RenewCheckoutResponse>> {
    operation.run(tx, || {
        let (_, checkout) = load(tx, organization, id, seen)?;
        response(id, checkout, false)
    })
}

/// Replaces the checkout of a pending order, under which nothing can be paid any more, by a new one.
pub(crate) fn begin(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    organization: OrganizationId,
    id: OrderId,
    seen: &ToRenew,
    gateway: &GatewayTerms,
) -> Result<RenewalProgress> {
    if let PriorOutcome::Result(response) = operation.prior_outcome(tx)? {
        return Ok(RenewalProgress::Finished(Replayable::replayed(response)));
    }
    let (_, checkout) = load(tx, organization, id, seen)?;
    let mut order = checkout_parameters::load(tx, organization, id, gateway.public_url.clone())?;
    // If an earlier start got no answer, the gateway is asked for the same checkout.
    if checkout.status != CheckoutStatus::Open || checkout.reference.is_some() {
        if checkout.renewals >= MAX_RENEWALS {
            let detail = format!("the checkout of an order can be renewed {MAX_RENEWALS} times");
            return Err(Error::conflict(Reason::LimitReached, detail));
        }
        checkout_renewals::keep(tx, id, &checkout)?;
        order.renewals = checkout.renewals + 1;
        order.is_first_start = true;
        order.parameters.renewed_at = Some(tx.now());
        order.parameters.public_url.clone_from(&gateway.public_url);
        order.gateway = Some(gateway.identity.clone());
    }
    Ok(RenewalProgress::NeedsLink(Box::new(checkout_links::start(tx, order, gateway)?)))
}

/// Records the checkout that the gateway has created. Fails with
/// [`Error::PaymentGatewayFailed`](crate::Error::PaymentGatewayFailed) if another checkout has the same reference.
/// Returns `None` if the order has ended meanwhile: then the checkout is closed.
pub(crate) fn record(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    organization: OrganizationId,
    id: OrderId,
    renewals: i64,
    new: &NewCheckout<'_>,
) -> Result<Option<Replayable<RenewCheckoutResponse>>> {
    if let PriorOutcome::Result(response) = operation.prior_outcome(tx)? {
        return Ok(Some(Replayable::replayed(response)));
    }
    let state = order_lifecycle::load(tx, organization, id)?;
    let checkout = checkout_renewals::current(tx, id)?;
    if checkout.renewals != renewals {
        return Err(in_progress());
    }
    if checkout.reference.is_none() {
        checkout_renewals::check_reference(tx, new.reference)?;
    }
    // A notice may have named the reference already.
    if checkout.reference.is_none_or(|reference| reference == new.reference) {
        match state.status {
            OrderStatus::Pending => checkout_renewals::record(tx, id, new.link, new.reference)?,
            _ => checkouts::record_reference(tx, id, new.reference)?,
        }
    }
    checkout_renewals::lease(tx, id, renewals, None)?;
    if state.status != OrderStatus::Pending {
        return Ok(None);
    }
    let response = response(id, checkout_renewals::current(tx, id)?, true)?;
    operation.store_result(tx, &response)?;
    Ok(Some(Replayable::executed(response)))
}

/// Records that the gateway created no checkout. If it refused for good, `is_refused`, the next renewal is another one.
pub(crate) fn failed(tx: &LockedEvent<'_>, id: OrderId, renewals: i64, is_refused: bool) -> Result<()> {
    let checkout = checkout_renewals::current(tx, id)?;
    if is_refused && checkout.renewals == renewals && checkout.reference.is_none() {
        checkout_attempts::close(tx, id)?;
    }
    checkout_renewals::lease(tx, id, renewals, None)
}

fn response(id: OrderId, checkout: CurrentCheckout, renewed: bool) -> Result<RenewCheckoutResponse> {
    let link = checkout.link.filter(|link| !link.is_empty());
    let checkout_url = link.ok_or_else(|| Error::Internal("a checkout has no link".to_owned()))?;
    Ok(RenewCheckoutResponse { order_id: id, checkout_url, expires_at: checkout.expires_at, renewed })
}
