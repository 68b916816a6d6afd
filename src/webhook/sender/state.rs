//! The state that the scheduler, the workers and the poller share.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::health::Observation;
use super::options::SenderOptions;
use crate::environment::{Environment, Locked};
use crate::error::Error;
use crate::model::values::id::WebhookId;
use crate::model::values::timestamp::Timestamp;
use crate::store::webhooks::attempt_results::{AttemptResult, ClaimedAttempt};
use crate::store::webhooks::attempts::DueEndpoint;
use crate::store::{CommitListener, CommittedWork, Store};
use crate::webhook::transport::Transport;

/// How long rows are skipped that cannot be read.
pub(super) const DAMAGED_PAUSE: Duration = Duration::from_mins(1);

/// How long a worker waits for its next batch before its thread ends.
const MAX_IDLE: Duration = Duration::from_secs(10);

/// The tables whose rows may be skipped.
pub(super) const DELIVERIES: &str = "webhook_deliveries";
pub(super) const ENDPOINTS: &str = "webhook_endpoints";
pub(super) const NOTIFICATIONS: &str = "webhook_notifications";
pub(super) const OUTBOX: &str = "webhook_outbox";

pub(super) struct SenderContext {
    pub(super) store: Arc<Store>,
    pub(super) environment: Environment,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) options: SenderOptions,
    state: Mutex<SenderState>,
    /// The threads of the workers.
    workers: Mutex<Vec<JoinHandle<()>>>,
    scheduler_wakeup: Condvar,
    worker_wakeup: Condvar,
    /// Wakes paused threads when the sender stops, and the stopping thread when a worker has finished.
    stop_wakeup: Condvar,
}

#[derive(Default)]
pub(super) struct SenderState {
    /// Endpoints with a row due at some time, for the scheduler.
    pub(super) due: BTreeMap<WebhookId, Timestamp>,
    /// Whether there may be notifications to expand, for the scheduler.
    pub(super) stored: bool,
    /// Claimed attempts that no worker has started yet.
    pub(super) batches: VecDeque<Batch>,
    /// Attempts that have finished, for the scheduler to record.
    pub(super) finished: Vec<FinishedAttempt>,
    /// Workers that have finished their batch, for the scheduler to reassign.
    pub(super) freed: Vec<FreedWorker>,
    pub(super) busy_workers: usize,
    /// Workers that wait for a batch, or are about to.
    idle_workers: usize,
    /// No further attempt is started.
    pub(super) stopping: bool,
    /// The attempts in progress were interrupted: those that fail from now on do not count.
    pub(super) interrupted: bool,
    /// The wait for attempts in progress is over: the scheduler records the results that it has, and ends.
    pub(super) closed: bool,
}

/// Claimed attempts at one endpoint that one worker makes one after another.
pub(super) struct Batch {
    pub(super) endpoint: WebhookId,
    pub(super) attempts: Vec<ClaimedAttempt>,
    /// The store's change counter of the endpoint, read before the attempts were claimed.
    pub(super) changes_before: u64,
}

/// An attempt that is no longer in progress.
pub(super) struct FinishedAttempt {
    pub(super) attempt: ClaimedAttempt,
    /// `None` if the attempt was interrupted or never started: it does not count, and is made again.
    pub(super) result: Option<AttemptResult>,
}

impl FinishedAttempt {
    /// Drops the result if it is a failure.
    fn without_failure(self) -> Self {
        let result = self.result.filter(AttemptResult::is_success);
        Self { result, ..self }
    }
}

/// A worker that has finished its batch.
pub(super) struct FreedWorker {
    pub(super) endpoint: WebhookId,
    /// The health of the endpoint after the last attempt of the batch; `None` if no attempt was made.
    pub(super) last: Option<Observation>,
}

impl SenderContext {
    pub(super) fn new(
        store: Arc<Store>,
        environment: Environment,
        transport: Arc<dyn Transport>,
        options: SenderOptions,
    ) -> Self {
        Self {
            store,
            environment,
            transport,
            options,
            state: Mutex::default(),
            workers: Mutex::default(),
            scheduler_wakeup: Condvar::new(),
            worker_wakeup: Condvar::new(),
            stop_wakeup: Condvar::new(),
        }
    }

