//! The interface between a transaction and an engine.

use std::ops::ControlFlow;

use super::lock::{Lock, RowLock};
use super::sql::row::Row;
use super::sql::values::Bind;
use super::sql::violation::StatementError;
use crate::error::{Error, Result};
use crate::model::values::id::OrganizationId;

/// A connection with an open transaction, or one whose statements each see the newest state.
///
/// The text of a statement is the same for every engine: `?1`, `?2`, … are its parameters, and each statement is
/// prepared once for each connection.
pub(super) trait Connection {
    /// Runs a statement. Returns how many rows it changed.
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError>;

    /// Runs a query and passes its rows to `visit`, until that breaks or fails.
    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Like [`query`](Self::query), for a page of a list whose rows can be long. The page ends when it has 4 MiB. An engine
    /// that receives all rows before the first is visited asks for few that the page has no room for.
    fn query_page(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()> {
        self.query(sql, binds, visit)
    }

    /// Like [`query`](Self::query), for a query without parameters that returns rows of a whole table. An engine keeps only
    /// some of them in memory. Runs in a transaction, and `visit` runs no other such query.
    fn query_table(&self, sql: &str, visit: &mut Visit<'_>) -> Result<()> {
        self.query(sql, &[], visit)
    }

    /// Like [`query`](Self::query), and locks the rows for the rest of the transaction. Locks nothing if the engine has
    /// only one write transaction at a time.
    fn query_locking(&self, lock: RowLock, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Tells that the transaction will run this query, see [`query`](Self::query) and
    /// [`query_locking`](Self::query_locking). An engine may send it together with the next statement.
    fn read_ahead(&self, _lock: Option<RowLock>, _sql: &str, _binds: &[Bind<'_>]) -> Result<()> {
        Ok(())
    }

    /// Runs a statement that changes one row. Returns whether it did.
    ///
    /// An engine may send the statement together with a later one and return `true`. If it turns out then that no row was
    /// changed, the transaction is run again.
    fn change_row(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool, StatementError> {
        self.execute(sql, binds).map(|rows| rows == 1)
    }

    /// Runs a statement whose result nobody needs. An engine may send it together with a later one, which fails if this one
    /// does.
    fn execute_later(&self, sql: &str, binds: &[Bind<'_>]) -> Result<()> {
        self.execute(sql, binds).map(drop).map_err(Error::from)
    }

    /// Runs all statements that were to be sent together with a later one.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the transaction has to be run again after this error of a job, and cannot go on after a part of it is undone.
    fn must_run_again(&self, _: &Error) -> bool {
        false
    }

    /// Locks rows for the rest of the transaction. Does nothing if the engine has only one write transaction at a time.
    fn lock(&self, lock: Lock<'_>) -> Result<()>;

    /// Makes this transaction the only one that inserts a customer with this key, until it ends. Returns `false`
    /// if the customer exists already. If another transaction is inserting it, fails, and the job is run again.
    fn lock_new_customer(&self, _: OrganizationId, _email_key: &str) -> Result<bool> {
        Ok(true)
    }

    /// Tells that the transaction will call [`lock_new_customer`](Self::lock_new_customer) if there is no such customer.
    fn lock_new_customer_ahead(&self, _: OrganizationId, _email_key: &str) -> Result<()> {
        Ok(())
    }

    /// Makes this transaction the only one that deletes old rows, until it ends. Returns `false` if another one is.
    fn try_lock_cleanup(&self) -> Result<bool>;

    /// How many savepoints a transaction should have at most.
    fn max_savepoints(&self) -> usize;
}

/// What a query does with each row.
pub(super) type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>> + 'v;
