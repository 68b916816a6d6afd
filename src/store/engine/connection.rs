//! The interface between a transaction and an engine.

use std::ops::ControlFlow;

use super::lock::Lock;
use super::row::Row;
use super::values::Bind;
use super::violation::StatementError;
use crate::error::Result;

/// A connection with an open transaction, or one whose statements each see the newest state.
///
/// The text of a statement is the same for every engine: `?1`, `?2`, … are its parameters, and each statement is
/// prepared once for each connection.
pub(super) trait Connection {
    /// Runs a statement. Returns how many rows it changed.
    fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize, StatementError>;

    /// Runs a query and passes its rows to `visit`, until that breaks or fails.
    fn query(&self, sql: &str, binds: &[Bind<'_>], visit: &mut Visit<'_>) -> Result<()>;

    /// Locks rows for the rest of the transaction. Does nothing if the engine has only one write transaction at a time.
    fn lock(&self, lock: Lock) -> Result<()>;
}

/// What a query does with each row.
pub(super) type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>> + 'v;
