//! The steps of a maintenance run. Each one works in batches, and looks between two of them whether it should stop.

use std::collections::BTreeMap;

use super::ticketing_service::TicketingService;
use crate::error::{Error, Result};
use crate::fair::Tenant;
use crate::model::operation::maintenance::MaintenanceReport;
use crate::model::values::id::{EventId, OrganizationId, WebhookId};
use crate::sales::EachRow;
use crate::sales::catalog::event_changes;
use crate::sales::catalog::holds;
use crate::sales::orders::order_lifecycle;
use crate::store::Transaction;
use crate::store::order::order_status::{self, ExpiredHold};
use crate::store::sale::event_cancellations::OrderToCancel;
use crate::store::sale::{event_cancellations, events};
use crate::store::tenants::idempotency_records;
use crate::store::webhooks::webhook_retention::Deleted;
use crate::store::webhooks::{handler_queue, webhook_removals, webhook_retention};
use crate::write::skipped_rows::SkippedTable;

/// How many orders or events are expired in one transaction, and fewer if they have many items. Other writes wait at
/// most for one such transaction.
const BATCH: i64 = 200;

/// A run of the maintenance, or a part of its work that a request does.
pub(in crate::service) struct Run<'r> {
    /// In whose turn it writes: that of the organization of the request.
    tenant: Tenant,
    stop: &'r dyn Fn() -> bool,
    pub(in crate::service) report: MaintenanceReport,
    /// Whether a step ended although it has more to do now.
    pub(in crate::service) has_more: bool,
}

impl<'r> Run<'r> {
    /// A run that ends when `stop` returns `true`.
    pub(in crate::service) fn new(stop: &'r dyn Fn() -> bool) -> Self {
        Self { tenant: None, stop, report: MaintenanceReport::default(), has_more: false }
    }

    /// The same for a request of this organization.
    pub(in crate::service) fn of(self, organization: OrganizationId) -> Self {
        Self { tenant: Some(organization), ..self }
    }

    pub(in crate::service) fn stops(&self) -> bool {
        (self.stop)()
    }
}

pub(in crate::service) type StepFunction = fn(&TicketingService, &mut Run<'_>) -> Result<()>;

/// A step of the maintenance.
pub(in crate::service) struct Step {
    run: StepFunction,
    /// Whether it decides by the time what it changes for good.
    acts_on_time: bool,
}

impl Step {
    pub(in crate::service) const fn new(run: StepFunction) -> Self {
        Self { run, acts_on_time: false }
    }

    const fn on_time(run: StepFunction) -> Self {
        Self { run, acts_on_time: true }
    }

    /// Runs the step, unless it acts on the time and the clock is in doubt.
    pub(in crate::service) fn run(&self, service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
        if self.acts_on_time && !service.believes_clock()? {
            run.report.held_back = true;
            return Ok(());
        }
        (self.run)(service, run)
    }
}

/// The steps, in this order.
pub(in crate::service) const STEPS: [Step; 12] = [
    // First: what it depends on is when another program has acted on the time, and the next steps act on it.
    Step::new(TicketingService::look_up_after_downtime),
    Step::on_time(expire_orders),
    Step::on_time(expire_events),
    Step::new(cancel_orders),
    Step::new(|service, run| service.inner.store_key_uses(&|| run.stops())),
    Step::new(|service, _| service.read_suspended_organizations()),
    Step::on_time(delete_idempotency_keys),
    Step::on_time(delete_deliveries),
    Step::on_time(delete_notifications),
    Step::new(remove_notifications),
    Step::new(|service, _| service.store()?.delete_expired()),
    // Last: it may wait for many events.
    Step::new(|service, run| service.inner.store_page_views(&|| run.stops())),
];

/// Rows that are read and changed in batches.
pub(in crate::service) struct Batches<R, F> {
    pub(in crate::service) table: SkippedTable,
    /// The next rows after a row. Usually there are none: a read finds that out without waiting for the writer.
    pub(in crate::service) read: F,
    pub(in crate::service) change: fn(&Transaction<'_>, &[R]) -> Result<EachRow<R>>,
    /// The primary key of a row.
    pub(in crate::service) key: fn(&R) -> i64,
    /// The event whose sale a row is of.
    pub(in crate::service) event: fn(&R) -> EventId,
}

/// Changes all rows, and returns the number of those that were changed. Rows that cannot be processed are skipped.
/// Those of an event that other transactions keep locked are left to the next run.
pub(in crate::service) fn in_batches<R, F>(
    service: &TicketingService,
    run: &mut Run<'_>,
    batches: &Batches<R, F>,
) -> Result<usize>
where
    R: Copy + Send + Sync + 'static,
    F: Fn(&Transaction<'_>, Option<R>, i64) -> Result<Vec<R>>,
{
    let mut changed = 0;
    let mut after = None;
    while !run.stops() {
        let rows = service.store()?.read(|tx| (batches.read)(tx, after, BATCH))?;
        let Some(last) = rows.last() else { break };
        after = Some(*last);
        let rows: Vec<R> =
            rows.into_iter().filter(|row| !service.writes().is_skipped(batches.table, (batches.key)(row))).collect();
        for mut pending in service.by_transaction(rows, batches.event) {
            while let Some(first) = pending.first()
                && !run.stops()
            {
                let event = (batches.event)(first);
                let change = batches.change;
                let batch =
                    service.store()?.write_unless_locked(run.tenant, event.into(), move |tx| change(tx, &pending))?;
                let Some(batch) = batch else { break };
                changed += batch.changed;
                for skipped in batch.skipped {
                    run.skip(service, batches.table, (batches.key)(&skipped.row), &skipped.error);
                }
                pending = batch.remaining;
            }
        }
    }
    Ok(changed)
}

impl Run<'_> {
    pub(in crate::service) fn skip(
        &mut self,
        service: &TicketingService,
        table: SkippedTable,
        key: i64,
        error: &Error,
    ) {
        self.report.skipped_rows += 1;
        service.writes().skip_row(table, key, error);
    }
}

fn expire_orders(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: order_status::expired_holds,
        change: holds::expire_all,
        key: |hold: &ExpiredHold| hold.order.raw(),
        event: |hold| hold.event,
    };
    run.report.expired_orders += in_batches(service, run, &batches)?;
    Ok(())
}

fn expire_events(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Events,
        read: events::over,
        change: event_changes::expire_all,
        key: |event| event.id.raw(),
        event: |event| event.id,
    };
    run.report.expired_events += in_batches(service, run, &batches)?;
    Ok(())
}

