//! The steps of a maintenance run. Each one works in batches, and looks between two of them whether it should stop.

use std::time::Duration;

use super::TicketingService;
use super::checkout_attempts::CheckoutProgress;
use super::refunds::RefundOutcome;
use super::skipped_rows::SkippedTable;
use crate::error::{Error, Result};
use crate::model::checkout::CheckoutStatus;
use crate::model::id::{EventId, WebhookId};
use crate::model::maintenance::MaintenanceReport;
use crate::payment::GatewayCalls;
use crate::sales::checkout_attempts::claim_all;
use crate::sales::{EachRow, each_row, holds, order_lifecycle};
use crate::store::checkout_attempts::{self, DueCheckout};
use crate::store::event_cancellations::OrderToCancel;
use crate::store::order_status::{self, ExpiredHold};
use crate::store::refunds::DueRefund;
use crate::store::{
    Transaction, event_cancellations, events, handler_queue, idempotency_records, refunds, webhook_removals,
    webhook_retention,
};

/// How many orders or events are expired in one transaction, and fewer if they have many items. Other writes wait at most
/// for one such transaction.
const BATCH: i64 = 200;

/// How many checkouts the gateway is asked about in one run.
const CHECKOUTS_PER_RUN: usize = 100;

/// After which time a run asks about no more checkouts.
const CHECKOUT_TIME: Duration = Duration::from_secs(1);

/// How long a process has for asking about a checkout, after the timeouts of the calls.
const TIME_TO_RECORD: Duration = Duration::from_mins(1);

/// How many refunds are attempted in one run.
const REFUNDS_PER_RUN: i64 = 100;

/// After which time a run attempts no more refunds: a slow gateway must not delay the other steps for long.
const REFUND_TIME: Duration = Duration::from_secs(1);

/// A run of the maintenance.
pub(super) struct Run<'r> {
    stop: &'r dyn Fn() -> bool,
    pub(super) report: MaintenanceReport,
}

impl<'r> Run<'r> {
    /// A run that ends when `stop` returns `true`.
    pub(super) fn new(stop: &'r dyn Fn() -> bool) -> Self {
        Self { stop, report: MaintenanceReport::default() }
    }

    pub(super) fn stops(&self) -> bool {
        (self.stop)()
    }
}

type StepFunction = fn(&TicketingService, &mut Run<'_>) -> Result<()>;

/// A step of the maintenance.
pub(super) struct Step {
    run: StepFunction,
    /// Whether it decides by the time what it changes for good.
    acts_on_time: bool,
}

impl Step {
    const fn new(run: StepFunction) -> Self {
        Self { run, acts_on_time: false }
    }

    const fn on_time(run: StepFunction) -> Self {
        Self { run, acts_on_time: true }
    }

    /// Runs the step, unless it acts on the time and the clock is in doubt.
    pub(super) fn run(&self, service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
        if self.acts_on_time && !service.believes_clock()? {
            run.report.held_back = true;
            return Ok(());
        }
        (self.run)(service, run)
    }
}

/// The steps, in this order.
pub(super) const STEPS: [Step; 9] = [
    Step::on_time(expire_orders),
    Step::on_time(expire_events),
    Step::new(cancel_orders),
    Step::new(|service, _| service.store_key_uses()),
    Step::new(|service, _| service.read_suspended_organizations()),
    Step::on_time(delete_idempotency_keys),
    Step::on_time(delete_deliveries),
    Step::on_time(delete_notifications),
    Step::new(remove_notifications),
];

/// The steps that wait for the payment gateway.
pub(super) const CHECKOUT_STEPS: [Step; 1] = [Step::new(attempt_checkouts)];
pub(super) const REFUND_STEPS: [Step; 1] = [Step::new(attempt_refunds)];

/// Rows that are read and changed in batches.
struct Batches<R, F> {
    table: SkippedTable,
    /// The next rows after a row. Usually there are none: a read finds that out without waiting for the writer.
    read: F,
    change: fn(&Transaction<'_>, &[R]) -> Result<EachRow<R>>,
    /// The primary key of a row.
    key: fn(&R) -> i64,
}

/// Changes all rows, and adds the number of those that were changed to `changed`. Rows that cannot be processed are
/// skipped.
fn in_batches<R, F>(
    service: &TicketingService,
    run: &mut Run<'_>,
    batches: &Batches<R, F>,
    changed: fn(&mut MaintenanceReport) -> &mut usize,
) -> Result<()>
where
    R: Copy + Send + Sync + 'static,
    F: Fn(&Transaction<'_>, Option<R>, i64) -> Result<Vec<R>>,
{
    let mut after = None;
    while !run.stops() {
        let rows = service.store().read(|tx| (batches.read)(tx, after, BATCH))?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = Some(*last);
        let mut pending: Vec<R> =
            rows.into_iter().filter(|row| !service.is_skipped(batches.table, (batches.key)(row))).collect();
        while !pending.is_empty() && !run.stops() {
            let change = batches.change;
            let batch = service.store().write(move |tx| change(tx, &pending))?;
            *changed(&mut run.report) += batch.changed;
            for skipped in batch.skipped {
                run.skip(service, batches.table, (batches.key)(&skipped.row), &skipped.error);
            }
            pending = batch.remaining;
        }
    }
    Ok(())
}

impl Run<'_> {
    fn skip(&mut self, service: &TicketingService, table: SkippedTable, key: i64, error: &Error) {
        self.report.skipped_rows += 1;
        service.skip_row(table, key, error);
    }
}

fn expire_orders(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: order_status::expired_holds,
        change: holds::expire_all,
        key: |hold: &ExpiredHold| hold.order.raw(),
    };
    in_batches(service, run, &batches, |report| &mut report.expired_orders)
}

fn expire_events(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Events,
        read: events::over,
        change: |tx, over| each_row(tx, over, |tx, event: events::OverEvent| events::expire(tx, event.id)),
        key: |event| event.id.raw(),
    };
    in_batches(service, run, &batches, |report| &mut report.expired_events)
}

