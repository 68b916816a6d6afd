//! A worker thread: makes the attempts of one batch after another.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{self, AttemptOutcome};
use super::health::{Health, Observation, TIME_SLICE};
use super::state::{Batch, FinishedAttempt, FreedWorker, SenderContext};

/// The result of an attempt that took longer is recorded at once; results of faster attempts are recorded a moment
/// later, several in one commit.
const RECORD_AT_ONCE: Duration = Duration::from_millis(5);

/// Starts workers until there is one for each batch that waits. One that cannot be started is tried again when the
/// scheduler calls this next.
pub(super) fn start_needed(sender: &Arc<SenderContext>) {
    while sender.needs_worker() {
        let context = Arc::clone(sender);
        let thread = std::thread::Builder::new().name("webhook-worker".to_owned()).spawn(move || run(&context));
        if let Err(error) = &thread {
            tracing::warn!(target: "ticketing::webhooks", %error, "a thread of the webhook sender could not be started");
        }
        let started = thread.is_ok();
        sender.worker_started(thread.ok());
        if !started {
            return;
        }
    }
}

/// Makes attempts until there are none for some time, or the sender stops.
fn run(sender: &SenderContext) {
    while let Some(batch) = sender.next_batch() {
        run_batch(sender, batch);
        sender.worker_finished();
    }
}

/// Makes the attempts of a batch one after another. The batch ends early when an attempt shows that the endpoint is
/// not healthy, the time slice is over, the endpoint was changed, or the sender stops; the remaining attempts are
/// handed back.
fn run_batch(sender: &SenderContext, batch: Batch) {
    let clock = &sender.environment.clock;
    let started = clock.monotonic();
    let may_continue = |last: Option<Observation>| {
        let healthy = last.is_none_or(|last| last.health == Health::Healthy);
        let in_slice = clock.monotonic().saturating_sub(started) < TIME_SLICE;
        healthy && in_slice && sender.store.endpoint_changes(batch.endpoint) == batch.changes_before
    };
    let mut attempts = batch.attempts.into_iter();
    let mut last = None;
    while may_continue(last)
        && let Some(attempt) = attempts.next()
    {
        let AttemptOutcome { result, observation } = attempt::make(sender, &attempt);
        last = Some(observation);
        let record_now = observation.duration.is_none_or(|duration| duration > RECORD_AT_ONCE);
        let finished = FinishedAttempt { attempt, result: Some(result) };
        if !sender.report_finished(finished, record_now) {
            break;
        }
    }
    sender.free_worker(FreedWorker { endpoint: batch.endpoint, last }, attempts.collect());
}