fn cancel_orders(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let mut event = EventId::UNKNOWN;
    while !run.stops()
        && let Some(next) = service.store()?.read(|tx| event_cancellations::next(tx, event))?
    {
        event = next;
        cancel_orders_of(service, run, event)?;
    }
    Ok(())
}

/// Cancels the pending orders of a cancelled event. No new ones are created.
pub(in crate::service) fn cancel_orders_of(
    service: &TicketingService,
    run: &mut Run<'_>,
    event: EventId,
) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: |tx: &Transaction<'_>, after, limit| event_cancellations::pending(tx, event, after, limit),
        change: order_lifecycle::cancel_of_cancelled_event,
        key: |order: &OrderToCancel| order.order.raw(),
        event: |order| order.event,
    };
    run.report.cancelled_orders += in_batches(service, run, &batches)?;
    // None is left if the run does not stop and none was skipped.
    let is_finished = service.store()?.read(|tx| Ok(event_cancellations::pending(tx, event, None, 1)?.is_empty()))?;
    if is_finished {
        service.store()?.write(run.tenant, move |tx| event_cancellations::delete(tx, event))?;
    }
    Ok(())
}

// The following steps end when a batch was empty: another process deletes, or what is old for the clock of this process
// is not for that of the database.

fn delete_idempotency_keys(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    while !run.stops() && service.store()?.read(idempotency_records::any_expired)? {
        let deleted = service.store()?.write(None, idempotency_records::delete_expired)?;
        if deleted == 0 {
            break;
        }
        run.report.forgotten_keys += deleted;
    }
    Ok(())
}

fn delete_deliveries(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    while !run.stops() && service.store()?.read(|tx| webhook_retention::any_old(tx, retention))? {
        let deleted = service.store()?.write(None, move |tx| webhook_retention::delete_old(tx, retention))?;
        if deleted == Deleted::default() {
            break;
        }
        run.report.forgotten_deliveries += deleted.attempts;
    }
    Ok(())
}

fn delete_notifications(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    if service.store()?.read(|tx| handler_queue::any_old(tx, retention))? {
        // This process may have been suspended for long.
        service.register_handlers()?;
    }
    while !run.stops() && service.store()?.read(|tx| handler_queue::any_old(tx, retention))? {
        let deleted = service.store()?.write(None, move |tx| handler_queue::delete_old(tx, retention))?;
        if deleted == 0 {
            break;
        }
        run.report.forgotten_notifications += deleted;
    }
    Ok(())
}

/// Removes the queued notifications of webhook endpoints that were deleted or unsubscribed. The endpoints take turns.
fn remove_notifications(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let mut endpoint = WebhookId::UNKNOWN;
    let mut all_finished = true;
    while !run.stops() {
        match service.store()?.read_one(|tx| webhook_removals::next(tx, endpoint))? {
            Some(next) => {
                endpoint = next;
                if service.writes().is_skipped(SkippedTable::WebhookEndpoints, next.raw()) {
                    continue;
                }
                match service.store()?.write(None, move |tx| webhook_removals::go_on(tx, next)) {
                    Ok(finished) => all_finished &= finished,
                    Err(error) if error.concerns_all_rows() => return Err(error),
                    Err(error) => run.skip(service, SkippedTable::WebhookEndpoints, next.raw(), &error),
                }
            }
            None if all_finished => return Ok(()),
            None => (endpoint, all_finished) = (WebhookId::UNKNOWN, true),
        }
    }
    Ok(())
}

impl TicketingService {
    /// Divides rows into those that one transaction changes: those of one event, if a transaction locks it.
    pub(in crate::service) fn by_transaction<R>(&self, rows: Vec<R>, event: impl Fn(&R) -> EventId) -> Vec<Vec<R>> {
        if !self.store_in_operation().locks_events() {
            return vec![rows];
        }
        let mut of_events = BTreeMap::<_, Vec<R>>::new();
        for row in rows {
            of_events.entry(event(&row)).or_default().push(row);
        }
        of_events.into_values().collect()
    }
}
