//! Group commit: one write transaction at a time, shared by the jobs that are waiting.
//!
//! A job is the work of one caller. One thread is the leader: it runs the waiting jobs as a group, each in a savepoint
//! of one transaction, commits, and only then answers the callers. Many callers share one sync of the disk, and no
//! caller gets a result that a crash could undo.
//!
//! A caller that finds no leader leads one group itself; [`leadership`](crate::store::engine::leadership) has the
//! details. The organizations take turns in the queue, so that one with many jobs does not delay the others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::checkpoint::Checkpointer;
use super::database::Database;
use super::transaction_cost::TransactionCost;
use crate::environment::{Environment, Locked};
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::fair::{RoundRobin, Tenant};
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::jobs::Job;
use crate::store::engine::leadership::{Leadership, Queue};
use crate::store::engine::transaction::{Recorded, Transaction};
use crate::store::engine::transaction_cache::TransactionCache;

/// How many jobs one commit contains at most. This limits how long the first of them waits.
const MAX_GROUP: usize = 256;

/// How long jobs are added to a group. This limits how long the first of them waits, if the jobs are large.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

pub(crate) struct Writer {
    group_commit: Arc<GroupCommit>,
    thread: Option<JoinHandle<()>>,
}

/// The state that callers share with the writer's thread.
struct GroupCommit {
    leadership: Leadership<Jobs>,
    /// Locked by the leader.
    database: Mutex<Database>,
    environment: Environment,
    checkpointer: Checkpointer,
    after_commit: AfterCommit,
    /// Whether the store could not write a group, and has written none since.
    write_failed: AtomicBool,
    /// How the last checkpoint ended, once the database is closed.
    closed: ClosingResult,
}

/// How the last checkpoint ended: empty until the database is closed.
pub(in crate::store) type ClosingResult = Arc<OnceLock<Result<()>>>;

/// The jobs that wait, by the organization that they are for. Jobs of the program itself have a turn of their own.
type Jobs = RoundRobin<Tenant, Box<dyn Job>>;

impl Queue for Jobs {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl Writer {
    pub(crate) fn start(
        database: Database,
        environment: Environment,
        checkpointer: Checkpointer,
        after_commit: AfterCommit,
    ) -> Result<Self> {
        let group_commit = Arc::new(GroupCommit {
            leadership: Leadership::new(),
            database: Mutex::new(database),
            environment,
            checkpointer,
            after_commit,
            write_failed: AtomicBool::new(false),
            closed: ClosingResult::default(),
        });
        let thread = std::thread::Builder::new().name("ticketing-writer".to_owned()).spawn({
            let group_commit = Arc::clone(&group_commit);
            move || group_commit.lead_when_handed_over()
        });
        let thread = thread.map_err(StoreError::no_thread)?;
        Ok(Self { group_commit, thread: Some(thread) })
    }

    /// Queues a job, which is answered when its transaction is durable. It may run on another thread than the caller's.
    pub(crate) fn submit(&self, tenant: Tenant, job: Box<dyn Job>) {
        if let Some(_lead) = self.group_commit.leadership.add(|jobs| jobs.push(tenant, job)) {
            self.group_commit.write_group();
        }
    }

    /// Queues a job for the writer's thread, and does not wait for it.
    #[cfg(feature = "server")]
    pub(crate) fn queue(&self, tenant: Tenant, job: Box<dyn Job>) {
        self.group_commit.leadership.add_for_others(|jobs| jobs.push(tenant, job));
    }

    /// Fails if the store has stopped, which it finds out here at the latest.
    pub(crate) fn check_file(&self) -> Result<()> {
        self.group_commit.checkpointer.file.check()
    }

    pub(crate) fn stopped(&self) -> Option<&StoreError> {
        self.group_commit.checkpointer.file.stopped()
    }

    /// Whether the store could not write a group, and has written none since.
    pub(crate) fn last_write_failed(&self) -> bool {
        self.group_commit.write_failed.load(Ordering::Relaxed)
    }

    /// How the last checkpoint ended, once the database is closed.
    pub(crate) fn closing_result(&self) -> ClosingResult {
        Arc::clone(&self.group_commit.closed)
    }

