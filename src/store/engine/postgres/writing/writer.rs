//! Write transactions.
//!
//! Jobs that change the sale of an event share transactions, see [`group`](super::group). Every other job has its own.
//!
//! A job is run again in a new transaction if PostgreSQL ended its own to resolve a deadlock, or if the connection was
//! lost before the commit. See [`commits`](super::commits) for what happens if it is lost during the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::event_queues::EventQueues;
use super::server_clock::ServerClock;
use super::write_transaction::BRIEF_LOCKS;
use crate::environment::{Clock, Environment, SystemClock};
use crate::error::{Error, Result, StoreError, Unavailable};
use crate::fair::{Permit, Semaphore, Tenant};
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::connection::Connection as _;
use crate::store::engine::jobs::Job;
use crate::store::engine::lock::EventKey;
use crate::store::engine::postgres::connections::pool::{Borrowed, Pool};
use crate::store::engine::postgres::net::errors::Failure;
use crate::store::engine::postgres::net::write_health::WriteHealth;
use crate::store::engine::postgres::statements::postgres_connection::PostgresConnection;
use crate::store::engine::postgres::statements::write_state::EventLock;
use crate::store::engine::transaction::{Recorded, Transaction};
use crate::store::engine::transaction_cache::TransactionCache;

/// How long a write waits for its permit: longer than for a lock.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// How often a job is run at most, if the server answers.
const MAX_ATTEMPTS: u32 = 12;

/// How long a job is tried again. This is enough for most failovers.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The longest pause before a job is run again.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Runs jobs in write transactions.
pub(in crate::store) struct PostgresWriter {
    pub(in crate::store::engine::postgres) pool: Pool,
    /// As many as the pool has connections.
    permits: Semaphore,
    queues: EventQueues,
    pub(in crate::store::engine::postgres) environment: Environment,
    after_commit: AfterCommit,
    pub(in crate::store::engine::postgres) server_clock: ServerClock,
    /// Whether the clock of the server is that of the service.
    uses_server_clock: bool,
    /// How many callers wait for a transaction or are in one.
    callers: AtomicUsize,
    /// How many of the next groups set savepoints.
    pub(in crate::store::engine::postgres) cautious_groups: AtomicUsize,
    pub(in crate::store::engine::postgres) health: WriteHealth,
    /// Why nothing is written any more.
    pub(in crate::store::engine::postgres) stopped: OnceLock<StoreError>,
}

/// How a job ran.
pub(in crate::store::engine::postgres) enum Ran {
    /// It succeeded, and has recorded this.
    Succeeded(Recorded),
    /// It failed: its own error is the answer.
    Refused,
    /// It ignored that one of its statements failed, or met a row that others have kept locked for too long.
    Failed(Failed),
    /// It seems to have met another schema.
    OtherSchema(Error),
    /// It may succeed when it is run again: it finds what another transaction has written.
    JobAgain(Error),
    /// The transaction has to be undone, and may succeed when it is run again.
    TransactionLost(Error),
}

/// Why a transaction could not begin, or a job was undone: the error replaces that of the job.
pub(in crate::store::engine::postgres) struct Failed {
    pub(in crate::store::engine::postgres) error: Error,
    /// Whether other transactions have kept a row locked for too long.
    pub(in crate::store::engine::postgres) is_busy: bool,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, is_busy: false }
    }
}

/// How an attempt at a transaction ended.
enum Attempt {
    /// It was committed, or the job has failed and was undone.
    Ended(Result<(), Failed>),
    /// It was undone, and may succeed when it is run again.
    RunAgain(Error),
}

/// How a commit ended.
pub(in crate::store::engine::postgres) enum Commit {
    Done,
    /// It was undone, and may succeed when it is run again.
    Undone {
        error: Error,
        run_again: bool,
    },
    /// It was not tried: a statement of the transaction, which was sent with it, has failed.
    JobFailed(Failed),
    Unknown(Error),
}

/// Counts a caller until it is answered, also after a panic.
struct Counted<'w>(&'w AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PostgresWriter {
    /// `connections` is the size of the pool.
    pub(in crate::store::engine::postgres) fn new(
        (pool, connections): (Pool, usize),
        (server_clock, uses_server_clock): (ServerClock, bool),
        environment: Environment,
        after_commit: AfterCommit,
    ) -> Self {
        Self {
            pool,
            permits: Semaphore::new(connections.max(1)),
            queues: EventQueues::default(),
            environment,
            after_commit,
            server_clock,
            uses_server_clock,
            callers: AtomicUsize::new(0),
            cautious_groups: AtomicUsize::new(0),
            health: WriteHealth::new(),
            stopped: OnceLock::new(),
        }
    }

