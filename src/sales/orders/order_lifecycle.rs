//! The order lifecycle after creation: payment, cancellation and expiry.
//!
//! Each transition is one conditional UPDATE of the order. Its seats, tickets, discount use, refund and notifications
//! follow in the same transaction.
//!
//! | from | to | when |
//! |---|---|---|
//! | pending | completed | it is paid: [`receive`](crate::sales::orders::received_payments::receive), [`mark_paid`] |
//! | pending | cancelled | [`cancel`], or its event is cancelled: [`cancel_of_cancelled_event`] |
//! | pending | expired | its hold expires: [`holds`] |
//! | completed | cancelled | [`cancel`], or all orders of its event are: [`cancel_completed`] |
//! | expired | completed | [`mark_paid`], or a late payment before the end of the event, if its seats and its discount use are still available |
//! | expired | cancelled | [`cancel`] |

use crate::error::{Error, Reason, Result};
use crate::model::notifications::notification_data::{OrderCancelled, OrderCompleted};
use crate::model::notifications::notification_types::NotificationData;
use crate::model::payments::checkout::CheckoutStatus;
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::{CancelOrderResponse, Order, OrderStatus, PaymentStatus};
use crate::model::sale::refund::RefundSource;
use crate::model::tenants::caller::Identity;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::amount::Amount;
use crate::model::values::id::{ApiKeyId, CancellationRunId, OrderId, OrganizationId};
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::rules::order::{check_cancellable, check_payable, check_pending, status_at_hold};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::{discount_use, holds, inventory};
use crate::sales::each_row::{EachRow, each_row};
use crate::sales::idempotent_operation::{IdempotentOperation, PriorOutcome};
use crate::sales::mail_causes;
use crate::sales::money::manual_payments::{self, ManualPayment};
use crate::sales::money::refund_lifecycle::{self, Account, RefundTerms};
use crate::sales::money::refund_outcomes::Decided;
use crate::sales::tickets::ticket_issuing;
use crate::store::money::checkout_attempts;
use crate::store::money::refunds::NewRefund;
use crate::store::order::order_status::{self, OrderState};
use crate::store::order::orders;
use crate::store::sale::event_cancellations::OrderToCancel;
use crate::store::sale::seat_counts::PaidThrough;
use crate::store::sale::{discounts, order_items, sales_figures, seat_counts};
use crate::store::tickets::issued_tickets::{self, TicketHolder};
use crate::store::webhooks::outbox;
use crate::store::{CommitEvent, LockedEvent, Transaction, maintenance_clock};

/// Loads an order. If its hold has expired, marks the order as expired first, so that the stored status is the actual
/// one. If it is pending although its event is cancelled, cancels it first: the orders of a cancelled event are
/// cancelled in batches, and it may not have been its turn.
pub(in crate::sales) fn load(tx: &LockedEvent<'_>, organization: OrganizationId, id: OrderId) -> Result<OrderState> {
    let mut state = order_status::load(tx, organization, id)?;
    let status = status_at_hold(state.status, state.hold_until, tx.now());
    if status != state.status {
        holds::expire(tx, id, state.event)?;
        state.status = status;
    }
    if state.status == OrderStatus::Pending && state.is_event_cancelled() {
        cancel_uncompleted(tx, &state)?;
        state.status = OrderStatus::Cancelled;
    }
    Ok(state)
}

pub(crate) fn mark_paid(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    by: &ManualPayment<'_>,
    release_limit: &ReleaseLimit,
) -> Result<Order> {
    let state = load(tx, organization, id)?;
    complete(tx, &state, PaidThrough::AnotherWay, release_limit)?;
    manual_payments::receive(tx, &state, by)?;
    close_checkout(tx, &state)?;
    orders::get(tx, organization, id)
}

pub(crate) fn mark_reminder_sent(tx: &LockedEvent<'_>, organization: OrganizationId, id: OrderId) -> Result<Order> {
    let state = load(tx, organization, id)?;
    check_pending(state.status)?;
    orders::mark_reminder_sent(tx, organization, id)?;
    orders::get(tx, organization, id)
}

const CHANGED_CONCURRENTLY: &str = "another request changed the order at the same time; read its status again";

/// Records a failed payment that the gateway reports. The order stays pending until its hold expires. An order that
/// does not wait for a payment stays as it is, and so does one whose `checkout`, if it is known, was replaced by a new
/// one.
pub(crate) fn payment_failed(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    checkout: Option<&str>,
) -> Result<Order> {
    let state = load(tx, organization, id)?;
    let is_newest = checkout.is_none() || state.is_newest_checkout(checkout);
    if is_newest && state.status == OrderStatus::Pending && state.payment == Some(PaymentStatus::Waiting) {
        order_status::record_payment(tx, id, PaymentStatus::Failed)?;
    }
    orders::get(tx, organization, id)
}

