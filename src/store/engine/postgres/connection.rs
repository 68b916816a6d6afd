//! Connections to PostgreSQL, and the statements that run on them.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, SimpleQueryMessage};

use super::errors::{Failure, convert, failure, statement_error};
use super::locks;
use super::statements::Statements;
use crate::environment::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::model::timestamp::Timestamp;
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::lock::{Lock, RowLock};
use crate::store::engine::row::Row;
use crate::store::engine::values::Bind;
use crate::store::engine::violation::StatementError;

/// A connection to PostgreSQL.
pub(super) struct PostgresConnection {
    client: RefCell<Client>,
    statements: RefCell<Statements>,
    /// What the first failed statement of the transaction means for it.
    failure: Cell<Option<Failure>>,
    /// When the server last answered, by the monotonic clock of the system.
    answered_at: Cell<Duration>,
}

/// How long a connection may be idle before it is checked: the server may have ended it.
const FRESH: Duration = Duration::from_secs(1);

/// How many savepoints a transaction should have at most. With more than 64, the snapshots of all other transactions cost
/// more, because PostgreSQL keeps so many in shared memory.
const MAX_SAVEPOINTS: usize = 50;

impl PostgresConnection {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client: RefCell::new(client),
            statements: RefCell::default(),
            failure: Cell::new(None),
            answered_at: Cell::new(SystemClock.monotonic()),
        }
    }

    /// Runs statements without parameters in one request to the server.
    pub(super) fn batch(&self, sql: &str) -> Result<()> {
        self.noting_failure(|| self.client.borrow_mut().batch_execute(sql)).map_err(convert)
    }

    /// Begins a transaction that writes. Returns the time of the server.
    pub(super) fn begin_write(&self) -> Result<Timestamp> {
        let sql = "BEGIN; SELECT CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000 AS BIGINT)";
        let answer = self.noting_failure(|| self.client.borrow_mut().simple_query(sql)).map_err(convert)?;
        let time = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        let time = time.and_then(|millis| Timestamp::from_millis(millis).ok());
        time.ok_or_else(|| Error::Internal("the database server has no time".to_owned()))
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
    fn noting_failure<T>(&self, call: impl FnOnce() -> Result<T, postgres::Error>) -> Result<T, postgres::Error> {
        call().inspect(|_| self.answered_at.set(SystemClock.monotonic())).inspect_err(|error| {
            let known = self.failure.get();
            let found = failure(error);
            if known.is_none() || found == Failure::ConnectionLost {
                self.failure.set(Some(found));
            }
        })
    }
}

impl Connection for PostgresConnection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        let changed = self.noting_failure(|| {
            let mut client = self.client.borrow_mut();
            let prepared = self.statements.borrow_mut().prepare(&mut client, sql, binds)?;
            let mut rows = client.query_raw(&prepared.statement, binds)?;
            while rows.next()?.is_some() {}
            Ok(rows.rows_affected().unwrap_or(0))
        });
        let changed = changed.map_err(statement_error)?;
        if sql.starts_with("ROLLBACK TO ") && !self.is_lost() {
            self.forget_failure();
        }
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        // PostgreSQL's texts have no NUL, so that no row has a text with one.
        if binds.iter().any(|bind| matches!(bind, Bind::Text(text) if text.contains('\0'))) {
            return Ok(());
        }
        // All rows are received first: `visit` may run other statements.
        let (rows, columns) = self
            .noting_failure(|| {
                let mut client = self.client.borrow_mut();
                let prepared = self.statements.borrow_mut().prepare(&mut client, sql, binds)?;
                let rows: Vec<_> = client.query_raw(&prepared.statement, binds)?.collect()?;
                Ok((rows, prepared.columns))
            })
            .map_err(convert)?;
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

    fn lock(&self, lock: Lock<'_>) -> Result<()> {
        let (sql, id) = locks::statement(lock);
        let binds = id.as_slice();
        self.execute(sql, binds).map(drop).map_err(Error::from)
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