fn cancel_orders(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let mut event = EventId::UNKNOWN;
    while !run.stops()
        && let Some(next) = service.store().read(|tx| event_cancellations::next(tx, event))?
    {
        event = next;
        cancel_orders_of(service, run, event)?;
    }
    Ok(())
}

/// Cancels the pending orders of a cancelled event. No new ones are created.
pub(super) fn cancel_orders_of(service: &TicketingService, run: &mut Run<'_>, event: EventId) -> Result<()> {
    let batches = Batches {
        table: SkippedTable::Orders,
        read: |tx: &Transaction<'_>, after, limit| event_cancellations::pending(tx, event, after, limit),
        change: order_lifecycle::cancel_of_cancelled_event,
        key: |order: &OrderToCancel| order.order.raw(),
    };
    in_batches(service, run, &batches, |report| &mut report.cancelled_orders)?;
    // None is left if the run does not stop and none was skipped.
    let is_finished = service.store().read(|tx| Ok(event_cancellations::pending(tx, event, None, 1)?.is_empty()))?;
    if is_finished {
        service.store().write(move |tx| event_cancellations::delete(tx, event))?;
    }
    Ok(())
}

fn delete_idempotency_keys(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    while !run.stops() && service.store().read(idempotency_records::any_expired)? {
        run.report.forgotten_keys += service.store().write(idempotency_records::delete_expired)?;
    }
    Ok(())
}

fn delete_deliveries(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    while !run.stops() && service.store().read(|tx| webhook_retention::any_old(tx, retention))? {
        run.report.forgotten_deliveries +=
            service.store().write(move |tx| webhook_retention::delete_old(tx, retention))?;
    }
    Ok(())
}

fn delete_notifications(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let retention = service.inner.webhook_retention;
    if service.store().read(|tx| handler_queue::any_old(tx, retention))? {
        // This process may have been suspended for long.
        service.register_handlers_again()?;
    }
    while !run.stops() && service.store().read(|tx| handler_queue::any_old(tx, retention))? {
        run.report.forgotten_notifications +=
            service.store().write(move |tx| handler_queue::delete_old(tx, retention))?;
    }
    Ok(())
}

