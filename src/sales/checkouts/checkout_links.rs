//! Orders that are paid under a checkout link of the payment gateway: the transactions before and after the gateway is
//! asked for the link. No transaction is open during the call.
//!
//! The first transaction creates the order, which reserves its seats. If the request has an idempotency key, it also
//! stores the order under the key, so that a retry continues with the same order, even in another process or after a
//! crash. The checkout of the order has a lease: until it ends, another process does not ask for a second link. The
//! process that waits for the gateway renews the lease, so it ends soon after this process was killed. The second
//! transaction records the link, or cancels the order if the gateway returned none.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result, Unavailable};
use crate::model::payments::checkout::CheckoutTerms;
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::new_order::CreateOrder;
use crate::model::sale::order::{CreateOrderResponse, Order, OrderStatus};
use crate::model::sale::received_payment::ManualMethod;
use crate::model::tenants::caller::Recorder;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::money::checkout_schedule::{CLAIM_DURATION, claim_left, next_look_up};
use crate::rules::money::gateway_choice::is_asked;
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::holds::HoldTerms;
use crate::sales::idempotent_operation::{IdempotentOperation, PriorOutcome};
use crate::sales::money::manual_payments::ManualPayment;
use crate::sales::orders::order_creation::{self, NewOrderTerms};
use crate::sales::orders::order_lifecycle;
use crate::store::LockedEvent;
use crate::store::money::checkout_parameters::{CheckoutTimes, OrderToPay};
use crate::store::money::checkouts::{CheckoutOrder, NewCheckout};
use crate::store::money::{checkout_attempts, checkout_parameters, checkout_renewals, checkouts};
use crate::store::order::{order_details, orders};
use crate::store::webhooks::subscribed_endpoints;

/// How a new order is paid.
#[derive(Clone)]
pub(crate) struct PaymentTerms {
    pub(crate) hold: HoldTerms,
    /// `None` if orders have no checkout link.
    pub(crate) gateway: Option<Arc<GatewayTerms>>,
    /// The caller that records a payment manually.
    pub(crate) recorded_by: Recorder,
    /// The total in minor units that the page of an event has shown. `None` for an order from elsewhere.
    pub(crate) shown_total: Option<i64>,
}

impl PaymentTerms {
    /// The least amount in minor units of a currency that can be paid.
    fn step(&self, currency: &str) -> i64 {
        self.gateway.as_ref().map_or(1, |gateway| (gateway.step)(currency))
    }
}

/// A function that returns the least amount in minor units of a currency that the gateway can take.
type Step = Box<dyn Fn(&str) -> i64 + Send + Sync>;

/// A function that checks whether the gateway can take the payment of an order.
type CheckTerms = Box<dyn Fn(&CheckoutTerms) -> Result<()> + Send + Sync>;

/// The terms of the payment gateway.
pub(crate) struct GatewayTerms {
    /// What is recorded with a new checkout.
    pub(crate) identity: GatewayIdentity,
    /// A checkout stays open for at least this time.
    pub(crate) shortest_checkout: Duration,
    /// The address of this service for the gateway.
    pub(crate) public_url: Option<String>,
    /// The token of the return page of a new order. Nobody can guess it.
    pub(crate) return_token: String,
    /// Every amount that a discount leaves is a multiple of it.
    pub(crate) step: Step,
    /// Fails if the gateway cannot take the payment of an order.
    pub(crate) check: CheckTerms,
}

/// An order after its first transaction.
pub(crate) enum OrderProgress {
    /// There is nothing left to do.
    Finished(Box<Replayable<CreateOrderResponse>>),
    /// The gateway must be asked for a checkout link.
    NeedsLink(Box<LeasedStart>),
}

/// A checkout for which this process, and no other, asks the gateway.
pub(crate) struct LeasedStart {
    pub(crate) order: OrderToPay,
    /// Until when other processes wait.
    pub(crate) lease_ends_at: Timestamp,
}

