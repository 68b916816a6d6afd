//! Cancels the completed orders of a cancelled event, in batches. Each order is cancelled as a single one is, with its
//! refund, its notifications and its seats.

use super::order_lifecycle::{self, Cancellation};
use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::model::sale::cancellation_run::{
    CancelEventOrders, CancellationRun, CancellationRunState, FailedCancellation, NAMED_FAILURES,
};
use crate::model::sale::event::EventStatus;
use crate::model::tenants::caller::Identity;
use crate::model::values::id::{CancellationRunId, EventId};
use crate::rules::checked;
use crate::sales::each_row::{EachRow, each_row};
use crate::sales::money::refund_lifecycle::RefundTerms;
use crate::store::LockedEvent;
use crate::store::sale::cancellation_runs::{self, CompletedOrder};
use crate::store::sale::events;
use crate::store::work::{self, KeyedWork};

/// Starts a run. If one is in progress, returns that one.
pub(crate) fn start(
    tx: &LockedEvent<'_>,
    caller: Identity,
    id: EventId,
    request: &Request<CancelEventOrders>,
) -> Result<CancellationRun> {
    let organization = caller.organization;
    let event = events::get(tx, organization, id)?;
    let request = checked(request.body.clone(), request.errors.clone())?;
    if event.status != EventStatus::Cancelled {
        let detail = format!("the event is {}: cancel it before its orders", event.status);
        return Err(Error::conflict(Reason::EventNotCancelled, detail));
    }
    if let Some(run) = cancellation_runs::newest(tx, organization, id)?
        && run.state == CancellationRunState::Running
    {
        return Ok(CancellationRun { already_running: true, ..run });
    }
    cancellation_runs::insert(tx, caller, id, &request)?;
    let cancel_orders = KeyedWork {
        kind: cancellation_runs::KIND,
        key: id.raw(),
        organization,
        event: Some(id),
        body: "",
        due_at: tx.now(),
    };
    work::set(tx, &cancel_orders)?;
    cancellation_runs::get(tx, organization, id)
}

/// Cancels orders of a run, by id, as many as one transaction may. Orders that could not be cancelled are counted, and
/// stay as they are. Another process may have cancelled some of them meanwhile.
pub(crate) fn cancel_batch(
    tx: &LockedEvent<'_>,
    id: CancellationRunId,
    event: EventId,
    orders: &[CompletedOrder],
    terms: &RefundTerms,
) -> Result<EachRow<CompletedOrder>> {
    let nothing = EachRow { changed: 0, remaining: Vec::new(), skipped: Vec::new() };
    let Some(mut run) = cancellation_runs::running(tx, event)?.filter(|run| run.id == id) else { return Ok(nothing) };
    let orders: Vec<_> = orders.iter().copied().filter(|order| order.id > run.last_order).collect();
    if orders.is_empty() {
        return Ok(nothing);
    }
    let cancellation = Cancellation {
        decided_by: run.decided_by,
        keeps_payment: !run.refund,
        reason: run.reason.as_deref(),
        run: Some(id),
    };
    let cancelled = each_row(
        tx,
        &orders,
        |order| order.event,
        |tx, order| order_lifecycle::cancel_completed(tx, order.organization, order.id, terms, &cancellation),
    )?;
    let done = orders.len() - cancelled.remaining.len();
    let last = orders[..done].last().map_or(run.last_order, |order| order.id);
    for failed in &cancelled.skipped {
        if run.failures.len() < NAMED_FAILURES {
            run.failures.push(FailedCancellation { order_id: failed.row.id, error: problem(&failed.error) });
        }
    }
    cancellation_runs::advance(tx, id, last, (cancelled.changed, cancelled.skipped.len()), &run.failures)?;
    Ok(cancelled)
}

/// Why an order could not be cancelled, for people. What is wrong with stored data is in the log.
fn problem(error: &Error) -> String {
    match error {
        Error::Conflict(conflict) => conflict.detail.clone(),
        _ => "its stored data are damaged: see the log of the service".to_owned(),
    }
}

/// Ends a run that has no orders left.
pub(crate) fn end(tx: &LockedEvent<'_>, id: CancellationRunId) -> Result<()> {
    cancellation_runs::end(tx, id)
}
