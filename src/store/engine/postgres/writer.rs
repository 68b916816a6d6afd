//! Write transactions: each job has its own.
//!
//! A job is run again in a new transaction if PostgreSQL ended its own to resolve a deadlock, or if the connection was lost
//! before the commit. If it is lost during the commit, the outcome is unknown at first. So each transaction inserts a random
//! token, and the same token is inserted afterwards on another connection: that fails if the transaction was committed,
//! waits if it is still running, and keeps it from being committed otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::connection::PostgresConnection;
use super::errors::Failure;
use super::pool::Pool;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreErrorKind};
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::connection::Connection;
use crate::store::engine::ids::IdSource;
use crate::store::engine::readers::ReaderPool;
use crate::store::engine::transaction::{Recorded, Transaction};

/// How often a job is run at most.
const MAX_ATTEMPTS: u32 = 12;

/// The longest pause before a job is run again.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// How often the outcome of a commit is asked for at most. With the pauses, and the time that a new connection may take,
/// this lasts for about a minute.
const MAX_QUESTIONS: u32 = 60;

/// Runs jobs in write transactions.
pub(super) struct PostgresWriter {
    pool: Pool,
    environment: Environment,
    ids: Arc<IdSource>,
    after_commit: AfterCommit,
    /// Whether the time of a transaction is that of the server.
    clock_of_server: bool,
    /// How many callers wait for a transaction or are in one.
    callers: AtomicUsize,
    /// Whether the last attempt to commit failed.
    write_failed: AtomicBool,
}

/// How an attempt at a transaction ended.
enum Attempt<T> {
    /// It was committed, or the job has failed and was undone.
    Ended(Result<T>),
    /// It was undone, and may succeed when it is run again.
    RunAgain(Error),
}

/// How a commit ended.
enum Commit {
    Done,
    /// It was undone, and may succeed when it is run again.
    RunAgain(Error),
    Failed(Error),
}

impl PostgresWriter {
    pub(super) fn new(
        pool: Pool,
        clock_of_server: bool,
        environment: Environment,
        ids: Arc<IdSource>,
        after_commit: AfterCommit,
    ) -> Self {
        let (callers, write_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { pool, environment, ids, after_commit, clock_of_server, callers, write_failed }
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. If `work` fails or panics,
    /// nothing is changed.
    pub(super) fn write<T>(&self, work: impl Fn(&Transaction<'_>) -> Result<T>) -> Result<T> {
        /// Counts the caller until it is answered, also after a panic.
        struct Counted<'w>(&'w AtomicUsize);

        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }

        self.callers.fetch_add(1, Ordering::Relaxed);
        let _counted = Counted(&self.callers);
        let mut attempts = 1;
        loop {
            match self.attempt(&work) {
                Attempt::Ended(result) => return result,
                Attempt::RunAgain(error) if attempts == MAX_ATTEMPTS => return Err(error),
                Attempt::RunAgain(_) => self.pause(attempts),
            }
            attempts += 1;
        }
    }

    /// How many callers wait for a transaction or are in one.
    pub(super) fn callers(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    /// Whether the last attempt to commit failed.
    pub(super) fn last_write_failed(&self) -> bool {
        self.write_failed.load(Ordering::Relaxed)
    }

    /// Commits a transaction that changes nothing but its token, to find out whether the database accepts writes.
    pub(super) fn probe(&self) -> Result<()> {
        self.write(|_| Ok(()))
    }

    fn attempt<T>(&self, work: &impl Fn(&Transaction<'_>) -> Result<T>) -> Attempt<T> {
        let start = self.environment.clock.monotonic();
        let connection = match self.pool.take() {
            Ok(connection) => connection,
            Err(error) => return Attempt::Ended(Err(error)),
        };
        let now = match connection.begin_write() {
            Ok(of_server) if self.clock_of_server => of_server,
            Ok(_) => self.environment.now(),
            Err(error) => return Attempt::RunAgain(error),
        };
        let mut recorded = Recorded::default();
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let transaction = Transaction::new(&*connection, now, &self.environment, &self.ids);
            let transaction = transaction.with_subscribers(self.after_commit.has_subscribers());
            let result = work(&transaction);
            recorded = transaction.into_recorded();
            result
        }));
        let result = ran.unwrap_or_else(|_| Err(Error::Internal("the operation panicked and was undone".to_owned())));
        let value = match (result, connection.failure()) {
            (Ok(value), None) => value,
            // After a violation that the job does not handle, it finds the row of the other transaction.
            (Err(error), Some(Failure::RunAgain | Failure::ConnectionLost | Failure::Violation))
                if is_temporary(&error) =>
            {
                roll_back(&connection);
                return Attempt::RunAgain(error);
            }
            (Err(error), _) => {
                roll_back(&connection);
                return Attempt::Ended(Err(error));
            }
            (Ok(_), Some(_)) => {
                roll_back(&connection);
                let problem = "an operation ignored that one of its statements failed".to_owned();
                return Attempt::Ended(Err(Error::Internal(problem)));
            }
        };
        match self.commit(&connection) {
            Commit::Done => {
                self.write_failed.store(false, Ordering::Relaxed);
                let duration = self.environment.clock.monotonic().saturating_sub(start);
                self.after_commit.committed(1, duration, recorded);
                Attempt::Ended(Ok(value))
            }
            Commit::RunAgain(error) => Attempt::RunAgain(error),
            Commit::Failed(error) => {
                self.after_commit.commit_failed();
                self.write_failed.store(true, Ordering::Relaxed);
                Attempt::Ended(Err(error))
            }
        }
    }

