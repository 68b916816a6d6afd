//! The queues of a process: one for each kind of work that it does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::model::operation::maintenance::MaintenanceReport;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;
use crate::store::work::{self, Claim, ClaimedWork, WorkId};
use crate::write::Writes;
use crate::write::skipped_rows::SkippedTable;

/// How long work is skipped that cannot be read.
const DAMAGED_PAUSE: Duration = Duration::from_mins(1);

/// A kind of work.
pub(crate) trait Kind: Send + Sync {
    /// Its name in the database.
    fn name(&self) -> &str;

    fn schedule(&self) -> Schedule;

    /// How many attempts may be made at the same time now.
    fn room(&self) -> Room;

    /// Makes an attempt. It may take long, and no transaction is open.
    fn attempt(&self, claimed: &ClaimedWork) -> Outcome;

    /// Reports an attempt that failed. `next` is when the next one is made, and `None` if the work is given up.
    fn failed(&self, _: WorkId, _attempts: i64, _problem: &str, _next: Option<Timestamp>) {}

    /// Counts what attempts have changed.
    fn count(&self, _: &mut MaintenanceReport, _answered: usize) {}

    /// Records in the database that this process does work of this kind. Called when it begins to, and every hour.
    fn register(&self, _: &Writes) -> Result<()> {
        Ok(())
    }
}

/// The times of a kind of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// How long an attempt takes at most, and more. If its process ends, another one is made after this time.
    pub(crate) lease: Duration,
    /// How often an attempt is made at most, if each one is interrupted.
    pub(crate) max_attempts: i64,
    /// The longest time until the next attempt, and more. A due time beyond it comes from a clock that was wrong, and
    /// counts as due.
    pub(crate) latest_due: Duration,
}

/// How many attempts may be made at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) attempts: usize,
    pub(crate) of_organization: usize,
}

/// How an attempt ended.
pub(crate) enum Outcome {
    Done,
    /// The attempt has recorded what becomes of the work, in the transaction that records what it is about.
    Recorded {
        /// Whether what was asked has answered.
        answered: bool,
    },
    /// A part of it is done, and the rest is attempted after this time. If there is none, all of it is done.
    Part {
        counts: Counts,
        again: Option<Duration>,
    },
    /// It is attempted again after this time. If there is none, it is given up.
    Failed {
        problem: String,
        again: Option<Duration>,
    },
    /// The work, or what it is about, cannot be read. It is skipped for a minute.
    Damaged(Error),
    /// The database could not be read or written.
    Interrupted(Error),
    /// It could not be attempted now, because the service is being closed, or others use what it is about.
    NotNow,
}

/// How many rows an attempt has changed, or how often what was asked has answered, and how many rows were skipped because
/// they cannot be processed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) answered: usize,
    pub(crate) skipped: usize,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempted {
    /// None was due.
    Nothing,
    /// What is due is done by others, or is of organizations that have as many attempts as they may.
    Taken,
    Made(Counts),
    PutBack(WorkId),
}

impl Attempted {
    /// Whether there was work for this process.
    pub(crate) const fn is_made(self) -> bool {
        matches!(self, Self::Made(_) | Self::PutBack(_))
    }
}

/// The work of a kind, as this process does it.
pub(crate) struct Queue {
    pub(crate) kind: Box<dyn Kind>,
    /// The organization at which the last search ended: those after it are next.
    turn: AtomicI64,
    /// The organizations of the attempts that this process is making.
    busy: Mutex<Vec<OrganizationId>>,
    /// How many threads are doing it.
    threads: AtomicUsize,
}

/// The queues of a process.
pub(crate) type Queues = Vec<Arc<Queue>>;

impl Queue {
    pub(crate) fn new(kind: Box<dyn Kind>) -> Self {
        Self { kind, turn: AtomicI64::default(), busy: Mutex::default(), threads: AtomicUsize::default() }
    }

