//! What the transaction of a connection has done so far.

use std::cell::Cell;

use crate::model::values::id::EventId;
use crate::store::engine::lock::EventKey;

/// How many savepoints a transaction has at most before it takes no further jobs: PostgreSQL remembers 64 of its
/// subtransactions in memory, and more of them slow every transaction down.
const MAX_SAVEPOINTS: usize = 60;

/// How often a job runs because of a violated constraint that it does not handle. A job that meets the row of another
/// transaction succeeds the second time, and damaged data always violates the constraint.
const MAX_RACES: u32 = 3;

/// What a transaction locks of events.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store::engine::postgres) enum EventLock {
    /// None: its job changes no sale.
    #[default]
    None,
    /// This event, from the beginning. The job names it by the key.
    Held(EventId, EventKey),
    /// Like [`Held`](Self::Held), if no lock of the transaction has to be waited for longer than half a second.
    Brief(EventId, EventKey),
    /// None: the job names the event of another organization, and will not find it.
    Foreign,
    /// That which the job names, when it does. There was none a moment ago.
    Unknown,
}

/// The state of the transaction that a connection is in.
#[derive(Default)]
pub(in crate::store::engine::postgres) struct WriteState {
    /// Whether the statements by which transactions begin and end are prepared.
    is_prepared: Cell<bool>,
    is_open: Cell<bool>,
    /// Whether a statement since the last savepoint may have changed something, and any statement.
    job_changed: Cell<bool>,
    changed: Cell<bool>,
    savepoints: Cell<usize>,
    event_lock: Cell<EventLock>,
    /// How often the job has run, including this time.
    attempts: Cell<u32>,
}

impl WriteState {
    /// Whether the statements by which transactions begin and end are prepared.
    pub(in crate::store::engine::postgres) fn is_prepared(&self) -> bool {
        self.is_prepared.get()
    }

    /// Notes that the statements by which transactions begin and end are prepared.
    pub(in crate::store::engine::postgres) fn set_prepared(&self) {
        self.is_prepared.set(true);
    }

    /// Notes that a transaction begins, which has a savepoint if it locks an event.
    pub(in crate::store::engine::postgres) fn begin(&self, has_savepoint: bool) {
        self.is_open.set(true);
        self.job_changed.set(false);
        self.changed.set(false);
        self.savepoints.set(usize::from(has_savepoint));
        self.event_lock.set(EventLock::None);
        self.attempts.set(1);
    }

    /// Notes that the transaction has ended.
    pub(in crate::store::engine::postgres) fn end(&self) {
        self.is_open.set(false);
    }

    /// Whether a transaction has begun that is neither committed nor undone.
    pub(in crate::store::engine::postgres) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Notes what the transaction locks of events, or how the next job names the event that it has locked.
    pub(in crate::store::engine::postgres) fn set_event_lock(&self, lock: EventLock) {
        self.event_lock.set(lock);
    }

    /// Whether a statement of the transaction may have changed something.
    pub(in crate::store::engine::postgres) fn has_changed(&self) -> bool {
        self.changed.get()
    }

    /// Whether a statement since the last call, or since the transaction began, may have changed something.
    pub(in crate::store::engine::postgres) fn take_job_changed(&self) -> bool {
        self.job_changed.replace(false)
    }

    /// Notes a savepoint.
    pub(in crate::store::engine::postgres) fn add_savepoint(&self) {
        self.savepoints.set(self.savepoints.get() + 1);
    }

    /// Notes that a statement is executed which may change something.
    pub(in crate::store::engine::postgres) fn changes(&self) {
        self.job_changed.set(true);
        self.changed.set(true);
    }

    /// Whether a job that locks this event has to send the statement. Debug builds check that the job is one of an event:
    /// any other waits for the event behind all jobs of its queue, and keeps them waiting.
    pub(in crate::store::engine::postgres) fn must_lock(&self, key: EventKey) -> bool {
        match self.event_lock.get() {
            EventLock::Held(event, by) | EventLock::Brief(event, by) => key != by && key != EventKey::Event(event),
            EventLock::Foreign => false,
            EventLock::Unknown => true,
            EventLock::None => {
                debug_assert!(false, "{key:?} is locked by a job that is not one of this event");
                true
            }
        }
    }

    /// Sets how often the job has run, including this time.
    pub(in crate::store::engine::postgres) fn set_attempts(&self, attempts: u32) {
        self.attempts.set(attempts);
    }

    /// Whether the job has run so often that what another transaction has written is no reason to run it again.
    pub(in crate::store::engine::postgres) fn has_run_often(&self) -> bool {
        self.attempts.get() >= MAX_RACES
    }

    /// Whether the transaction has room for another job with savepoints of its own.
    pub(in crate::store::engine::postgres) fn has_room(&self) -> bool {
        self.savepoints.get() < MAX_SAVEPOINTS
    }
}
