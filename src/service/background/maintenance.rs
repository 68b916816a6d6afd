//! Maintenance: periodic work in the background.
//!
//! Sales and check-in do not depend on it. An order is treated as expired as soon as its hold expires, and an event as
//! soon as it ends; maintenance only stores the new status.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::maintenance_steps::{GATEWAY_STEP, ROWS_STEP, STEPS, Step};
use crate::error::{Error, Result};
use crate::model::operation::maintenance::MaintenanceReport;
use crate::service::TicketingService;
use crate::work::background_threads::MaintenanceGuard;
use crate::work::{Queues, workers};
use crate::write::batches::Run;

/// How long a thread waits between two runs.
const PAUSE: Duration = Duration::from_secs(1);

/// After which time a run of the maintenance begins no more work of a queue.
const TIME_PER_QUEUE: Duration = Duration::from_secs(1);

/// # Maintenance
impl TicketingService {
    /// Runs the maintenance once, for all organizations:
    ///
    /// - marks orders whose hold has expired, and events that have ended, as expired;
    /// - cancels the pending orders of cancelled events that the program which cancelled the event did not get to;
    /// - removes the queued notifications of webhook endpoints that were deleted or unsubscribed, if there were many;
    /// - stores page views, and when API keys were last used;
    /// - deletes idempotency keys after 24 hours, and webhook deliveries after the
    ///   [retention](crate::Builder::webhook_retention);
    /// - closes the checkouts of orders that have ended, and looks up payments whose notice may be lost: also those of
    ///   checkouts that were open while no program was running the maintenance;
    /// - attempts refunds that are due, and asks the gateway 1, 7 and 30 days after it accepted one whether it has
    ///   failed.
    ///
    /// Each of these steps, and each row, is processed by itself: a row that cannot be read, or that contradicts other
    /// rows, is skipped and counted in the report. The rows of a step are processed in batches of up to 200 orders or
    /// events, fewer if the orders have many items, or of 1,000 deleted rows. Each batch is a transaction of its own,
    /// so that other writes wait only for one batch. On PostgreSQL, a batch has the orders of one event only, and an
    /// event that another session keeps locked for half a second is left to the next run.
    ///
    /// A clock that is wrong and far ahead would make all of this look old, and what expired cannot be taken back. So
    /// after the clock jumped forwards by more than an hour, or if the last run was more than an hour ago when the
    /// service was opened, runs expire and delete nothing for an hour: until the clock is back, or has gone on for an
    /// hour without another jump. Operations do not depend on it. A [`Clock`](crate::environment::Clock) that [is
    /// trusted](crate::environment::Clock::is_trusted), such as a `ManualClock`, is believed at once. A program that
    /// calls this method less than hourly, from a process that soon ends, needs such a clock.
    ///
    /// # Errors
    /// The first error of the [store](crate::Error::Store) with which a step failed as a whole. The other steps were
    /// run nevertheless, and what was done is kept.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert_eq!(service.run_maintenance()?.expired_orders, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_maintenance(&self) -> Result<MaintenanceReport> {
        let steps = STEPS.iter().chain([&ROWS_STEP, &GATEWAY_STEP]);
        let mut run = Run::new(&|| false);
        self.run_steps(steps, &mut run)?;
        Ok(run.report)
    }

    /// Runs these steps of the maintenance, or the part of them that is done when the run stops.
    fn run_steps<'s>(&self, steps: impl IntoIterator<Item = &'s Step>, run: &mut Run<'_>) -> Result<()> {
        let mut first_error = None;
        for step in steps {
            if run.stops() {
                break;
            }
            // A panic in the clock or another part of the program must not keep the next steps from running.
            let result = catch_unwind(AssertUnwindSafe(|| step.run(self, run)))
                .unwrap_or_else(|_| Err(Error::Internal("a step of the maintenance panicked".to_owned())));
            if let Err(error) = result {
                first_error.get_or_insert(error);
            }
        }
        let report = run.report;
        if report.held_back {
            self.store_in_operation().counters().update(|counts| counts.maintenance.held_back += 1);
        }
        if report != MaintenanceReport::default() {
            tracing::debug!(
                target: "ticketing::maintenance",
                expired_orders = report.expired_orders,
                expired_events = report.expired_events,
                cancelled_orders = report.cancelled_orders,
                answered_checkouts = report.answered_checkouts,
                answered_refunds = report.answered_refunds,
                checked_payments = report.checked_payments,
                forgotten_keys = report.forgotten_keys,
                forgotten_deliveries = report.forgotten_deliveries,
                forgotten_notifications = report.forgotten_notifications,
                forgotten_mails = report.forgotten_mails,
                skipped_rows = report.skipped_rows,
                held_back = report.held_back,
                "maintenance done"
            );
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Does the work of queues, or a part of it if it takes long.
    pub(in crate::service) fn do_due_work(&self, queues: &Queues, run: &mut Run<'_>) -> Result<()> {
        let clock = &self.inner.environment.clock;
        let mut result = Ok(());
        for queue in queues {
            let started = clock.monotonic();
            let is_over = || self.writes().is_closing() || clock.monotonic().saturating_sub(started) > TIME_PER_QUEUE;
            match workers::do_due(queue, self.writes(), &is_over) {
                Ok(counts) => {
                    queue.kind.count(&mut run.report, counts.answered);
                    run.report.skipped_rows += counts.skipped;
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Starts threads that do the work of [`run_maintenance`](Self::run_maintenance) every second. With a payment
    /// gateway there are more while checkouts, refunds or checks of payments are due, so that a slow gateway delays
    /// nothing else. They stop when the returned guard or the last clone of the service is
    /// dropped, or when the store has [`stopped`](Self::stopped).
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if a thread cannot be started.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let guard = service.start_maintenance()?;
    /// drop(guard); // ends a run in progress after its current batch
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_maintenance(&self) -> Result<MaintenanceGuard> {
        let mut guard = MaintenanceGuard::default();
        self.start_steps(&mut guard, STEPS)?;
        self.start_gateway_work(&mut guard)?;
        Ok(guard)
    }

    /// Starts a thread that runs these steps every second.
    fn start_steps(&self, guard: &mut MaintenanceGuard, steps: &'static [Step]) -> Result<()> {
        let service = self.downgrade();
        guard.start("ticketing-maintenance", None, move |stop| {
            let mut pause = PAUSE;
            while !stop.wait(pause) {
                pause = PAUSE;
                let Some(service) = service.upgrade() else { return };
                if service.stopped().is_some() {
                    return;
                }
                let is_set = || stop.is_set();
                let mut run = Run::new(&is_set);
                match service.run_steps(steps, &mut run) {
                    Ok(()) if run.has_more => pause = Duration::ZERO,
                    Ok(()) => {}
                    Err(_) if service.writes().is_closing() || service.stopped().is_some() => {}
                    Err(error) => tracing::warn!(
                        target: "ticketing::maintenance",
                        %error,
                        "a step of the maintenance failed; it runs again in a second"
                    ),
                }
            }
        })
    }
}
