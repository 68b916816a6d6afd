//! The queues of a process: one for each kind of work that it does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::delivery::{LATEST_DUE, MAX_ATTEMPTS, delay_after};
use crate::store::work::{self, Claim, ClaimedWork, Work, WorkId};
use crate::write::Writes;
use crate::write::skipped_rows::SkippedTable;

/// How long work is skipped that cannot be read.
const DAMAGED_PAUSE: Duration = Duration::from_mins(1);

/// A kind of work.
pub(crate) trait Kind: Send + Sync {
    /// Its name in the database.
    fn name(&self) -> &str;

    /// How long an attempt takes at most, and more. If its process ends, another one is made after this time.
    fn lease(&self) -> Duration;

    /// Makes an attempt. It may take long, and no transaction is open.
    fn attempt(&self, work: &Work) -> Outcome;

    /// Reports an attempt that failed. `next` is when the next one is made, and `None` if the work is given up.
    fn failed(&self, work: WorkId, attempts: i64, problem: &str, next: Option<Timestamp>);

    /// Records in the database that this process does work of this kind. Called when it begins to, and every hour.
    fn register(&self, writes: &Writes) -> Result<()>;
}

/// How an attempt ended.
pub(crate) enum Outcome {
    Done,
    /// It is attempted again, after the [delay](delay_after) of this attempt. After the last one it is given up.
    Failed(String),
    /// The work cannot be read. It is skipped for a minute.
    Damaged(Error),
    /// It could not be attempted, because the service is being closed.
    NotNow,
}

/// The work of a kind, as this process does it.
pub(crate) struct Queue {
    pub(crate) kind: Box<dyn Kind>,
    /// The organization at which the last search ended: those after it are next.
    turn: AtomicI64,
    /// Whether a thread is doing it.
    pub(crate) is_running: AtomicBool,
}

/// The queues of a process.
pub(crate) type Queues = Vec<Arc<Queue>>;

impl Queue {
    pub(crate) fn new(kind: Box<dyn Kind>) -> Self {
        Self { kind, turn: AtomicI64::default(), is_running: AtomicBool::new(false) }
    }

    fn of_store(&self) -> work::Queue<'_> {
        let (kind, lease) = (self.kind.name(), self.kind.lease());
        work::Queue { kind, lease, max_attempts: MAX_ATTEMPTS, latest_due: LATEST_DUE }
    }

    /// Whether any work is due.
    pub(crate) fn any_due(&self, writes: &Writes) -> Result<bool> {
        writes.store()?.read(|tx| work::any_due(tx, self.of_store()))
    }

    /// Does the work that is next, and records how that ended. Returns `false` if none is due.
    pub(crate) fn attempt_next(self: &Arc<Self>, writes: &Writes) -> Result<bool> {
        if !self.any_due(writes)? {
            return Ok(false);
        }
        let queue = Arc::clone(self);
        let last = OrganizationId::from_raw(self.turn.load(Ordering::Relaxed));
        match writes.store()?.write(None, move |tx| work::claim(tx, queue.of_store(), last))? {
            Claim::Nothing => return Ok(false),
            Claim::Work(claimed) => {
                self.turn.store(claimed.turn.raw(), Ordering::Relaxed);
                self.attempt(writes, claimed)?;
            }
            Claim::GivenUp(id) => {
                self.kind.failed(id, MAX_ATTEMPTS, "the process ended during the last attempt", None);
            }
        }
        Ok(true)
    }

    fn attempt(&self, writes: &Writes, claimed: ClaimedWork) -> Result<()> {
        let attempted = catch_unwind(AssertUnwindSafe(|| self.kind.attempt(&claimed.work)));
        let store = writes.store_in_operation();
        let (id, attempts) = (claimed.work.id, claimed.work.attempts + 1);
        let problem = match attempted.unwrap_or_else(|_| Outcome::Failed("it panicked".to_owned())) {
            Outcome::Done => return store.write(None, move |tx| work::done(tx, &claimed)),
            Outcome::NotNow => return store.write(None, move |tx| work::put_back(tx, &claimed, Duration::ZERO)),
            Outcome::Damaged(error) => {
                writes.skip_row(SkippedTable::Work, id.raw(), &error);
                return store.write(None, move |tx| work::put_back(tx, &claimed, DAMAGED_PAUSE));
            }
            Outcome::Failed(problem) => problem,
        };
        let next = store.write(None, move |tx| match delay_after(attempts) {
            Some(delay) => work::later(tx, &claimed, delay).map(Some),
            None => work::done(tx, &claimed).map(|()| None),
        })?;
        self.kind.failed(id, attempts, &problem, next);
        Ok(())
    }
}