    fn commit(&self, connection: &PostgresConnection) -> Commit {
        let token = self.token();
        let Err(error) = connection.batch(&format!("{}; COMMIT", insert_token(token))) else { return Commit::Done };
        match connection.failure() {
            Some(Failure::ConnectionLost) => self.outcome(token, &error),
            Some(Failure::RunAgain) => {
                roll_back(connection);
                Commit::RunAgain(error)
            }
            _ => {
                roll_back(connection);
                Commit::Failed(error)
            }
        }
    }

    /// Finds out how a commit ended whose connection was lost.
    fn outcome(&self, token: i64, error: &Error) -> Commit {
        for question in 1..=MAX_QUESTIONS {
            let inserted = self.pool.take().and_then(|connection| {
                let sql = "INSERT INTO transaction_tokens (token, created_at) VALUES (?1, ?2)
                    ON CONFLICT (token) DO NOTHING";
                Ok(connection.execute(sql, &[token.into(), self.environment.now().into()])?)
            });
            match inserted {
                Ok(0) => return Commit::Done,
                Ok(_) => return Commit::RunAgain(error.clone()),
                Err(_) => self.pause(question),
            }
        }
        tracing::error!(target: "ticketing::store", "it is not known whether a transaction was committed");
        Commit::Failed(Error::Unavailable("the database does not answer: it is not known whether this was done"))
    }

    fn token(&self) -> i64 {
        let mut bytes = [0; 8];
        self.environment.entropy.fill(&mut bytes);
        i64::from_le_bytes(bytes)
    }

    /// Waits for a random time, which is longer after more attempts.
    fn pause(&self, attempts: u32) {
        let longest = Duration::from_millis(2_u64 << attempts.min(10)).min(MAX_PAUSE);
        let mut random = [0; 2];
        self.environment.entropy.fill(&mut random);
        std::thread::sleep(longest.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX)));
    }
}

/// Whether a job that failed with this error may succeed when it is run again. What the job has found in what it read is
/// final.
fn is_temporary(error: &Error) -> bool {
    match error {
        Error::Unavailable(_) => true,
        Error::Store(error) => matches!(error.kind(), StoreErrorKind::Taken(_)),
        _ => false,
    }
}

/// The statement that inserts the token of a transaction. It has no parameters, so that it is sent with the commit.
fn insert_token(token: i64) -> String {
    let millis = "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000 AS BIGINT)";
    format!("INSERT INTO transaction_tokens (token, created_at) VALUES ({token}, {millis})")
}

fn roll_back(connection: &PostgresConnection) {
    if !connection.is_lost()
        && let Err(error) = connection.batch("ROLLBACK")
    {
        tracing::debug!(target: "ticketing::store", %error, "a transaction could not be rolled back");
    }
}