/// Creates an order. If the same request has been executed before, returns its result, or the order that still needs
/// its link.
pub(crate) fn create_or_resume(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
    terms: &PaymentTerms,
    release_limit: &ReleaseLimit,
) -> Result<OrderProgress> {
    order_creation::read_ahead(tx, organization, request);
    // An order that waits for its payment notifies nobody.
    if terms.gateway.is_none() {
        tx.read_ahead(|| subscribed_endpoints::enabled(tx, organization));
    }
    let pending = match operation.prior_outcome(tx)? {
        PriorOutcome::Result(response) => {
            return Ok(OrderProgress::Finished(Box::new(Replayable::replayed(response))));
        }
        PriorOutcome::PendingOrder(id) => Some(orders::get(tx, organization, id)?),
        PriorOutcome::None => None,
    };
    if let Some(order) = &pending
        && order.payment_gateway.is_none()
        && let Some(retry_after) = claim_left(checkout_renewals::lease_ends_at(tx, order.id)?, tx.now())
    {
        return Err(Error::IdempotencyInProgress { retry_after });
    }
    let order = match pending {
        Some(order) if !ended_without_link(&order) => {
            if let Some(gateway) = &terms.gateway
                && is_without_link(&order)
            {
                let order = checkout_parameters::load(tx, organization, order.id, gateway.public_url.clone())?;
                if !is_asked(gateway.identity.key(), order.gateway.as_ref().map(GatewayIdentity::key)) {
                    return Err(Error::Unavailable(Unavailable::GatewayMissing));
                }
                let start = start(tx, order, gateway)?;
                return Ok(OrderProgress::NeedsLink(Box::new(start)));
            }
            order
        }
        ended => {
            // Nobody has its link: the process that created it was killed.
            if let Some(order) = ended {
                operation.forget_pending_order(tx, order.id)?;
            }
            let created = order_creation::create(
                tx,
                organization,
                request,
                &NewOrderTerms {
                    hold: terms.hold,
                    step: &|currency| terms.step(currency),
                    shown_total: terms.shown_total,
                },
                release_limit,
            )?;
            if let Some(gateway) = &terms.gateway
                && is_without_link(&created.order)
            {
                let mut order = OrderToPay::new(
                    request,
                    created.order,
                    created.currency,
                    tx.now().saturating_add(terms.hold.duration),
                    created.event_title,
                    gateway.public_url.clone(),
                    gateway.return_token.clone(),
                );
                order.gateway = Some(gateway.identity.clone());
                if terms.shown_total.is_some() {
                    order.redirect_urls = order_details::to_its_page(tx, order.order.id);
                }
                (gateway.check)(&CheckoutTerms {
                    amount: order.order.total,
                    currency: order.currency.clone(),
                    items: order.order.items.iter().map(|item| item.final_amount).collect(),
                    hold: terms.hold.duration,
                })?;
                let start = start(tx, order, gateway)?;
                operation.store_pending_order(tx, start.order.order.id)?;
                return Ok(OrderProgress::NeedsLink(Box::new(start)));
            }
            match request.payment_taken() {
                Some(paid) if created.order.status == OrderStatus::Pending => {
                    let method = paid.how.unwrap_or(ManualMethod::Cash);
                    let by = ManualPayment { method, note: paid.note.as_deref(), recorded_by: &terms.recorded_by };
                    order_lifecycle::mark_paid(tx, organization, created.order.id, &by, release_limit)?
                }
                _ => created.order,
            }
        }
    };
    let response = CreateOrderResponse::from(order);
    operation.store_result(tx, &response)?;
    Ok(OrderProgress::Finished(Box::new(Replayable::executed(response))))
}

/// Stores that this process asks the gateway for a checkout of an order: the first one, or a renewed one.
pub(super) fn start(tx: &LockedEvent<'_>, order: OrderToPay, gateway: &GatewayTerms) -> Result<LeasedStart> {
    let earliest_end = tx.now().saturating_add(gateway.shortest_checkout);
    let first_look_up = next_look_up(order.hold_until, tx.now());
    let lease_ends_at = tx.now().saturating_add(CLAIM_DURATION);
    let expires_at = order.hold_until.max(earliest_end);
    checkout_parameters::start(tx, &order, &CheckoutTimes { expires_at, first_look_up, lease_ends_at })?;
    Ok(LeasedStart { order, lease_ends_at })
}

fn is_without_link(order: &Order) -> bool {
    order.status == OrderStatus::Pending && order.payment_gateway.is_none()
}

fn ended_without_link(order: &Order) -> bool {
    matches!(order.status, OrderStatus::Expired | OrderStatus::Cancelled) && order.payment_gateway.is_none()
}

/// Records the checkout that the gateway has created for an order; `new` is the order if it was just created. Returns `None`
/// if another process has cancelled the order because it got no link. Fails with [`Error::PaymentGatewayFailed`](crate::Error::PaymentGatewayFailed) if
/// another order has the same payment reference.
pub(crate) fn record(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    CheckoutOrder { organization, id }: CheckoutOrder,
    new: Option<Order>,
    checkout: &NewCheckout<'_>,
) -> Result<Option<Replayable<CreateOrderResponse>>> {
    match operation.prior_outcome(tx)? {
        // Another process has recorded its link first.
        PriorOutcome::Result(response) => return Ok(Some(Replayable::replayed(response))),
        PriorOutcome::PendingOrder(pending) if pending == id => {}
        PriorOutcome::None if !operation.has_key() => {}
        PriorOutcome::None | PriorOutcome::PendingOrder(_) => return Ok(None),
    }
    let recorded = new.map(|new| checkouts::record_of_new(tx, new, checkout)).transpose()?.flatten();
    let order = match recorded {
        Some(order) => order,
        None => {
            checkouts::record(tx, organization, id, checkout)?;
            orders::get(tx, organization, id)?
        }
    };
    let response = CreateOrderResponse::from(order);
    operation.store_result(tx, &response)?;
    Ok(Some(Replayable::executed(response)))
}

/// Cancels an order that got no checkout link. Its checkout is to be closed if the gateway may have created one,
/// `was_created`. Returns a response if the order no longer needs a link: it was completed meanwhile, or another
/// process has recorded a link.
pub(crate) fn cancel_without_link(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    organization: OrganizationId,
    id: OrderId,
    was_created: bool,
) -> Result<Option<Replayable<CreateOrderResponse>>> {
    if let PriorOutcome::Result(response) = operation.prior_outcome(tx)? {
        return Ok(Some(Replayable::replayed(response)));
    }
    order_lifecycle::cancel_unless_paid(tx, organization, id)?;
    if !was_created {
        checkout_attempts::close(tx, id)?;
    }
    let order = orders::get(tx, organization, id)?;
    if order.status != OrderStatus::Completed {
        operation.forget_pending_order(tx, id)?;
        return Ok(None);
    }
    let response = CreateOrderResponse::from(order);
    operation.store_result(tx, &response)?;
    Ok(Some(Replayable::executed(response)))
}