    /// Counts a row that cannot be processed, and logs it unless one of the same table was logged within the last hour.
    pub(super) fn report_skipped(&self, table: &'static str, row: &impl std::fmt::Display, error: &Error) {
        if self.store.counters().row_skipped(table, self.environment.clock.monotonic()) {
            tracing::error!(
                target: "ticketing::webhooks",
                table,
                %row,
                %error,
                "a row cannot be processed and is skipped; a check shows what is wrong. Further rows of this table are \
                 not logged for an hour"
            );
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SenderState> {
        self.state.locked()
    }

    /// Waits until the scheduler has something to do, but no longer than `timeout`.
    pub(super) fn wait_for_events(&self, timeout: Duration) -> MutexGuard<'_, SenderState> {
        let idle = |state: &mut SenderState| {
            let no_results = state.finished.is_empty() && state.freed.is_empty();
            // A sender that stops starts no attempts, so due endpoints do not matter to it.
            let nothing_new = if state.stopping { !state.closed } else { state.due.is_empty() && !state.stored };
            no_results && nothing_new
        };
        let waited = self.scheduler_wakeup.wait_timeout_while(self.state(), timeout, idle);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state
    }

    /// Waits for the next batch; `None` if there is none for some time, or the sender stops. The worker is busy from then
    /// on, or ends.
    pub(super) fn next_batch(&self) -> Option<Batch> {
        let idle = |state: &mut SenderState| state.batches.is_empty() && !state.stopping;
        let waited = self.worker_wakeup.wait_timeout_while(self.state(), MAX_IDLE, idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.idle_workers -= 1;
        if state.stopping {
            return None;
        }
        let batch = state.batches.pop_front()?;
        state.busy_workers += 1;
        Some(batch)
    }

    /// Marks a worker as no longer busy.
    pub(super) fn worker_finished(&self) {
        let mut state = self.state();
        state.busy_workers -= 1;
        state.idle_workers += 1;
        let stopping = state.stopping;
        drop(state);
        if stopping {
            self.stop_wakeup.notify_all();
        }
    }

    /// Waits until no worker is busy, but no longer than `timeout`.
    pub(super) fn wait_for_workers(&self, timeout: Duration) {
        let busy = |state: &mut SenderState| state.busy_workers > 0;
        drop(self.stop_wakeup.wait_timeout_while(self.state(), timeout, busy));
    }

    /// Sleeps for `duration`, or until the sender stops. Returns whether the sender goes on.
    pub(super) fn pause(&self, duration: Duration) -> bool {
        let waited = self.stop_wakeup.wait_timeout_while(self.state(), duration, |state| !state.stopping);
        waited.is_ok_and(|(state, _)| !state.stopping)
    }

    /// Lets the scheduler sleep for `duration`, or until the sender is closed: it also repeats what fails while the
    /// sender stops.
    pub(super) fn pause_scheduler(&self, duration: Duration) {
        drop(self.scheduler_wakeup.wait_timeout_while(self.state(), duration, |state| !state.closed));
    }

    /// Tells the scheduler about endpoints with rows due.
    pub(super) fn report_due(&self, endpoints: impl IntoIterator<Item = DueEndpoint>) {
        let mut state = self.state();
        for DueEndpoint { id, at } in endpoints {
            let earliest = state.due.entry(id).or_insert(at);
            *earliest = at.min(*earliest);
        }
        drop(state);
        self.scheduler_wakeup.notify_one();
    }

    /// Tells the scheduler that there may be notifications to expand.
    pub(super) fn report_stored(&self) {
        self.state().stored = true;
        self.scheduler_wakeup.notify_one();
    }

    pub(super) fn start_batches(&self, batches: Vec<Batch>) {
        let count = batches.len();
        self.state().batches.extend(batches);
        for _ in 0..count {
            self.worker_wakeup.notify_one();
        }
    }

    /// Whether there are more batches than workers that wait for one. If so, the caller starts a worker.
    pub(super) fn needs_worker(&self) -> bool {
        let mut state = self.state();
        let needs_one = state.batches.len() > state.idle_workers && !state.stopping;
        if needs_one {
            state.idle_workers += 1;
        }
        needs_one
    }

    /// Keeps the thread of a worker. `None` if it could not be started.
    pub(super) fn worker_started(&self, thread: Option<JoinHandle<()>>) {
        match thread {
            Some(thread) => {
                let mut workers = self.workers.locked();
                workers.retain(|worker| !worker.is_finished());
                workers.push(thread);
            }
            None => self.state().idle_workers -= 1,
        }
    }

    /// The threads of the workers, which are no longer kept.
    pub(super) fn take_workers(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.workers.locked())
    }

    /// Hands a finished attempt to the scheduler. With `now` the scheduler records it at once, otherwise in its next
    /// round. Returns whether the worker may start another attempt.
    pub(super) fn report_finished(&self, finished: FinishedAttempt, now: bool) -> bool {
        let mut state = self.state();
        let finished = if state.interrupted { finished.without_failure() } else { finished };
        state.finished.push(finished);
        let stopping = state.stopping;
        drop(state);
        if now {
            self.scheduler_wakeup.notify_one();
        }
        !stopping
    }

    /// Hands a free worker back to the scheduler, with the attempts of its batch that it did not start.
    pub(super) fn free_worker(&self, freed: FreedWorker, not_started: Vec<ClaimedAttempt>) {
        let mut state = self.state();
        for attempt in not_started {
            state.finished.push(FinishedAttempt { attempt, result: None });
        }
        state.freed.push(freed);
        drop(state);
        self.scheduler_wakeup.notify_one();
    }

    /// Lets no further attempt start.
    pub(super) fn stop(&self) {
        self.state().stopping = true;
        self.scheduler_wakeup.notify_all();
        self.worker_wakeup.notify_all();
        self.stop_wakeup.notify_all();
    }

    pub(super) fn interrupt(&self) {
        self.state().interrupted = true;
        self.transport.interrupt();
    }

    /// Lets the scheduler end.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.scheduler_wakeup.notify_all();
    }
}

impl CommitListener for SenderContext {
    fn on_commit(&self, work: &CommittedWork) {
        if work.stored {
            self.report_stored();
        }
        if !work.endpoints.is_empty() {
            // New rows are due now, even if the clock was set back.
            let at = Timestamp::UNIX_EPOCH;
            self.report_due(work.endpoints.iter().map(|id| DueEndpoint { id: *id, at }));
        }
    }
}
