//! How an order ends: paid, cancelled or expired. Each move is one conditional update of the order, and the places,
//! tickets and refunds that follow from it in the same transaction.

use super::order_items::{self, StoredItem};
use super::places::{self, Places};
use super::{Counted, Transaction, discount_uses, outbox, refunds, tickets};
use crate::error::{Error, Reason, Result};
use crate::model::amount::Amount;
use crate::model::id::{CustomerId, DiscountId, EventId, OrderId, OrganizationId, TicketTypeId};
use crate::model::notification::{NotificationData, OrderCancelled, OrderCompleted};
use crate::model::order::{OrderStatus, PaymentStatus};
use crate::rules::money::decimals;
use crate::rules::order::{check_cancellable, check_payable, status_at_hold};

const STATE: &str =
    "SELECT o.id, o.organization_id, o.event_id, o.customer_id, o.customer_name, o.status, o.hold_until, o.currency,
        o.total, o.payment_status, o.paid_by_gateway, o.discount_id, e.status = 'CANCELLED'
    FROM orders o JOIN events e ON e.id = o.event_id WHERE o.id = ?1 AND o.organization_id = ?2";
const COMPLETE_PENDING: &str =
    "UPDATE orders SET status = 'COMPLETED', completed_at = ?2, updated_at = ?2, paid_by_gateway = ?3
    WHERE id = ?1 AND status = 'PENDING' AND hold_until > ?2";
const COMPLETE_EXPIRED: &str =
    "UPDATE orders SET status = 'COMPLETED', completed_at = ?2, updated_at = ?2, paid_by_gateway = ?3
    WHERE id = ?1 AND status = 'EXPIRED'";
const CANCEL: &str = "UPDATE orders SET status = 'CANCELLED', updated_at = ?2 WHERE id = ?1 AND status = ?3";
const EXPIRE: &str = "UPDATE orders SET status = 'EXPIRED',
        updated_at = CASE WHEN updated_at > hold_until THEN updated_at ELSE hold_until END
    WHERE id = ?1 AND status = 'PENDING' AND hold_until <= ?2 RETURNING id, discount_id";
pub(super) const LAPSED: &str =
    "SELECT id, event_id FROM orders WHERE status = 'PENDING' AND hold_until <= ?1 ORDER BY hold_until LIMIT ?2";
// The unary plus keeps the planner from reading every order that the event ever had: a sold-out event is asked often.
pub(super) const LAPSED_OF_EVENT: &str =
    "SELECT id, event_id FROM orders WHERE status = 'PENDING' AND hold_until <= ?1 AND +event_id = ?2";
pub(super) const PENDING_OF_EVENT: &str = "SELECT id, organization_id FROM orders
    WHERE status = 'PENDING' AND hold_until > ?1 AND +event_id = ?2";
const PAYMENT: &str =
    "UPDATE orders SET payment_status = ?2, payment_link = COALESCE(payment_link, ''), updated_at = ?3
    WHERE id = ?1 AND (payment_status IS NULL OR payment_status IN ('WAITING', 'FAILED'))";

/// What the end of an order depends on.
struct State {
    id: OrderId,
    organization: OrganizationId,
    event: EventId,
    customer: CustomerId,
    customer_name: String,
    /// The status it counts as; where its hold has run out, that was written down already.
    status: OrderStatus,
    currency: String,
    total: i64,
    payment: Option<PaymentStatus>,
    paid_by_gateway: bool,
    discount: Option<DiscountId>,
    event_cancelled: bool,
}

