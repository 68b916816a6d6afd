//! Refunds of a part of an order: of some of its tickets, or of an amount. Also withdraws refunds.

use super::order_lifecycle;
use crate::error::{Error, FieldErrors, Reason, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::refund::{RefundOrder, RefundOrderResponse, RefundSource};
use crate::model::sale::ticket::TicketStatus;
use crate::model::tenants::caller::Identity;
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId, RefundId, TicketId};
use crate::rules::money::amount_limits::{check_total, decimals_of_stored};
use crate::rules::money::refund_share::{check_parts, check_step, ticket_share};
use crate::sales::idempotent_operation::{IdempotentOperation, PriorOutcome};
use crate::sales::mail_causes;
use crate::sales::money::refund_lifecycle::{self, Account, RefundTerms};
use crate::sales::money::refund_outcomes::Decided;
use crate::sales::tickets::ticket_issuing;
use crate::store::money::payments::StoredPayment;
use crate::store::money::refunds::{NewRefund, StoredRefund};
use crate::store::money::{payments, refunds};
use crate::store::order::order_status::OrderState;
use crate::store::order::orders;
use crate::store::sale::order_items;
use crate::store::tickets::issued_tickets;
use crate::store::{LockedEvent, Transaction};

/// Refunds tickets of an order, or an amount. Cancels the order with its last ticket. `refund_step` is the least amount
/// in minor units of a currency that the gateway refunds.
pub(crate) fn refund(
    tx: &LockedEvent<'_>,
    operation: &IdempotentOperation,
    caller: Identity,
    id: OrderId,
    request: &Request<RefundOrder>,
    terms: &RefundTerms,
    refund_step: &dyn Fn(&str) -> i64,
) -> Result<Decided<RefundOrderResponse>> {
    if let PriorOutcome::Result(response) = operation.prior_outcome(tx)? {
        return Ok(Decided { response: Replayable::replayed(response), due: None });
    }
    let organization = caller.organization;
    let state = order_lifecycle::load(tx, organization, id)?;
    let payment = refund_lifecycle::payment_of_order(tx, id)?;
    let by_gateway = payment.as_ref().is_some_and(|payment| terms.asks(payment));
    let step = if by_gateway { refund_step(&state.currency) } else { 1 };
    let part = choose(tx, &state, request, step)?;

    let requires_manual_refund = part.amount > 0 && !by_gateway;
    let cancels = !part.tickets.is_empty();
    let mut cancelled = Vec::new();
    for ticket in part.tickets {
        cancelled.extend(issued_tickets::cancel(tx, organization, ticket)?);
    }
    if !cancelled.is_empty() {
        ticket_issuing::restock(tx, organization, state.event, cancelled)?;
    }
    if part.is_last && state.status == OrderStatus::Completed {
        order_lifecycle::end(tx, &state, requires_manual_refund)?;
    } else if cancels {
        mail_causes::order_tickets_cancelled(tx, (&state).into())?;
    }
    let mut refund_id = None;
    let mut due = None;
    if part.amount > 0 {
        let decided = NewRefund {
            reason: request.body.reason.as_deref(),
            by_gateway,
            decided_by: caller.key,
            ..NewRefund::new(RefundSource::Order, part.amount)
        };
        let nothing_paid = || {
            let detail = "nothing was paid for the order";
            Error::conflict(Reason::RefundExceedsPayment, detail)
        };
        let mut account = Account::load(tx, payment.ok_or_else(nothing_paid)?)?;
        let decided = account.decide(&decided)?;
        refund_id = Some(decided);
        due = account.follow()?;
        if !cancels {
            mail_causes::refunded(tx, (&state).into(), decided)?;
        }
    }
    let response = RefundOrderResponse {
        order: orders::get(tx, organization, id)?,
        amount: Amount::in_currency(part.amount, decimals_of_stored(&state.currency)?),
        refund_id,
        requires_manual_refund,
    };
    operation.store_result(tx, &response)?;
    Ok(Decided { response: Replayable::executed(response), due })
}

/// The part of an order that is refunded.
struct Part {
    tickets: Vec<TicketId>,
    /// In minor units.
    amount: i64,
    /// Whether no other ticket of the order is left.
    is_last: bool,
}

