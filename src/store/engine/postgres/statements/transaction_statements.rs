//! The statements of a transaction on a connection to PostgreSQL, and the time that a read may take.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use postgres::types::ToSql;

use super::locks;
use super::postgres_connection::{PostgresConnection, QueuedKind};
use super::prepared::Prepared;
use crate::environment::Clock;
use crate::error::{Error, Result, Unavailable};
use crate::model::values::id::OrganizationId;
use crate::store::engine::connection::{Connection, Visit};
use crate::store::engine::deadline::Deadline;
use crate::store::engine::lock::Lock;
use crate::store::engine::postgres::net::errors::Failure;
use crate::store::engine::readers::ReadConnection;
use crate::store::engine::sql::query::{Access, Query};
use crate::store::engine::sql::row::Row;
use crate::store::engine::sql::values::{Bind, FromValue};
use crate::store::engine::sql::violation::StatementError;

/// How many savepoints a transaction should have at most. With more than 64, the snapshots of all other transactions
/// cost more, because PostgreSQL keeps so many in shared memory.
const MAX_SAVEPOINTS: usize = 50;

impl Connection for PostgresConnection {
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError> {
        let prepared = self.prepare(sql, binds)?;
        let changed = self.request(|client| async move { client.execute_raw(&prepared.statement, binds).await })?;
        if changed > 0 {
            self.write.changes();
        }
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn execute_later(&self, sql: &str, binds: &[Bind<'_>]) -> Result<()> {
        self.write.changes();
        Ok(self.queue_statement(QueuedKind::Statement, sql, binds)?)
    }

    fn insert_row(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool, StatementError> {
        self.write.changes();
        self.queue_statement(QueuedKind::Insert, sql, binds).map(|()| true)
    }

    fn query(&self, Query { sql, access }: Query<'_>, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        // PostgreSQL's texts have no NUL, so that no row has a text with one.
        if binds.iter().any(|bind| matches!(bind, Bind::Text(text) if text.contains('\0'))) {
            return Ok(());
        }
        let sql = match access {
            Access::Read | Access::Change => Cow::Borrowed(sql),
            Access::Lock(lock) => format!("{sql} {}", locks::clause(lock)).into(),
        };
        let Prepared { statement, columns, .. } = self.prepare(&sql, binds)?;
        if self.reads_ahead.get() {
            self.queue_query(&sql, statement, binds);
            return Ok(());
        }
        let ahead = self.ahead.borrow_mut().take(&sql, binds);
        if ahead.as_ref().is_some_and(|rows| rows.get().is_none()) {
            self.flush()?;
        }
        // All rows are received first: `visit` may run other statements.
        let rows = match ahead.and_then(Arc::into_inner).and_then(OnceLock::into_inner) {
            Some(rows) => rows,
            None => {
                let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
                self.request(|client| async move { client.query(&statement, &binds).await })?
            }
        };
        // A statement that changes something returns what it has changed.
        if matches!(access, Access::Change) && !rows.is_empty() {
            self.write.changes();
        }
        for row in &rows {
            if visit(&Row::new(row, &columns))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn reads_ahead(&self) -> Option<&Cell<bool>> {
        Some(&self.reads_ahead)
    }

    fn query_page(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        self.visit_page(sql, binds, visit)
    }

    fn query_table(&self, sql: &str, visit: &mut Visit<'_>) -> Result<()> {
        self.visit_in_steps(sql, visit)
    }

    fn set_savepoint(&self) -> Result<()> {
        self.write.add_savepoint();
        self.batch("SAVEPOINT step")
    }

    fn release_savepoint(&self) -> Result<()> {
        self.batch("RELEASE step")
    }

    fn undo_savepoint(&self) -> Result<()> {
        // It was queued after the savepoint, which was not queued.
        self.clear_queue();
        self.batch("ROLLBACK TO step; RELEASE step")?;
        // A deadlock is resolved by running the whole transaction again, and a lock is not waited for twice.
        let ends_transaction = matches!(self.failure(), Some(Failure::RunAgain | Failure::LockTimeout));
        if !ends_transaction && !self.is_lost() {
            self.forget_failure();
        }
        Ok(())
    }

    fn must_run_again(&self, error: &Error) -> bool {
        match self.failure() {
            Some(Failure::RunAgain | Failure::JobAgain | Failure::ConnectionLost) => true,
            // The job does not handle the violation: next time it finds the row of the other transaction.
            Some(Failure::Violation) => matches!(error, Error::Store(_)) && !self.write.has_run_often(),
            Some(Failure::ReadOnly | Failure::OtherSchema | Failure::LockTimeout | Failure::Other) | None => false,
        }
    }

    fn lock(&self, lock: Lock<'_>) -> Result<()> {
        if let Lock::Event(event) = lock
            && !self.write.must_lock(event)
        {
            return Ok(());
        }
        let (sql, id) = locks::statement(lock);
        Ok(self.queue_statement(QueuedKind::Statement, sql, id.as_slice())?)
    }

    fn query_or_lock(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        (organization, key): (OrganizationId, &str),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let mut binds: Vec<_> = binds.iter().map(Bind::borrowed).collect();
        binds.push(locks::hash(organization, key).into());
        let sql = locks::or_lock(sql, binds.len());
        self.query(sql.as_str().into(), &binds, &mut |row| match row.get("is_locked")? {
            None => visit(row),
            Some(true) => Ok(ControlFlow::Break(())),
            Some(false) => {
                // To wait for the other transaction could be a deadlock, because both have orders of several customers.
                self.note(Failure::JobAgain);
                Err(Error::Unavailable(Unavailable::Busy))
            }
        })
    }

    fn try_lock_cleanup(&self) -> Result<bool> {
        Ok(self.first_value(locks::TRY_CLEANUP, &[], "is_locked")? == Some(true))
    }

    fn max_savepoints(&self) -> usize {
        MAX_SAVEPOINTS
    }
}

impl ReadConnection for PostgresConnection {
    fn begin(&self) -> Result<()> {
        // Sent with the first query.
        self.queue_batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        Ok(())
    }

    fn begin_snapshot(&self) -> Result<()> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT 1").inspect_err(|_| self.end())
    }

    fn end(&self) {
        // If it fails, the connection is lost, which the next statement notices.
        self.queue_batch("ROLLBACK");
        self.send_queue();
    }

    fn set_deadline(&self, max_time: Duration, clock: &Arc<dyn Clock>) -> Result<()> {
        self.limit(Some(Deadline::new(max_time, clock)));
        // If this process is stopped, the server ends the scan.
        self.queue_batch(format!("SET statement_timeout = {}", max_time.as_millis().max(1)));
        Ok(())
    }

    fn remove_deadline(&self) {
        self.limit(None);
        self.queue_batch("SET statement_timeout = 0");
    }
}

impl PostgresConnection {
    /// The value of a column of the first row, if there is one.
    pub(in crate::store::engine::postgres) fn first_value<T: FromValue>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        column: &'static str,
    ) -> Result<Option<T>> {
        let mut value = None;
        self.query(sql.into(), binds, &mut |row| {
            value = Some(row.get(column)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(value)
    }
}
