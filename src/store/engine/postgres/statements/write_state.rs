//! The state of the write transaction of a connection.

use std::cell::Cell;

use crate::model::values::id::EventId;
use crate::store::engine::lock::EventKey;

/// From this number of savepoints on, a transaction takes no further jobs. PostgreSQL caches the ids of 64
/// subtransactions of a transaction in shared memory. If there are more, they slow down all transactions.
const MAX_SAVEPOINTS: usize = 60;

/// A job that has run this often is not run again because of a constraint violation that it does not handle. If another
/// transaction has inserted a row at the same time, the next run finds that row and succeeds. Damaged data violates the
/// constraint in every run.
const MAX_RUNS: u32 = 3;

/// The event that a transaction has locked, and the key by which the current job names it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store::engine::postgres) enum EventLock {
    /// No event, because the job changes the sale of none.
    #[default]
    None,
    /// This event, since the transaction began. The job names it by the key.
    Held(EventId, EventKey),
    /// Like [`Held`](Self::Held), for background work: the transaction waits at most half a second for each lock.
    Background(EventId, EventKey),
    /// No event: the job names an event of another organization, and will not find it.
    Foreign,
    /// No event yet: none was found for the key of the job. If there is one by now, the job locks it.
    Unknown,
}

/// The state of the current write transaction of a connection, and whether the connection is prepared for one.
#[derive(Default)]
pub(in crate::store::engine::postgres) struct WriteState {
    /// Whether the statements that begin and end transactions are prepared on the connection.
    pub(in crate::store::engine::postgres) is_prepared: Cell<bool>,
    /// Whether a transaction has begun, and is neither committed nor rolled back.
    pub(in crate::store::engine::postgres) is_open: Cell<bool>,
    /// Whether a statement of the current job has changed something, or may do so when it is sent.
    pub(in crate::store::engine::postgres) job_changed: Cell<bool>,
    /// Whether a statement of the transaction has changed something, or may do so when it is sent.
    pub(in crate::store::engine::postgres) changed: Cell<bool>,
    /// Whether each job of the transaction has a savepoint.
    pub(in crate::store::engine::postgres) has_savepoints: Cell<bool>,
    savepoints: Cell<usize>,
    /// The event that the transaction has locked, and the key by which the next job names it.
    pub(in crate::store::engine::postgres) event_lock: Cell<EventLock>,
    /// How often the job has run, including this time.
    pub(in crate::store::engine::postgres) attempts: Cell<u32>,
}

impl WriteState {
    /// Records that a transaction begins. It has a savepoint from the beginning if there is one for each job.
    pub(in crate::store::engine::postgres) fn begin(&self, has_savepoints: bool) {
        self.is_open.set(true);
        self.job_changed.set(false);
        self.changed.set(false);
        self.has_savepoints.set(has_savepoints);
        self.savepoints.set(usize::from(has_savepoints));
        self.event_lock.set(EventLock::None);
        self.attempts.set(1);
    }

    /// Counts a savepoint.
    pub(in crate::store::engine::postgres) fn add_savepoint(&self) {
        self.savepoints.set(self.savepoints.get() + 1);
    }

    /// Records that a statement of the current job has changed something, or may do so when it is sent.
    pub(in crate::store::engine::postgres) fn changes(&self) {
        self.job_changed.set(true);
        self.changed.set(true);
    }

    /// Whether a job that locks this event must send the statement for it: not if the transaction has the lock already.
    /// Debug builds panic if the job is not one for an event. Such a job is in no event's queue: it would wait for the
    /// lock that the jobs in the queue need, and keep them waiting.
    pub(in crate::store::engine::postgres) fn must_lock(&self, key: EventKey) -> bool {
        match self.event_lock.get() {
            EventLock::Held(event, job_key) | EventLock::Background(event, job_key) => {
                key != job_key && key != EventKey::Event(event)
            }
            EventLock::Foreign => false,
            EventLock::Unknown => true,
            EventLock::None => {
                debug_assert!(false, "{key:?} is locked by a job that is not one of this event");
                true
            }
        }
    }

    /// Whether the job has run so often that a constraint violation is no reason to run it again.
    pub(in crate::store::engine::postgres) fn has_run_often(&self) -> bool {
        self.attempts.get() >= MAX_RUNS
    }

    /// Whether the transaction may run another job, which can set savepoints of its own.
    pub(in crate::store::engine::postgres) fn has_room(&self) -> bool {
        self.savepoints.get() < MAX_SAVEPOINTS
    }
}
