//! The database engine under the store: transactions, rows and values, constraints, ids, and the group commit. Only
//! `sqlite/` names rusqlite and r2d2.

mod connection;
pub(super) mod ids;
mod row;
pub(super) mod sqlite;
mod transaction;
mod values;
mod violation;
mod writer;

pub(crate) use row::Row;
pub(crate) use sqlite::Location;
pub(crate) use transaction::Transaction;
pub(crate) use values::Bind;
pub(super) use violation::{Constraint, StatementError, Violation};
pub(super) use writer::{AfterCommit, Writer};
