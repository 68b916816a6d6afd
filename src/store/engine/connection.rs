//! The interface between a transaction and an engine.

use std::ops::ControlFlow;

use super::lock::{Lock, RowLock};
use super::row::Row;
use super::values::Bind;
use super::violation::StatementError;
use crate::error::{Error, Result};

/// A connection with an open transaction, or one whose statements each see the newest state.
///
/// The text of a statement is the same for every engine: `?1`, `?2`, … are its parameters, and each statement is
/// prepared once for each connection.
pub(super) trait Connection {
    /// Runs a statement. Returns how many rows it changed.
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError>;

    /// Runs a query and passes its rows to `visit`, until that breaks or fails.
    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Like [`query`](Self::query), and locks the rows for the rest of the transaction. Locks nothing if the engine has
    /// only one write transaction at a time.
    fn query_locking(&self, lock: RowLock, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Whether the transaction has to be run again after this error of a job, and cannot go on after a part of it is undone.
    fn must_run_again(&self, _: &Error) -> bool {
        false
    }

    /// Locks rows for the rest of the transaction. Does nothing if the engine has only one write transaction at a time.
    fn lock(&self, lock: Lock<'_>) -> Result<()>;

    /// Makes this transaction the only one that deletes old rows, until it ends. Returns `false` if another one is.
    fn try_lock_cleanup(&self) -> Result<bool>;

    /// How many savepoints a transaction should have at most.
    fn max_savepoints(&self) -> usize;
}

/// What a query does with each row.
pub(super) type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>> + 'v;