    /// Runs a job in a transaction of its own, and answers it. Returns whether it met a row that others have kept
    /// locked for too long.
    pub(in crate::store::engine::postgres) fn submit(
        &self,
        tenant: Tenant,
        lock: EventLock,
        mut job: Box<dyn Job>,
    ) -> bool {
        let _counted = self.counted();
        let permit = self.require_writable().and_then(|()| self.permit(tenant));
        let ran = permit.map_err(Failed::from).and_then(|_permit| self.run_singly(job.as_mut(), lock));
        let is_busy = matches!(ran, Err(Failed { is_busy: true, .. }));
        job.answer(ran.map_err(Error::from));
        is_busy
    }

    /// Runs a job in a transaction that locks the event, with others that wait for it. The event is one of the tenant.
    /// The job names it by `key` when it locks it.
    pub(in crate::store::engine::postgres) fn submit_to_queue(
        &self,
        tenant: Tenant,
        event: EventId,
        key: EventKey,
        job: Box<dyn Job>,
    ) {
        let _counted = self.counted();
        if let Err(error) = self.require_writable() {
            return job.answer(Err(error));
        }
        let wait = self.queues.add(event, key, job);
        while let Some(leader) = wait.leader() {
            // Code of the embedding program runs in it. If it panics, the callers of the group get an error.
            let led = catch_unwind(AssertUnwindSafe(|| match self.permit(tenant) {
                Ok(_permit) => self.lead(&leader),
                Err(error) => leader.refuse_all(&error),
            }));
            if led.is_err() {
                tracing::error!(target: "ticketing::store", "a panic undid a transaction");
            }
        }
    }

    /// Waits for the right to use a connection.
    fn permit(&self, tenant: Tenant) -> Result<Permit> {
        self.permits.acquire(tenant, MAX_WAIT, || false).ok_or(Error::Unavailable(Unavailable::Busy))
    }

