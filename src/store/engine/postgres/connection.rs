//! Connections to PostgreSQL, and the statements that run on them.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, SimpleQueryMessage};

use super::errors::{Failure, convert, failure, statement_error};
use super::locks;
use super::purpose::Purpose;
use super::statements::Statements;
use super::write_state::WriteState;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::lock::{Lock, RowLock};
use crate::store::engine::row::Row;
use crate::store::engine::values::Bind;
use crate::store::engine::violation::StatementError;

/// A connection to PostgreSQL.
pub(super) struct PostgresConnection {
    client: RefCell<Client>,
    purpose: Purpose,
    statements: RefCell<Statements>,
    /// What the first failed statement of the transaction means for it.
    failure: Cell<Option<Failure>>,
    /// The state of the transaction that writes.
    pub(super) write: WriteState,
    /// When the server last answered, by the monotonic clock of the system.
    answered_at: Cell<Duration>,
}

/// How long a connection may be idle before it is checked: the server may have ended it.
const FRESH: Duration = Duration::from_secs(1);

/// How many savepoints a transaction should have at most. With more than 64, the snapshots of all other transactions cost
/// more, because PostgreSQL keeps so many in shared memory.
const MAX_SAVEPOINTS: usize = 50;

impl PostgresConnection {
    pub(super) fn new(client: Client, purpose: Purpose) -> Self {
        Self {
            client: RefCell::new(client),
            purpose,
            statements: RefCell::default(),
            failure: Cell::new(None),
            write: WriteState::default(),
            answered_at: Cell::new(SystemClock.monotonic()),
        }
    }

    /// Runs statements without parameters in one request to the server.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        self.noting_failure(|| self.client.borrow_mut().batch_execute(sql)).map_err(|error| self.convert(error))
    }

    /// Runs statements without parameters, and returns their rows as text.
    pub(super) fn simple_query(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.noting_failure(|| self.client.borrow_mut().simple_query(sql)).map_err(|error| self.convert(error))
    }

    /// What the first failed statement since [`forget_failure`](Self::forget_failure) means.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// Forgets the failed statements, because a new transaction begins.
    pub(super) fn forget_failure(&self) {
        self.failure.set(None);
    }

    /// Whether the connection cannot be used any more.
    pub(super) fn is_lost(&self) -> bool {
        self.failure.get() == Some(Failure::ConnectionLost) || self.client.borrow().is_closed()
    }

    /// Whether the server answered a moment ago.
    pub(super) fn is_fresh(&self) -> bool {
        SystemClock.monotonic().saturating_sub(self.answered_at.get()) < FRESH
    }

    /// Fails if the server does not answer.
    pub(super) fn check(&self) -> Result<(), postgres::Error> {
        self.noting_failure(|| self.client.borrow_mut().check_connection())
    }

    /// Runs `call`, and notes what it means if it fails.
    pub(super) fn noting_failure<T>(
        &self,
        call: impl FnOnce() -> Result<T, postgres::Error>,
    ) -> Result<T, postgres::Error> {
        call().inspect(|_| self.answered_at.set(SystemClock.monotonic())).inspect_err(|error| {
            let found = failure(error);
            // The first failure aborts the transaction, and the others follow from it.
            if self.failure.get().is_none() || found == Failure::ConnectionLost {
                self.failure.set(Some(found));
            }
        })
    }

    pub(super) fn convert(&self, error: postgres::Error) -> Error {
        convert(error, self.purpose)
    }

    fn run(&self, sql: &str, binds: &[Bind<'_>]) -> Result<u64, StatementError> {
        let changed = self.noting_failure(|| {
            let mut client = self.client.borrow_mut();
            let prepared = self.statements.borrow_mut().prepare(&mut client, sql, binds)?;
            let mut rows = client.query_raw(&prepared.statement, binds)?;
            while rows.next()?.is_some() {}
            Ok(rows.rows_affected().unwrap_or(0))
        });
        changed.map_err(|error| statement_error(error, self.purpose))
    }
}

/// The first column of a row.
pub(super) fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}

impl Connection for PostgresConnection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        self.write.executed(sql);
        let changed = self.run(sql, binds)?;
        // A deadlock in a savepoint is resolved by running the whole transaction again.
        let is_undone = sql.starts_with("ROLLBACK TO ") && self.failure() != Some(Failure::RunAgain);
        if is_undone && !self.is_lost() {
            self.forget_failure();
        }
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        // PostgreSQL's texts have no NUL, so that no row has a text with one.
        if binds.iter().any(|bind| matches!(bind, Bind::Text(text) if text.contains('\0'))) {
            return Ok(());
        }
        if !sql.starts_with("SELECT ") {
            self.write.executed(sql);
        }
        // All rows are received first: `visit` may run other statements.
        let (rows, columns) = self
            .noting_failure(|| {
                let mut client = self.client.borrow_mut();
                let prepared = self.statements.borrow_mut().prepare(&mut client, sql, binds)?;
                let rows: Vec<_> = client.query_raw(&prepared.statement, binds)?.collect()?;
                Ok((rows, prepared.columns))
            })
            .map_err(|error| self.convert(error))?;
        for row in &rows {
            if visit(&Row::new(row, &columns))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn query_locking(&self, lock: RowLock, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        self.query(&format!("{sql} {}", locks::clause(lock)), binds, visit)
    }

    fn must_run_again(&self, error: &Error) -> bool {
        match self.failure() {
            Some(Failure::RunAgain | Failure::ConnectionLost) => true,
            // The job does not handle the violation: next time it finds the row of the other transaction.
            Some(Failure::Violation) => matches!(error, Error::Store(_)) && !self.write.has_run_often(),
            Some(Failure::Other) | None => false,
        }
    }

    fn lock(&self, lock: Lock<'_>) -> Result<()> {
        if let Lock::Event(event) = lock
            && self.write.has_locked(event)
        {
            return Ok(());
        }
        let (sql, id) = locks::statement(lock);
        self.run(sql, id.as_slice()).map(drop).map_err(Error::from)
    }

    fn try_lock_cleanup(&self) -> Result<bool> {
        let mut is_locked = false;
        self.query(locks::TRY_CLEANUP, &[], &mut |row| {
            is_locked = row.get("is_locked")?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_locked)
    }

    fn max_savepoints(&self) -> usize {
        MAX_SAVEPOINTS
    }
}
