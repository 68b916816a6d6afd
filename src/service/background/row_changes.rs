//! The work that changes many rows, in batches: a kind for the pending orders of a cancelled event, one for its completed
//! orders, one for the queued notifications of an endpoint that was deleted or unsubscribed, and one for the tickets of
//! allocations.

use std::sync::Arc;
use std::time::Duration;

use super::allocation_changes::change_allocation;
use crate::error::Result;
use crate::model::operation::maintenance::MaintenanceReport;
use crate::model::values::id::EventId;
use crate::sales::orders::{cancellation_runs as run_of_event, order_lifecycle};
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::store::sale::cancellation_runs;
use crate::store::sale::event_cancellations::{self, OrderToCancel};
use crate::store::tickets::allocations;
use crate::store::webhooks::webhook_removals;
use crate::store::work::ClaimedWork;
use crate::store::{LockedEvent, Transaction};
use crate::work::queues::{Counts, Kind, Outcome, Queue, Queues, Room, Schedule};
use crate::write::batches::{Batches, Run, in_batches};
use crate::write::skipped_rows::SkippedTable;

/// After which time an attempt begins no further batch, so that the next organization gets its turn.
const TIME_SLICE: Duration = Duration::from_millis(250);

/// When rows are tried again that could not be processed.
const SKIPPED_PAUSE: Duration = Duration::from_mins(1);

/// Changes rows. Returns how many, and after which time it is to be continued.
type Change = fn(&TicketingService, &mut Run<'_>, &ClaimedWork) -> Result<(usize, Option<Duration>)>;

/// How many completed orders are looked for at once.
const ORDERS_AT_ONCE: i64 = 200;

const CHANGES: [(&str, Change); 4] = [
    (event_cancellations::KIND, |service, run, claimed| {
        cancel_orders(service, run, EventId::from_raw(claimed.work.key.unwrap_or_default()))
    }),
    (cancellation_runs::KIND, cancel_completed_orders),
    (webhook_removals::KIND, remove_notifications),
    (allocations::KIND, change_allocation),
];

impl TicketingService {
    pub(in crate::service) fn row_queues(&self) -> &Queues {
        self.inner.row_queues.get_or_init(|| {
            let queue =
                |(name, change)| Arc::new(Queue::new(Box::new(RowChanges { name, change, service: self.downgrade() })));
            CHANGES.into_iter().map(queue).collect()
        })
    }
}

struct RowChanges {
    name: &'static str,
    change: Change,
    service: WeakTicketingService,
}

impl Kind for RowChanges {
    fn name(&self) -> &str {
        self.name
    }

    fn schedule(&self) -> Schedule {
        Schedule { lease: webhook_removals::CLAIM, max_attempts: i64::MAX, latest_due: SKIPPED_PAUSE * 2 }
    }

    fn room(&self) -> Room {
        Room { attempts: 1, of_organization: 1 }
    }

    fn count(&self, report: &mut MaintenanceReport, changed: usize) {
        if [event_cancellations::KIND, cancellation_runs::KIND].contains(&self.name) {
            report.cancelled_orders += changed;
        }
        if self.name == allocations::KIND {
            report.allocated_tickets += changed;
        }
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        let clock = &service.inner.environment.clock;
        let started = clock.monotonic();
        let stops = || service.writes().is_closing() || clock.monotonic().saturating_sub(started) > TIME_SLICE;
        let mut run = Run::new(&stops).of(claimed.work.organization_id);
        match (self.change)(&service, &mut run, claimed) {
            Ok((changed, again)) => {
                let counts = Counts { answered: changed, skipped: run.report.skipped_rows };
                Outcome::Part { counts, again }
            }
            Err(error) if error.concerns_all_rows() => Outcome::Interrupted(error),
            Err(error) => Outcome::Damaged(error),
        }
    }
}

/// Cancels the pending orders of a cancelled event. No new ones are created.
pub(in crate::service) fn cancel_orders(
    service: &TicketingService,
    run: &mut Run<'_>,
    event: EventId,
) -> Result<(usize, Option<Duration>)> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: |tx: &Transaction<'_>, after, limit| event_cancellations::pending(tx, event, after, limit),
        change: order_lifecycle::cancel_of_cancelled_event,
        key: |order: &OrderToCancel| order.order.raw(),
        event: |order| order.event,
    };
    let changed = in_batches(service.writes(), run, &batches)?;
    let left = service.store()?.read(|tx| event_cancellations::pending(tx, event, None, 1))?;
    let is_skipped =
        |order: &OrderToCancel| service.writes().is_skipped(SkippedTable::Orders, order.order.raw()) && !run.stops();
    let again = left.first().map(|order| if is_skipped(order) { SKIPPED_PAUSE } else { Duration::ZERO });
    Ok((changed, again))
}

/// Cancels the completed orders of a cancelled event, as its run says.
fn cancel_completed_orders(
    service: &TicketingService,
    run: &mut Run<'_>,
    claimed: &ClaimedWork,
) -> Result<(usize, Option<Duration>)> {
    let event = EventId::from_raw(claimed.work.key.unwrap_or_default());
    let mut changed = 0;
    while !run.stops() {
        let Some(running) = service.store()?.read(|tx| cancellation_runs::running(tx, event))? else {
            return Ok((changed, None));
        };
        let (id, after) = (running.id, running.last_order);
        let mut orders =
            service.store()?.read(|tx| cancellation_runs::completed_orders(tx, event, after, ORDERS_AT_ONCE))?;
        if orders.is_empty() {
            let end = move |tx: &LockedEvent<'_>| run_of_event::end(tx, id);
            let ended = service.store()?.write_unless_locked(run.tenant, event.into(), end)?;
            return Ok((changed, ended.is_none().then_some(Duration::ZERO)));
        }
        while !orders.is_empty() && !run.stops() {
            let terms = service.payments().refund_terms();
            let cancel = move |tx: &LockedEvent<'_>| run_of_event::cancel_batch(tx, id, event, &orders, &terms);
            let Some(batch) = service.store()?.write_unless_locked(run.tenant, event.into(), cancel)? else {
                return Ok((changed, Some(Duration::ZERO)));
            };
            changed += batch.changed;
            for failed in &batch.skipped {
                run.skip(service.writes(), SkippedTable::Orders, failed.row.id.raw(), &failed.error);
            }
            orders = batch.remaining;
        }
    }
    Ok((changed, Some(Duration::ZERO)))
}

/// Removes the notifications of an endpoint that it is no longer to get.
fn remove_notifications(
    service: &TicketingService,
    run: &mut Run<'_>,
    claimed: &ClaimedWork,
) -> Result<(usize, Option<Duration>)> {
    let mut batches = 0;
    let mut is_finished = false;
    while !is_finished && !run.stops() {
        let claimed = claimed.clone();
        is_finished = service.store()?.write(run.tenant, move |tx| webhook_removals::go_on(tx, &claimed))?;
        batches += 1;
    }
    Ok((batches, (!is_finished).then_some(Duration::ZERO)))
}
