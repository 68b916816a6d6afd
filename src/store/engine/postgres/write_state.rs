//! What the transaction of a connection has done so far.

use std::cell::Cell;

use crate::model::id::EventId;
use crate::store::engine::lock::EventKey;

/// How many savepoints a transaction has at most before it takes no further jobs: PostgreSQL remembers 64 of its
/// subtransactions in memory, and more of them slow every transaction down.
const MAX_SAVEPOINTS: usize = 60;

/// How often a job runs because of a violated constraint that it does not handle. A job that meets the row of another
/// transaction succeeds the second time, and damaged data always violates the constraint.
const MAX_RACES: u32 = 3;

/// The state of the transaction that a connection is in.
#[derive(Default)]
pub(super) struct WriteState {
    /// Whether the statements by which transactions begin and end are prepared.
    is_prepared: Cell<bool>,
    is_open: Cell<bool>,
    /// Whether a statement since the last savepoint may have changed something, and any statement.
    job_changed: Cell<bool>,
    changed: Cell<bool>,
    savepoints: Cell<usize>,
    /// The event that is locked since the transaction began.
    event: Cell<Option<EventId>>,
    /// How the job that runs names this event.
    key: Cell<Option<EventKey>>,
    /// How often the job has run, including this time.
    attempts: Cell<u32>,
}

impl WriteState {
    /// Whether the statements by which transactions begin and end are prepared.
    pub(super) fn is_prepared(&self) -> bool {
        self.is_prepared.get()
    }

    /// Notes that the statements by which transactions begin and end are prepared.
    pub(super) fn set_prepared(&self) {
        self.is_prepared.set(true);
    }

    /// Notes that a transaction begins, which has a savepoint if it locks an event.
    pub(super) fn begin(&self, has_savepoint: bool) {
        self.is_open.set(true);
        self.job_changed.set(false);
        self.changed.set(false);
        self.savepoints.set(usize::from(has_savepoint));
        self.event.set(None);
        self.key.set(None);
        self.attempts.set(1);
    }

    /// Notes that the transaction has ended.
    pub(super) fn end(&self) {
        self.is_open.set(false);
    }

    /// Whether a transaction has begun that is neither committed nor undone.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Notes that the event is locked.
    pub(super) fn set_event(&self, event: EventId) {
        self.event.set(Some(event));
    }

    /// Whether a statement of the transaction may have changed something.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.get()
    }

    /// Whether a statement since the last call, or since the transaction began, may have changed something.
    pub(super) fn take_job_changed(&self) -> bool {
        self.job_changed.replace(false)
    }

    /// Notes a savepoint.
    pub(super) fn add_savepoint(&self) {
        self.savepoints.set(self.savepoints.get() + 1);
    }

    /// Notes that a statement is executed which may change something.
    pub(super) fn executed(&self, sql: &str) {
        self.job_changed.set(true);
        self.changed.set(true);
        if sql.starts_with("SAVEPOINT ") {
            self.add_savepoint();
        }
    }

    /// Whether the transaction has locked this event when it began.
    pub(super) fn has_locked(&self, event: EventKey) -> bool {
        let by_id = self.event.get().map(EventKey::Event);
        by_id.is_some() && (self.key.get() == Some(event) || by_id == Some(event))
    }

    /// Sets how the next job names the event that is locked.
    pub(super) fn set_key(&self, key: EventKey) {
        self.key.set(Some(key));
    }

    /// Sets how often the job has run, including this time.
    pub(super) fn set_attempts(&self, attempts: u32) {
        self.attempts.set(attempts);
    }

    /// Whether the job has run so often that what another transaction has written is no reason to run it again.
    pub(super) fn has_run_often(&self) -> bool {
        self.attempts.get() >= MAX_RACES
    }

    /// Whether the transaction has room for another job with savepoints of its own.
    pub(super) fn has_room(&self) -> bool {
        self.savepoints.get() < MAX_SAVEPOINTS
    }
}