    fn of_store(&self) -> work::Queue<'_> {
        let Schedule { lease, max_attempts, latest_due } = self.kind.schedule();
        work::Queue { kind: self.kind.name(), lease, max_attempts, latest_due }
    }

    /// Whether any work is due.
    pub(crate) fn any_due(&self, writes: &Writes) -> Result<bool> {
        writes.store()?.read(|tx| work::any_due(tx, self.of_store()))
    }

    /// A place for a thread that does the work. `None` if there are enough.
    pub(crate) fn thread(self: &Arc<Self>) -> Option<QueueThread> {
        let most = self.kind.room().attempts;
        let taken = self
            .threads
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |threads| (threads < most).then_some(threads + 1));
        taken.is_ok().then(|| QueueThread(Arc::clone(self)))
    }

    /// The organizations that have as many attempts as they may.
    fn busy(&self, Room { of_organization, .. }: Room) -> Vec<OrganizationId> {
        let busy = self.busy.locked();
        let count = |organization: &OrganizationId| busy.iter().filter(|other| *other == organization).count();
        busy.iter().filter(|organization| count(organization) >= of_organization).copied().collect()
    }

    /// Does the work that is next, and records how that ended.
    pub(crate) fn attempt_next(self: &Arc<Self>, writes: &Writes) -> Result<Attempted> {
        let room = self.kind.room();
        if room.attempts == 0 || !self.any_due(writes)? {
            return Ok(Attempted::Nothing);
        }
        let (queue, busy) = (Arc::clone(self), self.busy(room));
        let last = OrganizationId::from_raw(self.turn.load(Ordering::Relaxed));
        let (claim, turn) = writes.store()?.write(None, move |tx| work::claim(tx, queue.of_store(), last, &busy))?;
        self.turn.store(turn.raw(), Ordering::Relaxed);
        match claim {
            Claim::Nothing => Ok(Attempted::Taken),
            Claim::Work(claimed) => self.attempt(writes, &claimed),
            Claim::GivenUp(id) => {
                let attempts = self.kind.schedule().max_attempts;
                self.kind.failed(id, attempts, "the process ended during the last attempt", None);
                Ok(Attempted::Made(Counts::default()))
            }
        }
    }

    fn attempt(&self, writes: &Writes, claimed: &ClaimedWork) -> Result<Attempted> {
        let organization = claimed.work.organization_id;
        self.busy.locked().push(organization);
        let attempted = catch_unwind(AssertUnwindSafe(|| self.kind.attempt(claimed)));
        let mut busy = self.busy.locked();
        if let Some(place) = busy.iter().position(|other| *other == organization) {
            busy.swap_remove(place);
        }
        drop(busy);

        let store = writes.store_in_operation();
        let (id, attempts, claimed) = (claimed.work.id, claimed.work.attempts + 1, claimed.clone());
        let panicked = |_| Outcome::Damaged(Error::Internal("an attempt panicked".to_owned()));
        match attempted.unwrap_or_else(panicked) {
            Outcome::Done => {
                store.write(None, move |tx| work::done(tx, &claimed))?;
                Ok(Attempted::Made(Counts::default()))
            }
            Outcome::Recorded { answered } => Ok(Attempted::Made(Counts { answered: answered.into(), skipped: 0 })),
            Outcome::Part { counts, again } => {
                store.write(None, move |tx| match again {
                    Some(delay) => work::put_back(tx, &claimed, delay),
                    None => work::done(tx, &claimed),
                })?;
                let is_stuck = counts == Counts::default() && again == Some(Duration::ZERO);
                Ok(if is_stuck { Attempted::PutBack(id) } else { Attempted::Made(counts) })
            }
            Outcome::Failed { problem, again } => {
                let next = store.write(None, move |tx| match again {
                    Some(delay) => work::later(tx, &claimed, delay).map(Some),
                    None => work::done(tx, &claimed).map(|()| None),
                })?;
                self.kind.failed(id, attempts, &problem, next);
                Ok(Attempted::Made(Counts::default()))
            }
            Outcome::Damaged(error) => {
                writes.skip_row(SkippedTable::Work, id.raw(), &error);
                store.write(None, move |tx| work::put_back(tx, &claimed, DAMAGED_PAUSE))?;
                Ok(Attempted::Made(Counts { answered: 0, skipped: 1 }))
            }
            Outcome::Interrupted(error) => {
                // If this fails too, the claim ends by itself.
                let _ = store.write(None, move |tx| work::put_back(tx, &claimed, Duration::ZERO));
                Err(error)
            }
            Outcome::NotNow => {
                store.write(None, move |tx| work::put_back(tx, &claimed, Duration::ZERO))?;
                Ok(Attempted::PutBack(id))
            }
        }
    }
}

/// A thread that does the work of a queue, until it is dropped.
pub(crate) struct QueueThread(pub(crate) Arc<Queue>);

impl Drop for QueueThread {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::AcqRel);
    }
}
