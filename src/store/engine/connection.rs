//! The interface between a transaction and an engine.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::lock::Lock;
use super::sql::query::Query;
use super::sql::row::Row;
use super::sql::values::Bind;
use super::sql::violation::StatementError;
use crate::error::{Error, Result};
use crate::model::values::id::OrganizationId;

/// A connection with an open transaction, or one whose statements each see the newest state.
///
/// The text of a statement is the same for every engine: `?1`, `?2`, … are its parameters, and each statement is
/// prepared once for each connection.
pub(in crate::store) trait Connection {
    /// Runs a statement. Returns how many rows it changed.
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError>;

    /// Runs a statement like [`execute`](Self::execute), if nobody needs the number of rows. An engine may send it
    /// together with a later one, which fails if this one does.
    fn execute_later(&self, sql: &str, binds: &[Bind<'_>]) -> Result<()> {
        self.execute(sql, binds).map(drop).map_err(Error::from)
    }

    /// Inserts one row. Returns `false` if it ignored a conflict with another row.
    ///
    /// An engine may send the statement together with a later one and return `true`. If it turns out then that no row
    /// was inserted, the transaction is run again.
    fn insert_row(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool, StatementError> {
        self.execute(sql, binds).map(|rows| rows == 1)
    }

    /// Runs a query and passes its rows to `visit`, until that breaks or fails.
    fn query(&self, query: Query<'_>, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Whether queries are only announced now: their rows are received with those of the next statement, and kept for
    /// the same query. `None` if the engine answers each query at once.
    fn reads_ahead(&self) -> Option<&Cell<bool>> {
        None
    }

    /// Like [`query`](Self::query), for a page of a list whose rows can be long. The page ends when it has 4 MiB. An
    /// engine that receives all rows before the first is visited asks for few that the page has no room for.
    fn query_page(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        self.query(sql.into(), binds, visit)
    }

    /// Like [`query`](Self::query), for a query without parameters that returns rows of a whole table. An engine keeps
    /// only some of them in memory. Runs in a transaction, and `visit` runs no other such query.
    fn query_table(&self, sql: &str, visit: &mut Visit<'_>) -> Result<()> {
        self.query(sql.into(), &[], visit)
    }

    /// Sets a savepoint. Savepoints can be nested.
    fn set_savepoint(&self) -> Result<()>;

    /// Keeps what was written since the last savepoint, and removes the savepoint.
    fn release_savepoint(&self) -> Result<()>;

    /// Undoes what was written since the last savepoint, and removes the savepoint.
    fn undo_savepoint(&self) -> Result<()>;

    /// Whether the transaction has to be run again after this error of a job, and cannot go on after a part of it is
    /// undone.
    fn must_run_again(&self, _: &Error) -> bool {
        false
    }

    /// Locks rows for the rest of the transaction. Does nothing if the engine has only one write transaction at a time.
    fn lock(&self, lock: Lock<'_>) -> Result<()>;

    /// Runs a query for one row, which has an `id`. If the row does not exist, only this transaction may insert it until
    /// it ends. If another transaction is inserting the row, this fails, and the job is run again. The key stands for
    /// the row.
    fn query_or_lock(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        _key: (OrganizationId, &str),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.query(sql.into(), binds, visit)
    }

    /// Makes this transaction the only one that deletes old rows, until it ends. Returns `false` if another one is.
    fn try_lock_cleanup(&self) -> Result<bool>;

    /// How many savepoints a transaction should have at most.
    fn max_savepoints(&self) -> usize;
}

/// What a query does with each row.
pub(super) type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>> + 'v;