    /// How many jobs are queued.
    pub(crate) fn waiting(&self) -> usize {
        self.group_commit.leadership.with_queue(|jobs| jobs.iter().count())
    }
}

impl Drop for Writer {
    /// Ends the writer's thread. The queue is empty: every caller keeps the store alive until its job is answered.
    fn drop(&mut self) {
        self.group_commit.leadership.close();
        let Some(thread) = self.thread.take() else { return };
        // The last handle of the store may be dropped with a job that captured it, on the thread itself.
        let is_current = thread.thread().id() == std::thread::current().id();
        if !is_current && thread.join().is_err() {
            tracing::error!(target: "ticketing::store", "the writer's thread panicked");
        }
    }
}

impl GroupCommit {
    /// The main loop of the writer's thread.
    fn lead_when_handed_over(&self) {
        while let Some(_lead) = self.leadership.wait_for_lead() {
            self.write_group();
        }
    }

    /// Runs the queued jobs as one group, commits it, and answers the callers.
    ///
    /// Code of the embedding program runs in it: its clock, and its tracing subscriber. If one of them panics, the
    /// transaction is rolled back, the callers are answered, and the leader goes on.
    fn write_group(&self) {
        let mut group = Vec::new();
        let database = self.database.locked();
        let jobs_before = Cell::new(0);
        let others_wait = || jobs_before.get() > 0 || !self.leadership.with_queue(|jobs| jobs.is_empty());
        let context = JobContext {
            group_commit: self,
            database: &database,
            cache: Rc::default(),
            jobs_before: &jobs_before,
            others_wait: &others_wait,
        };
        let start = self.instant();
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit_group(&context, start, &mut group)));
        let committed = committed.unwrap_or_else(|_| {
            quietly(|| context.roll_back());
            Err(Error::Internal("a panic undid the transaction".to_owned()))
        });
        let wal_pages = Database::take_wal_pages();

        // Before the answers, so that a caller that was answered finds its commit in the statistics.
        let committed = match committed {
            Ok(recorded) => {
                let duration = self.instant().saturating_sub(start);
                quietly(|| self.after_commit.committed(group.len(), duration, recorded));
                quietly(|| log_cost(&database, group.len()));
                Ok(())
            }
            Err(error) => {
                self.after_commit.commit_failed();
                if matches!(error, Error::Store(_)) {
                    self.write_failed.store(true, Ordering::Relaxed);
                }
                Err(error)
            }
        };
        if wal_pages > 0 {
            // Not after a commit of jobs that changed nothing: it succeeds on a full disk as well.
            self.write_failed.store(false, Ordering::Relaxed);
        }
        for job in group {
            job.answer(committed.clone());
        }
        quietly(|| self.checkpointer.after_commit(&database, wal_pages));
    }

    /// Reads the clock for the statistics. The clock of the embedding program may panic, but the leader must
    /// go on.
    fn instant(&self) -> Duration {
        catch_unwind(AssertUnwindSafe(|| self.environment.clock.monotonic())).unwrap_or_default()
    }

    /// Runs the queued jobs, including those that are queued in the meantime, in one transaction and commits it.
    /// Returns what they have recorded. `group` receives the jobs that have to be answered.
    fn commit_group(
        &self,
        context: &JobContext<'_>,
        start: Duration,
        group: &mut Vec<Box<dyn Job>>,
    ) -> Result<Recorded> {
        if let Err(error) = context.begin() {
            // Fail everything that is queued: it has waited for the same lock, and one job after another would wait for
            // the full busy timeout again.
            self.leadership.with_queue(|jobs| group.extend(std::iter::from_fn(|| jobs.pop())));
            return Err(error);
        }
        context.database.measure_cost(tracing::enabled!(target: "ticketing::store", tracing::Level::TRACE));
        let mut recorded = Recorded::default();
        // Whether a job has succeeded, so that the transaction has something to commit.
        let mut has_changes = false;
        while let Some(job) = self.next_job(group, start) {
            context.jobs_before.set(group.len());
            let job = group.push_mut(job);
            let ran = match has_changes {
                true => context.run_in_savepoint(job.as_mut()),
                false => context.run_first(job.as_mut()),
            };
            // If the job cannot be undone by itself, the whole transaction is rolled back, and the group gets the
            // error.
            let ran = ran.inspect_err(|_| context.roll_back())?;
            has_changes |= ran.is_some();
            recorded.append(ran.unwrap_or_default());
        }
        let end = if has_changes { "COMMIT" } else { "ROLLBACK" };
        context.database.command(end).map(|()| recorded).inspect_err(|_| context.roll_back())
    }

    fn next_job(&self, group: &[Box<dyn Job>], start: Duration) -> Option<Box<dyn Job>> {
        // A group has at least one job, however long that takes.
        let is_full = || group.len() >= MAX_GROUP || self.instant().saturating_sub(start) >= MAX_GROUP_TIME;
        if !group.is_empty() && (self.leadership.with_queue(|jobs| jobs.is_empty()) || is_full()) {
            return None;
        }
        self.leadership.with_queue(RoundRobin::pop)
    }
}