/// Completes an order and issues its tickets. An expired order must claim its seats and its discount use again. It is
/// refused if they are no longer available, or if its event is cancelled. A payment through the gateway is also refused
/// if the event has ended.
pub(in crate::sales) fn complete(
    tx: &LockedEvent<'_>,
    state: &OrderState,
    paid_through: PaidThrough,
    release_limit: &ReleaseLimit,
) -> Result<()> {
    check_payable(state.status)?;
    let expired = state.status == OrderStatus::Expired;
    if expired && state.is_event_cancelled() {
        return Err(Error::conflict(
            Reason::EventCancelled,
            "the event is CANCELLED: the order cannot be paid any more",
        ));
    }
    // Whoever marks an order as paid has the money in hand, and knows why. A late payment only returns it.
    if expired && paid_through == PaidThrough::Gateway && has_event_ended(tx, state)? {
        return Err(Error::conflict(Reason::EventNotOnSale, "the event has ended: the payment came too late"));
    }

    let by_gateway = paid_through == PaidThrough::Gateway;
    let completed = if expired {
        order_status::complete_expired(tx, state.id, by_gateway)?
    } else {
        order_status::complete_pending(tx, state.id, by_gateway)?
    };
    if !completed {
        return Err(Error::conflict(Reason::OrderNotPending, CHANGED_CONCURRENTLY));
    }
    for seats in holds::seats_of_order(tx, state.id, state.event)? {
        if expired {
            inventory::sell_to_expired(tx, seats, paid_through, release_limit)?;
        } else {
            inventory::sell_reserved(tx, seats, paid_through)?;
        }
    }
    if let Some(discount) = state.discount
        && expired
        && !discount_use::try_claim(tx, state.event, discount, release_limit)?
    {
        return Err(Error::conflict(Reason::DiscountUsedUp, "the usage limit of the discount is reached"));
    }
    issue_tickets(tx, state)
}

/// Whether the event has ended, so that its tickets admit their holders no more. A refund cannot be undone: while the
/// clock may be wrong, only a stored end counts.
fn has_event_ended(tx: &Transaction<'_>, state: &OrderState) -> Result<bool> {
    let is_over = tx.now() >= state.event_over_at;
    Ok(state.event_status == EventStatus::Expired || (is_over && !maintenance_clock::is_in_doubt(tx)?))
}

/// Issues the tickets of a completed order. Reports the order and its tickets.
fn issue_tickets(tx: &LockedEvent<'_>, state: &OrderState) -> Result<()> {
    let holder = TicketHolder {
        organization: state.organization,
        event: state.event,
        customer: state.customer,
        customer_name: &state.customer_name,
        locale: None,
    };
    let mut tickets = Vec::new();
    for item in order_items::of_orders(tx, &[state.id])? {
        tickets.extend(issued_tickets::issue_for_item(tx, &holder, item)?);
    }
    let completed = OrderCompleted {
        order_id: state.id,
        event_id: state.event,
        customer_id: state.customer,
        total: Amount::in_currency(state.total, decimals_of_stored(&state.currency)?),
        currency: state.currency.clone(),
    };
    ticket_issuing::report_completed(tx, state.organization, completed, &tickets)?;
    mail_causes::order_completed(tx, state.into())
}

/// Cancels an order and its tickets. What is left of its payment goes back. `may_refund` is the error of
/// a caller that may not decide that money goes back: an order that was paid is then not cancelled.
pub(crate) fn cancel(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    caller: Identity,
    id: OrderId,
    terms: &RefundTerms,
    may_refund: &Result<()>,
) -> Result<Decided<CancelOrderResponse>> {
    if let PriorOutcome::Result(response) = operation.prior_outcome(tx)? {
        return Ok(Decided { response: Replayable::replayed(response), due: None });
    }
    let state = load(tx, caller.organization, id)?;
    if state.status == OrderStatus::Completed && state.total > 0 {
        may_refund.clone()?;
    }
    let cancellation =
        cancel_loaded(tx, &state, terms, &Cancellation { decided_by: caller.key, ..Cancellation::default() })?;
    operation.store_result(tx, &cancellation.response.value)?;
    Ok(cancellation)
}

/// Cancels an order if it is pending. Any other order stays as it is.
pub(crate) fn cancel_if_pending(tx: &LockedEvent<'_>, organization: OrganizationId, id: OrderId) -> Result<()> {
    let state = load(tx, organization, id)?;
    if state.status == OrderStatus::Pending {
        cancel_uncompleted(tx, &state)?;
    }
    Ok(())
}

/// Cancels an order that cannot be paid, because it got no checkout link. Its hold may have expired meanwhile. A
/// completed or cancelled order stays as it is.
pub(in crate::sales) fn cancel_unless_paid(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
) -> Result<()> {
    let state = load(tx, organization, id)?;
    if matches!(state.status, OrderStatus::Pending | OrderStatus::Expired) {
        cancel_uncompleted(tx, &state)?;
    }
    Ok(())
}