/// Removes the queued notifications of webhook endpoints that were deleted or unsubscribed. The endpoints take turns.
fn remove_notifications(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let mut endpoint = WebhookId::UNKNOWN;
    let mut all_finished = true;
    while !run.stops() {
        match service.store().read_one(|tx| webhook_removals::next(tx, endpoint))? {
            Some(next) => {
                endpoint = next;
                if service.is_skipped(SkippedTable::WebhookEndpoints, next.raw()) {
                    continue;
                }
                match service.store().write(move |tx| webhook_removals::go_on(tx, next)) {
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

/// Closes the checkouts of orders that have ended, and then looks up those that are due.
fn attempt_checkouts(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    let Some(gateway) = &service.inner.gateway else { return Ok(()) };
    let monotonic = || service.inner.environment.clock.monotonic();
    let started = monotonic();
    let mut left = CHECKOUTS_PER_RUN;
    for status in [CheckoutStatus::Closing, CheckoutStatus::Open] {
        let mut after: Option<DueCheckout> = None;
        loop {
            let most = gateway.free_in_background().min(left);
            if most == 0 || run.stops() || monotonic().saturating_sub(started) > CHECKOUT_TIME {
                return Ok(());
            }
            let limit = i64::try_from(most).unwrap_or(i64::MAX);
            let due = service.store().read(|tx| checkout_attempts::due(tx, status, after, limit))?;
            let Some(last) = due.last() else { break };
            after = Some(*last);
            left -= due.len();
            if !service.attempt_due_checkouts(gateway, run, due)? {
                // The gateway would not answer the other requests either.
                return Ok(());
            }
        }
    }
    Ok(())
}

fn attempt_refunds(service: &TicketingService, run: &mut Run<'_>) -> Result<()> {
    if !service.can_refund() {
        return Ok(());
    }
    let monotonic = || service.inner.environment.clock.monotonic();
    let started = monotonic();
    let mut after: Option<DueRefund> = None;
    let mut attempts = 0;
    loop {
        let due = service.store().read(|tx| refunds::due(tx, after, REFUNDS_PER_RUN))?;
        let Some(last) = due.last() else { return Ok(()) };
        after = Some(*last);
        for refund in due {
            if service.is_skipped(SkippedTable::Refunds, refund.id.raw()) {
                continue;
            }
            if run.stops() || attempts == REFUNDS_PER_RUN || monotonic().saturating_sub(started) > REFUND_TIME {
                return Ok(());
            }
            attempts += 1;
            match service.attempt_refund(refund) {
                Ok(RefundOutcome::Answered) => run.report.answered_refunds += 1,
                Ok(RefundOutcome::NotDue) => {}
                // The gateway would not answer the other requests either.
                Ok(RefundOutcome::Unavailable) => return Ok(()),
                Err(error) if error.concerns_all_rows() => return Err(error),
                Err(error) => run.skip(service, SkippedTable::Refunds, refund.id.raw(), &error),
            }
        }
    }
}

impl TicketingService {
    /// Asks the gateway about these checkouts, at the same time. Returns whether it answered.
    fn attempt_due_checkouts(&self, gateway: &GatewayCalls, run: &mut Run<'_>, due: Vec<DueCheckout>) -> Result<bool> {
        let due: Vec<_> =
            due.into_iter().filter(|row| !self.is_skipped(SkippedTable::Checkouts, row.order.raw())).collect();
        if due.is_empty() {
            return Ok(true);
        }
        // A start, a close and a look-up.
        let claim = gateway.timeout().saturating_mul(3).saturating_add(TIME_TO_RECORD);
        let (rows, attempts) = self.store().write(move |tx| claim_all(tx, &due, claim))?;
        for skipped in rows.skipped {
            run.skip(self, SkippedTable::Checkouts, skipped.row.order.raw(), &skipped.error);
        }
        let results: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = attempts
                .iter()
                .map(|attempt| (attempt.order, scope.spawn(|| self.attempt_checkout(gateway, attempt))))
                .collect();
            calls.into_iter().map(|(order, call)| (order, call.join())).collect()
        });
        let mut is_available = true;
        for (order, result) in results {
            let result = result.unwrap_or_else(|_| Err(Error::Internal("an attempt panicked".to_owned())));
            match result {
                Ok(CheckoutProgress::Answered) => run.report.answered_checkouts += 1,
                Ok(CheckoutProgress::Unavailable) => is_available = false,
                Err(error) if error.concerns_all_rows() => return Err(error),
                Err(error) => run.skip(self, SkippedTable::Checkouts, order.raw(), &error),
            }
        }
        Ok(is_available)
    }

    /// Whether a row could not be processed within the last minute.
    fn is_skipped(&self, table: SkippedTable, key: i64) -> bool {
        self.inner.skipped_rows.contains(table, key, self.inner.environment.clock.monotonic())
    }

    /// Counts and logs a row that could not be processed, and skips it for a minute.
    pub(super) fn skip_row(&self, table: SkippedTable, key: i64, error: &Error) {
        self.store_in_operation().counters().row_skipped();
        if self.inner.skipped_rows.add(table, key, self.inner.environment.clock.monotonic()) {
            tracing::error!(
                target: "ticketing::maintenance",
                table = table.name(),
                row = key,
                %error,
                "a row cannot be processed and is skipped; a check shows what is wrong. Further rows of this table are \
                 not logged for an hour"
            );
        }
    }
}