    fn counted(&self) -> Counted<'_> {
        self.callers.fetch_add(1, Ordering::Relaxed);
        Counted(&self.callers)
    }

    /// How many callers wait for a transaction or are in one.
    pub(in crate::store) fn waiting(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    /// Whether the last attempt to reach the server, or to commit, failed.
    pub(in crate::store) fn last_write_failed(&self) -> bool {
        self.health.is_failing()
    }

    /// Runs a job in a transaction of its own, until it is neither lost nor undone. An error replaces that of the job.
    pub(in crate::store::engine::postgres) fn run_singly(
        &self,
        job: &mut dyn Job,
        lock: EventLock,
    ) -> Result<(), Failed> {
        let start = SystemClock.monotonic();
        let mut attempts = 1;
        loop {
            let error = match self.attempt(job, lock, attempts) {
                Attempt::Ended(result) => return result,
                Attempt::RunAgain(error) => error,
            };
            let is_late = SystemClock.monotonic().saturating_sub(start) >= MAX_TIME;
            if is_late || (attempts >= MAX_ATTEMPTS && !self.last_write_failed()) {
                return Err(error.into());
            }
            self.pause(attempts);
            attempts += 1;
        }
    }

    fn attempt(&self, job: &mut dyn Job, lock: EventLock, attempts: u32) -> Attempt {
        let start = self.instant();
        let (connection, began_at) = match self.begin(lock, false) {
            Ok(begun) => begun,
            Err(failed) if failed.is_busy || matches!(failed.error, Error::Store(_)) => {
                return Attempt::Ended(Err(failed));
            }
            Err(failed) => return Attempt::RunAgain(failed.error),
        };
        connection.write.attempts.set(attempts);
        let ran = self.run_job(&connection, job, began_at, &Rc::default());
        if let Ran::Succeeded(recorded) = ran {
            return match self.commit(connection, began_at) {
                Commit::Done => {
                    self.committed(1, start, recorded);
                    Attempt::Ended(Ok(()))
                }
                Commit::Undone { error, run_again: true } => Attempt::RunAgain(error),
                Commit::JobFailed(failed) => Attempt::Ended(Err(failed)),
                Commit::Undone { error, run_again: false } | Commit::Unknown(error) => {
                    self.commit_failed();
                    Attempt::Ended(Err(error.into()))
                }
            };
        }
        connection.roll_back();
        let ran = match ran {
            Ran::OtherSchema(error) => Ran::Failed(self.other_schema(&connection, error).into()),
            ran => ran,
        };
        self.pool.give_back(connection);
        match ran {
            Ran::Succeeded(_) | Ran::Refused => Attempt::Ended(Ok(())),
            Ran::Failed(failed) => Attempt::Ended(Err(failed)),
            Ran::OtherSchema(error) => Attempt::Ended(Err(error.into())),
            Ran::JobAgain(error) | Ran::TransactionLost(error) => Attempt::RunAgain(error),
        }
    }

    /// Why nothing is written any more: a newer program has migrated the database.
    pub(in crate::store) fn stopped(&self) -> Option<&StoreError> {
        self.stopped.get()
    }

    /// Begins a transaction, which locks the event. Each of its jobs may have a savepoint. Returns the time by the clock
    /// of the server. Another attempt would fail with the same [`Error::Store`].
    pub(in crate::store::engine::postgres) fn begin(
        &self,
        lock: EventLock,
        has_savepoints: bool,
    ) -> Result<(Borrowed, Timestamp), Failed> {
        if let Some(reason) = self.stopped() {
            return Err(Error::from(reason.clone()).into());
        }
        let unreachable = |_: &Error| self.health.failed();
        let open_on = |connection: &PostgresConnection| {
            let begun = match lock {
                EventLock::Held(event, _) => connection.begin_locked(event, "", has_savepoints, &self.server_clock),
                EventLock::Background(event, _) => {
                    connection.begin_locked(event, BRIEF_LOCKS, has_savepoints, &self.server_clock)
                }
                _ => connection.begin_write(&self.server_clock),
            };
            connection.write.event_lock.set(lock);
            begun
        };
        let mut connection = self.pool.take().inspect_err(unreachable)?;
        let mut begun = open_on(&connection);
        if connection.is_lost() {
            // The server has ended this connection a moment ago.
            connection = self.pool.reopen(connection, Duration::MAX).inspect_err(unreachable)?;
            begun = open_on(&connection);
        }
        match begun {
            Ok(time) => Ok((connection, time)),
            Err(error) => {
                if connection.is_lost() || connection.failure() == Some(Failure::ReadOnly) {
                    unreachable(&error);
                }
                let failure = connection.failure();
                connection.roll_back();
                let error = match failure {
                    Some(Failure::OtherSchema) => self.other_schema(&connection, error),
                    _ => error,
                };
                self.pool.give_back(connection);
                Err(Failed { error, is_busy: failure == Some(Failure::LockTimeout) })
            }
        }
    }

    /// Runs a job. What it has written is not yet undone if it fails.
    pub(in crate::store::engine::postgres) fn run_job(
        &self,
        connection: &PostgresConnection,
        job: &mut dyn Job,
        began_at: Timestamp,
        cache: &Rc<TransactionCache>,
    ) -> Ran {
        let ran = job.run(&|| {
            let now = if self.uses_server_clock { began_at } else { self.environment.now() };
            let mut transaction = Transaction::new(connection, now, &self.environment);
            transaction.cache = Rc::clone(cache);
            transaction
        });
        match (ran, connection.failure()) {
            (Ok(recorded), None) => Ran::Succeeded(recorded),
            // Also if the job has handled the failure.
            (_, Some(Failure::RunAgain)) => Ran::TransactionLost(Error::Unavailable(Unavailable::Busy)),
            (_, Some(Failure::ConnectionLost)) => {
                self.health.failed();
                Ran::TransactionLost(Error::Unavailable(Unavailable::NoAnswer))
            }
            (Err(error), Some(Failure::ReadOnly)) => {
                self.health.failed();
                Ran::Failed(error.into())
            }
            (Err(error), Some(Failure::OtherSchema)) => Ran::OtherSchema(error),
            (_, Some(Failure::LockTimeout)) => {
                Ran::Failed(Failed { error: Error::Unavailable(Unavailable::Busy), is_busy: true })
            }
            (Err(error), _) if connection.must_run_again(&error) => Ran::JobAgain(error),
            (Err(_), _) => Ran::Refused,
            (Ok(_), Some(_)) => {
                Ran::Failed(Error::Internal("an operation ignored that one of its statements failed".to_owned()).into())
            }
        }
    }

    /// Reports a commit that failed, and whose jobs are not run again.
    pub(in crate::store::engine::postgres) fn commit_failed(&self) {
        self.after_commit.commit_failed();
        self.health.failed();
    }

    /// Reports a commit of `jobs` jobs that began at `start`.
    pub(in crate::store::engine::postgres) fn committed(&self, jobs: usize, start: Duration, recorded: Recorded) {
        self.after_commit.committed(jobs, self.instant().saturating_sub(start), recorded);
    }

    /// The time for the statistics. The clock of the embedding program may panic, but a commit must not be lost by
    /// that.
    pub(in crate::store::engine::postgres) fn instant(&self) -> Duration {
        catch_unwind(AssertUnwindSafe(|| self.environment.clock.monotonic())).unwrap_or_default()
    }

    /// Waits for a random time, which is longer after more attempts.
    pub(in crate::store::engine::postgres) fn pause(&self, attempts: u32) {
        let longest = Duration::from_millis(2_u64 << attempts.min(10)).min(MAX_PAUSE);
        let mut random = [0; 2];
        self.environment.entropy.fill(&mut random);
        std::thread::sleep(longest.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX)));
    }
}