/// Checks a request, and returns the part of the order that it names.
fn choose(tx: &Transaction<'_>, state: &OrderState, request: &Request<RefundOrder>, step: i64) -> Result<Part> {
    let mut errors = request.errors.clone();
    let decimals = decimals_of_stored(&state.currency)?;
    let amount = request.body.amount.and_then(|amount| amount.minor_with(decimals.get())).unwrap_or(0);
    if errors.is_empty() {
        check_parts(&request.body, &mut errors);
        if let Some(requested) = request.body.amount {
            check_total(&mut errors, "amount", requested, decimals);
            check_step(amount, step, decimals, &mut errors);
        }
    }
    let part = match &request.body.tickets {
        Some(chosen) => choose_tickets(tx, state, chosen, step, &mut errors)?,
        None => Some(Part { tickets: Vec::new(), amount, is_last: false }),
    };
    errors.into_result()?;
    part.ok_or_else(|| Error::conflict(Reason::TicketCancelled, "a ticket of the request is already cancelled"))
}

/// Adds up the shares of tickets. Returns `None` if one of them is cancelled already.
fn choose_tickets(
    tx: &Transaction<'_>,
    state: &OrderState,
    chosen: &[TicketId],
    step: i64,
    errors: &mut FieldErrors,
) -> Result<Option<Part>> {
    let of_order = issued_tickets::of_order(tx, state.id)?;
    let items = order_items::of_orders(tx, &[state.id])?;
    let mut amount = 0_i64;
    let mut is_cancelled = false;
    for (position, id) in chosen.iter().enumerate() {
        let Some((item, ticket)) = of_order.iter().find(|(_, ticket)| ticket.id == *id) else {
            errors.add(format!("tickets[{position}]"), "must be a ticket of this order");
            continue;
        };
        is_cancelled |= ticket.status == TicketStatus::Cancelled;
        let mut of_item = of_order.iter().filter(|(of, _)| of == item);
        let index = of_item.position(|(_, ticket)| ticket.id == *id).unwrap_or(0);
        if let Some(item) = items.iter().find(|stored| stored.id == *item) {
            amount = amount.saturating_add(ticket_share(item.price, index, step));
        }
    }
    let is_left = |status| status != TicketStatus::Cancelled;
    let left = of_order.iter().filter(|(_, ticket)| is_left(ticket.status) && !chosen.contains(&ticket.id)).count();
    // Reports of scans lock tickets in this order too.
    let mut tickets = chosen.to_vec();
    tickets.sort_unstable();
    let part = Part { tickets, amount, is_last: left == 0 };
    Ok((!is_cancelled).then_some(part))
}

/// How often a gateway was asked for a refund.
pub(crate) struct AskedBefore {
    pub(crate) order: OrderId,
    pub(crate) attempts: i64,
    /// The payment, if the gateway may have made the refund and its answer was lost.
    pub(crate) payment: Option<StoredPayment>,
}

fn may_be_made(refund: &StoredRefund) -> bool {
    refund.attempts > 0 && refund.by_gateway && !refund.refused && refund.open() > 0
}

/// # Errors
/// - [`Reason::RefundInProgress`] while the gateway is asked for the refund.
pub(crate) fn asked_before(tx: &Transaction<'_>, organization: OrganizationId, id: RefundId) -> Result<AskedBefore> {
    let not_found = || Error::NotFound(ResourceKind::Refund);
    let order = refunds::order_of(tx, organization, id)?.ok_or_else(not_found)?;
    let refund = refunds::find(tx, order, id)?.ok_or_else(not_found)?;
    let payment = payments::get(tx, refund.payment)?;
    refund_lifecycle::check_not_asking(tx, &payment, id)?;
    Ok(AskedBefore { order, attempts: refund.attempts, payment: may_be_made(&refund).then_some(payment) })
}

/// Withdraws what is still due of a refund, for which the gateway was asked as often as was looked up.
pub(crate) fn withdraw(tx: &LockedEvent<'_>, order: OrderId, id: RefundId, attempts: i64) -> Result<()> {
    let refund = refunds::find(tx, order, id)?.ok_or(Error::NotFound(ResourceKind::Refund))?;
    let mut account = Account::load(tx, payments::get(tx, refund.payment)?)?;
    if refund.attempts != attempts && may_be_made(&refund) {
        let detail = "the payment gateway was just asked for the refund";
        return Err(Error::conflict(Reason::RefundInProgress, detail));
    }
    account.withdraw(id)?;
    account.follow().map(drop)
}