/// Loads an order, and writes down that its hold has run out where it has: from then on, stored and actual status agree.
fn settle_hold(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<State> {
    let found = tx.one(STATE, &[id.into(), organization.into()], |row| {
        let stored = row.text_enum(5)?;
        let status = status_at_hold(stored, row.get(6)?, tx.now());
        let state = State {
            id: row.get(0)?,
            organization: row.get(1)?,
            event: row.get(2)?,
            customer: row.get(3)?,
            customer_name: row.get(4)?,
            status,
            currency: row.get(7)?,
            total: row.get(8)?,
            payment: if row.is_null(9)? { None } else { Some(row.text_enum(9)?) },
            paid_by_gateway: row.get(10)?,
            discount: row.get(11)?,
            event_cancelled: row.get(12)?,
        };
        Ok((state, status != stored))
    })?;
    let (state, lapsed) = found.ok_or(Error::NotFound("order"))?;
    if lapsed {
        expire(tx, id, state.event)?;
    }
    Ok(state)
}

/// The places of an order's items, added up for each ticket type.
fn places_of(items: &[StoredItem], event: EventId) -> Vec<Places> {
    let mut places: Vec<Places> = Vec::new();
    for item in items {
        match places.iter_mut().find(|places| places.ticket_type == item.ticket_type_id) {
            Some(known) => known.number += item.price.quantity,
            None => places.push(Places { event, ticket_type: item.ticket_type_id, number: item.price.quantity }),
        }
    }
    places
}

/// Completes an order and issues its tickets. An EXPIRED one takes its places and the use of its discount anew, and is
/// refused where they are gone or its event is cancelled.
fn complete(tx: &Transaction<'_>, state: &State, by_gateway: bool) -> Result<()> {
    check_payable(state.status)?;
    let items = order_items::of_orders(tx, &[state.id])?;
    let revived = state.status == OrderStatus::Expired;
    if revived && state.event_cancelled {
        return Err(Error::conflict(Reason::EventCancelled, "the event is CANCELLED"));
    }
    for places in places_of(&items, state.event) {
        if revived { places::sell(tx, places)? } else { places::sell_held(tx, places)? }
    }
    if let Some(discount) = state.discount.filter(|_| revived)
        && !discount_uses::claim(tx, state.event, discount)?
    {
        return Err(Error::conflict(Reason::DiscountUsedUp, "the discount's uses are gone"));
    }
    let sql = if revived { COMPLETE_EXPIRED } else { COMPLETE_PENDING };
    if tx.execute(sql, &[state.id.into(), tx.now().into(), by_gateway.into()])? == 0 {
        return Err(Error::conflict(Reason::OrderNotPending, "the order has just changed"));
    }
    tx.count(Counted::OrderCompleted);
    let owner = tickets::Owner {
        organization: state.organization,
        event: state.event,
        customer: state.customer,
        customer_name: &state.customer_name,
    };
    let decimals =
        decimals(&state.currency).ok_or_else(|| Error::Internal(format!("unknown currency {}", state.currency)))?;
    let mut changes = vec![NotificationData::OrderCompleted(OrderCompleted {
        order_id: state.id,
        event_id: state.event,
        customer_id: state.customer,
        total: Amount::new(state.total, decimals),
        currency: state.currency.clone(),
    })];
    for item in items {
        let issued = tickets::issue_for_item(tx, &owner, item)?;
        changes.extend(issued.iter().map(|ticket| tickets::reported(ticket, state.event, state.id)));
    }
    outbox::report(tx, state.organization, changes)
}

/// Completes an order whose money came another way than through the gateway.
pub(crate) fn mark_paid(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<()> {
    let state = settle_hold(tx, organization, id)?;
    complete(tx, &state, false)
}

/// Takes note of a payment through the gateway, once. Where it comes too late for the order, the money goes back: then a
/// refund is due, and is to be asked for now where the answer is true. `can_refund` tells whether there is a gateway for
/// that.
pub(crate) fn payment_completed(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
    can_refund: bool,
) -> Result<bool> {
    let state = settle_hold(tx, organization, id)?;
    if state.total == 0 {
        return Err(Error::conflict(Reason::OrderNotPending, "the order costs nothing"));
    }
    if tx.execute(PAYMENT, &[id.into(), PaymentStatus::Completed.to_string().into(), tx.now().into()])? == 0 {
        return Ok(false);
    }
    let completed = match state.status {
        OrderStatus::Pending | OrderStatus::Expired => tx.attempt(|tx| complete(tx, &state, true)),
        // Cancelled, or paid another way before.
        OrderStatus::Cancelled | OrderStatus::Completed => Ok(false),
    }?;
    if !completed {
        refunds::insert(tx, organization, id, (state.total, &state.currency), can_refund)?;
    }
    Ok(!completed && can_refund)
}

/// Takes note of an attempt to pay that failed. The order goes on waiting; one that waits no more stays as it is.
pub(crate) fn payment_failed(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<()> {
    let state = settle_hold(tx, organization, id)?;
    if state.status == OrderStatus::Pending && state.payment == Some(PaymentStatus::Waiting) {
        tx.execute(PAYMENT, &[id.into(), PaymentStatus::Failed.to_string().into(), tx.now().into()])?;
    }
    Ok(())
}

/// What a cancellation leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled {
    pub(crate) requires_manual_refund: bool,
    pub(crate) refund_due: bool,
}

/// Cancels an order, its tickets with it. Money that came through a gateway that `can_refund` goes back the same way.
pub(crate) fn cancel(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
    can_refund: bool,
) -> Result<Cancelled> {
    let state = settle_hold(tx, organization, id)?;
    check_cancellable(state.status)?;
    if tx.execute(CANCEL, &[id.into(), tx.now().into(), state.status.to_string().into()])? == 0 {
        return Err(Error::conflict(Reason::OrderNotCancellable, "the order has just changed"));
    }
    tx.count(Counted::OrderCancelled);
    let mut left = Cancelled { requires_manual_refund: false, refund_due: false };
    match state.status {
        OrderStatus::Pending => {
            let items = order_items::of_orders(tx, &[id])?;
            places_of(&items, state.event).into_iter().try_for_each(|places| places::release(tx, places))?;
            give_back_use(tx, state.event, state.discount)?;
        }
        OrderStatus::Completed => {
            give_back_tickets(tx, &state)?;
            give_back_use(tx, state.event, state.discount)?;
            left.refund_due = state.paid_by_gateway && can_refund;
            left.requires_manual_refund = state.total > 0 && !left.refund_due;
            if left.refund_due {
                refunds::insert(tx, organization, id, (state.total, &state.currency), true)?;
            }
        }
        OrderStatus::Expired | OrderStatus::Cancelled => {}
    }
    let change = NotificationData::OrderCancelled(OrderCancelled {
        order_id: id,
        event_id: state.event,
        customer_id: state.customer,
        requires_manual_refund: left.requires_manual_refund,
    });
    outbox::report(tx, organization, [change])?;
    Ok(left)
}

/// Cancels an order that still waits for its payment; any other stays as it is.
pub(crate) fn cancel_if_pending(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<()> {
    match settle_hold(tx, organization, id)?.status {
        OrderStatus::Pending => cancel(tx, organization, id, false).map(drop),
        _ => Ok(()),
    }
}

/// Cancels an order that nobody can pay: also one whose hold ran out meanwhile. What was paid or cancelled stays.
pub(crate) fn cancel_unless_paid(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<()> {
    match settle_hold(tx, organization, id)?.status {
        OrderStatus::Pending | OrderStatus::Expired => cancel(tx, organization, id, false).map(drop),
        OrderStatus::Completed | OrderStatus::Cancelled => Ok(()),
    }
}

/// Cancels every ticket of an order that is not cancelled yet, and frees just their places.
fn give_back_tickets(tx: &Transaction<'_>, state: &State) -> Result<()> {
    let mut types: Vec<TicketTypeId> = tickets::cancel_of_order(tx, state.id)?;
    types.sort_unstable();
    for same in types.chunk_by(|one, other| one == other) {
        let number = i64::try_from(same.len()).unwrap_or(i64::MAX);
        places::give_back(tx, Places { event: state.event, ticket_type: same[0], number })?;
    }
    Ok(())
}

/// Cancels what waits for a payment when an event is cancelled. What is completed stays.
pub(crate) fn cancel_pending_of_event(tx: &Transaction<'_>, event: EventId) -> Result<()> {
    expire_holds_of(tx, event)?;
    let pending = tx.all(PENDING_OF_EVENT, &[tx.now().into(), event.into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    pending.into_iter().try_for_each(|(id, organization)| cancel(tx, organization, id, false).map(drop))
}

/// Gives back the use of its discount that an order had, where it had one.
fn give_back_use(tx: &Transaction<'_>, event: EventId, discount: Option<DiscountId>) -> Result<()> {
    discount.map_or(Ok(()), |discount| discount_uses::give_back(tx, event, discount))
}

/// Writes down that an order's hold has run out, and frees its places and the use of its discount; says whether it had.
fn expire(tx: &Transaction<'_>, id: OrderId, event: EventId) -> Result<bool> {
    let expired = tx.one(EXPIRE, &[id.into(), tx.now().into()], |row| row.get(1))?;
    let Some(discount) = expired else { return Ok(false) };
    give_back_use(tx, event, discount)?;
    tx.count(Counted::OrderExpired);
    let items = order_items::of_orders(tx, &[id])?;
    places_of(&items, event).into_iter().try_for_each(|places| places::release(tx, places))?;
    Ok(true)
}

/// Whether there is an order to expire.
pub(crate) fn has_lapsed_holds(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(LAPSED, &[tx.now().into(), 1.into()])
}

/// Expires up to `most` orders whose hold has run out; says how many.
pub(crate) fn expire_holds(tx: &Transaction<'_>, most: i64) -> Result<usize> {
    let lapsed = tx.all(LAPSED, &[tx.now().into(), most.into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    expire_all(tx, lapsed)
}

/// Expires the orders of an event whose hold has run out; says how many.
pub(crate) fn expire_holds_of(tx: &Transaction<'_>, event: EventId) -> Result<usize> {
    let lapsed = tx.all(LAPSED_OF_EVENT, &[tx.now().into(), event.into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    expire_all(tx, lapsed)
}

fn expire_all(tx: &Transaction<'_>, lapsed: Vec<(OrderId, EventId)>) -> Result<usize> {
    let mut expired = 0;
    for (id, event) in lapsed {
        expired += usize::from(expire(tx, id, event)?);
    }
    Ok(expired)
}
