//! A worker thread: makes the attempts of one batch after another.

use std::time::Duration;

use super::attempt::{self, AttemptOutcome};
use super::health::{Health, Observation, TIME_SLICE};
use super::state::{Batch, FinishedAttempt, FreedWorker, SenderContext};

/// The result of an attempt that took longer is recorded at once; results of faster attempts are recorded a moment
/// later, several in one commit.
const RECORD_AT_ONCE: Duration = Duration::from_millis(5);

/// Makes attempts until the sender stops.
pub(super) fn run(sender: &SenderContext) {
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