/// Cancels orders of an event that is cancelled, those that are still pending. An order whose hold has expired is
/// marked as expired instead.
pub(crate) fn cancel_of_cancelled_event(
    tx: &Transaction<'_>,
    orders: &[OrderToCancel],
) -> Result<EachRow<OrderToCancel>> {
    each_row(
        tx,
        orders,
        |order| order.event,
        |tx, order| Ok(load(tx, order.organization, order.order)?.status == OrderStatus::Cancelled),
    )
}

/// Cancels an order that is not completed, so that there is nothing to refund.
pub(in crate::sales) fn cancel_uncompleted(tx: &LockedEvent<'_>, state: &OrderState) -> Result<()> {
    cancel_loaded(tx, state, &RefundTerms::default(), &Cancellation::default()).map(drop)
}

/// Cancels an order if it is completed. Returns whether it was.
pub(in crate::sales) fn cancel_completed(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: OrderId,
    terms: &RefundTerms,
    cancellation: &Cancellation<'_>,
) -> Result<bool> {
    let state = load(tx, organization, id)?;
    let is_completed = state.status == OrderStatus::Completed;
    if is_completed {
        cancel_loaded(tx, &state, terms, cancellation)?;
    }
    Ok(is_completed)
}

/// Who cancels an order, and what becomes of its payment.
#[derive(Default)]
pub(in crate::sales) struct Cancellation<'a> {
    pub(in crate::sales) decided_by: Option<ApiKeyId>,
    /// Whether the organizer keeps what was paid.
    pub(in crate::sales) keeps_payment: bool,
    pub(in crate::sales) reason: Option<&'a str>,
    pub(in crate::sales) run: Option<CancellationRunId>,
}

fn cancel_loaded(
    tx: &LockedEvent<'_>,
    state: &OrderState,
    terms: &RefundTerms,
    cancellation: &Cancellation<'_>,
) -> Result<Decided<CancelOrderResponse>> {
    check_cancellable(state.status)?;
    let payment = match state.status {
        OrderStatus::Completed if !cancellation.keeps_payment => refund_lifecycle::payment_of_order(tx, state.id)?,
        _ => None,
    };
    let payment = payment.filter(|payment| payment.sums.not_promised() > 0);
    let requires_manual_refund = payment.as_ref().is_some_and(|payment| !terms.asks(payment));
    end(tx, state, requires_manual_refund)?;
    let mut due = None;
    if let Some(payment) = payment {
        let rest = NewRefund::new(RefundSource::Order, payment.sums.not_promised());
        let Cancellation { decided_by, reason, run, .. } = *cancellation;
        let rest = NewRefund { by_gateway: !requires_manual_refund, decided_by, reason, run, ..rest };
        let mut account = Account::load(tx, payment)?;
        account.decide(&rest)?;
        due = account.follow()?;
    }
    let response = CancelOrderResponse { success: true, requires_manual_refund };
    Ok(Decided { response: Replayable::executed(response), due })
}

/// Sets an order to CANCELLED, releases what it has, and reports it. Gives no money back.
pub(in crate::sales) fn end(tx: &LockedEvent<'_>, state: &OrderState, requires_manual_refund: bool) -> Result<()> {
    if !order_status::cancel(tx, state.id, state.status)? {
        return Err(Error::conflict(Reason::OrderNotCancellable, CHANGED_CONCURRENTLY));
    }
    tx.record(CommitEvent::OrderCancelled);
    close_checkout(tx, state)?;
    match state.status {
        OrderStatus::Pending => {
            for seats in holds::seats_of_order(tx, state.id, state.event)? {
                seat_counts::release(tx, seats, OrderStatus::Cancelled)?;
            }
            release_discount_use(tx, state)?;
        }
        OrderStatus::Completed => {
            let cancelled = issued_tickets::cancel_of_order(tx, state.id)?;
            ticket_issuing::restock(tx, state.organization, state.event, cancelled)?;
            sales_figures::order_cancelled(tx, state.id, state.status)?;
            release_discount_use(tx, state)?;
            mail_causes::order_cancelled(tx, state.into())?;
        }
        // Its expiry has released everything.
        OrderStatus::Expired => sales_figures::order_cancelled(tx, state.id, state.status)?,
        OrderStatus::Cancelled => {}
    }
    let notification = NotificationData::OrderCancelled(OrderCancelled {
        order_id: state.id,
        event_id: state.event,
        customer_id: state.customer,
        requires_manual_refund,
    });
    outbox::enqueue(tx, state.organization, [notification])
}

/// Records that the checkout of an order has to be closed, if there is one.
fn close_checkout(tx: &LockedEvent<'_>, state: &OrderState) -> Result<()> {
    match state.checkout {
        Some(CheckoutStatus::Open) => checkout_attempts::begin_closing(tx, state.id),
        _ => Ok(()),
    }
}

fn release_discount_use(tx: &LockedEvent<'_>, state: &OrderState) -> Result<()> {
    match state.discount {
        Some(discount) => discounts::release_use(tx, state.event, discount),
        None => Ok(()),
    }
}