fn log_cost(database: &Database, jobs: usize) {
    if let Some(TransactionCost { statements, rows, steps }) = database.cost() {
        tracing::trace!(target: "ticketing::store", jobs, statements, rows, steps, "transaction committed");
    }
}

/// Runs `work`. Ignores a panic, which the program's panic hook has reported.
fn quietly(work: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(work)));
}

/// What the leader needs to run jobs.
struct JobContext<'c> {
    group_commit: &'c GroupCommit,
    database: &'c Database,
    /// What the jobs have read and share. It is cleared when a job is undone.
    cache: Rc<TransactionCache>,
    /// How many jobs of the group ran before the current one. Their callers wait for the commit.
    jobs_before: &'c Cell<usize>,
    /// Whether other callers than that of the current job wait for the commit, or for a transaction after it.
    others_wait: &'c dyn Fn() -> bool,
}

impl JobContext<'_> {
    fn transaction(&self) -> Transaction<'_> {
        let mut transaction = self.database.transaction(&self.group_commit.environment);
        transaction.cache = Rc::clone(&self.cache);
        transaction.others_wait = Some(self.others_wait);
        transaction
    }

    /// Begins a transaction, unless the store has stopped. Another process may have found a reason while this one
    /// waited for the lock.
    fn begin(&self) -> Result<()> {
        self.database.file.not_stopped()?;
        self.database.command("BEGIN IMMEDIATE")?;
        self.database.check().and_then(|()| self.database.write_header_to_wal()).inspect_err(|_| self.roll_back())
    }

    /// Runs a job in a transaction in which nothing has changed. Returns what the job has recorded. If it fails, that
    /// is `None`, and another transaction is begun. An error means that the transaction has to be rolled back.
    fn run_first(&self, job: &mut dyn Job) -> Result<Option<Recorded>> {
        let ran = self.run(job)?;
        if ran.is_none() {
            self.database.command("ROLLBACK")?;
            self.begin()?;
        }
        Ok(ran)
    }

    /// Runs a job after others. If it fails, only its own writes are undone.
    fn run_in_savepoint(&self, job: &mut dyn Job) -> Result<Option<Recorded>> {
        self.database.command("SAVEPOINT job")?;
        let ran = self.run(job)?;
        if ran.is_none() {
            self.database.command("ROLLBACK TO job")?;
        }
        self.database.command("RELEASE job")?;
        Ok(ran)
    }

    fn run(&self, job: &mut dyn Job) -> Result<Option<Recorded>> {
        let ran = job.run(&|| self.transaction());
        if !self.database.in_transaction() {
            // SQLite rolls a transaction back by itself after some errors, for example if the disk is full.
            return Err(match ran {
                Err(error @ (Error::Store(_) | Error::Unavailable(_))) => error,
                _ => StoreErrorKind::Failed("SQLite ended the transaction".to_owned()).into(),
            });
        }
        if ran.is_err() {
            self.cache.clear();
        }
        Ok(ran.ok())
    }

    fn roll_back(&self) {
        if self.database.in_transaction()
            && let Err(error) = self.database.command("ROLLBACK")
        {
            tracing::error!(target: "ticketing::store", %error, "a transaction could not be rolled back");
        }
    }
}

impl Drop for GroupCommit {
    /// Empties the write-ahead log, so that the database is one file.
    fn drop(&mut self) {
        self.checkpointer.stop();
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner);
        let checkpoint = database.final_checkpoint();
        tracing::info!(target: "ticketing::store", "database closed");
        if let Err(error) = &checkpoint {
            tracing::warn!(
                target: "ticketing::store",
                %error,
                "the last checkpoint was not made; it is made when the database is opened again"
            );
        }
        let _ = self.closed.set(checkpoint);
    }
}
