//! Runs that cancel the completed orders of a cancelled event. What is still to be done is
//! [work](crate::store::work), and the row says how far it is.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::cancellation_run::{
    CancelEventOrders, CancellationRun, CancellationRunState, FailedCancellation,
};
use crate::model::tenants::caller::Identity;
use crate::model::values::id::{ApiKeyId, CancellationRunId, EventId, OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::store::columns::{json, row_struct};
use crate::store::{LockedEvent, Row, Transaction};

/// The kind of work that cancels the completed orders of an event.
pub(crate) const KIND: &str = "cancel completed orders";

const INSERT: &str =
    "INSERT INTO cancellation_runs (id, organization_id, event_id, refund, reason, decided_by, started_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
/// The newest run of an event. The refunds that it has decided are counted by their state now.
pub(in crate::store) const NEWEST: &str =
    "SELECT r.id, r.event_id, r.refund, r.reason, r.cancelled, r.failed, r.failures, r.started_at, r.ended_at,
        (SELECT CAST(COALESCE(SUM(t.completed_orders), 0) AS BIGINT) FROM ticket_types t WHERE t.event_id = r.event_id)
            AS completed,
        (SELECT COUNT(*) FROM refunds f WHERE f.cancellation_run_id = r.id AND f.status = 'DUE' AND f.owed = 0) AS due,
        (SELECT COUNT(*) FROM refunds f WHERE f.cancellation_run_id = r.id AND f.status = 'DONE') AS done,
        (SELECT COUNT(*) FROM refunds f WHERE f.cancellation_run_id = r.id AND f.owed > 0) AS manual
    FROM cancellation_runs r WHERE r.event_id = ?1 AND r.organization_id = ?2 ORDER BY r.id DESC LIMIT 1";
pub(in crate::store) const RUNNING: &str = "SELECT id, refund, reason, decided_by, last_order, failures
    FROM cancellation_runs WHERE event_id = ?1 AND ended_at IS NULL ORDER BY id DESC LIMIT 1";
pub(in crate::store) const COMPLETED: &str = "SELECT id, organization_id, event_id FROM orders
    WHERE event_id = ?1 AND status = 'COMPLETED' AND id > ?2 ORDER BY id LIMIT ?3";
const ADVANCE: &str = "UPDATE cancellation_runs SET last_order = ?2, cancelled = cancelled + ?3, failed = failed + ?4,
        failures = ?5
    WHERE id = ?1";
const END: &str = "UPDATE cancellation_runs SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL";

row_struct! {
    /// A run that goes on.
    pub(crate) struct RunningCancellation(row) {
        pub(crate) id: CancellationRunId,
        pub(crate) refund: bool,
        pub(crate) reason: Option<String>,
        pub(crate) decided_by: Option<ApiKeyId>,
        /// The last order that was cancelled or has failed.
        pub(crate) last_order: OrderId,
        pub(crate) failures: Vec<FailedCancellation> = row.json("failures")?,
    }
}

row_struct! {
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct CompletedOrder(row) {
        pub(crate) id: OrderId,
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) event: EventId => event_id,
    }
}

fn decode(row: &Row<'_>) -> Result<CancellationRun> {
    let ended_at: Option<Timestamp> = row.get("ended_at")?;
    let (cancelled, failed): (i64, i64) = (row.get("cancelled")?, row.get("failed")?);
    // Orders that have failed are still COMPLETED.
    let found = match ended_at {
        None => failed.max(row.get("completed")?),
        Some(_) => failed,
    };
    Ok(CancellationRun {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        state: if ended_at.is_none() { CancellationRunState::Running } else { CancellationRunState::Done },
        refund: row.get("refund")?,
        reason: row.get("reason")?,
        orders: cancelled.saturating_add(found),
        cancelled,
        refunds_due: row.get("due")?,
        refunds_done: row.get("done")?,
        manual: row.get("manual")?,
        failed,
        failures: row.json("failures")?,
        started_at: row.get("started_at")?,
        ended_at,
        already_running: false,
    })
}

pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    caller: Identity,
    event: EventId,
    request: &Checked<CancelEventOrders>,
) -> Result<CancellationRunId> {
    let binds = [
        caller.organization.into(),
        event.into(),
        request.refund.unwrap_or(true).into(),
        request.reason.as_ref().into(),
        caller.key.into(),
        tx.now().into(),
    ];
    tx.insert(INSERT, &binds)
}

/// The newest run of an event; `None` if there was none.
pub(crate) fn newest(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
) -> Result<Option<CancellationRun>> {
    tx.query_opt(NEWEST, &[event.into(), organization.into()], decode)
}

/// The newest run of an event, like [`newest`].
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, event: EventId) -> Result<CancellationRun> {
    newest(tx, organization, event)?.ok_or(Error::NotFound(ResourceKind::CancellationRun))
}

/// The run of an event that has not ended.
pub(crate) fn running(tx: &Transaction<'_>, event: EventId) -> Result<Option<RunningCancellation>> {
    tx.query_opt(RUNNING, &[event.into()], RunningCancellation::read)
}

/// Up to `limit` completed orders of an event after `after`, by id. A cancelled event gets no new ones.
pub(crate) fn completed_orders(
    tx: &Transaction<'_>,
    event: EventId,
    after: OrderId,
    limit: i64,
) -> Result<Vec<CompletedOrder>> {
    tx.query_all(COMPLETED, &[event.into(), after.into(), limit.into()], CompletedOrder::read)
}

/// Records how far a run is: the last order, how many orders it has cancelled since it was recorded, how many have failed
/// since, and which have failed first.
pub(crate) fn advance(
    tx: &LockedEvent<'_>,
    id: CancellationRunId,
    last_order: OrderId,
    (cancelled, failed): (usize, usize),
    failures: &[FailedCancellation],
) -> Result<()> {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let binds = [id.into(), last_order.into(), count(cancelled).into(), count(failed).into(), json(&failures)?.into()];
    tx.execute(ADVANCE, &binds)
}

/// Ends a run, which has no orders left.
pub(crate) fn end(tx: &LockedEvent<'_>, id: CancellationRunId) -> Result<()> {
    tx.execute(END, &[id.into(), tx.now().into()])
}
