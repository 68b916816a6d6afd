//! The database engine: transactions, rows and values, constraints, ids, and the group commit.
//!
//! Only `sqlite/` uses rusqlite. Another engine would be a folder next to it with its own implementation of
//! `connection::Connection`.

mod connection;
mod event_key;
pub(super) mod ids;
mod leadership;
mod memory;
mod row;
mod scan_permits;
pub(super) mod sqlite;
mod sync;
mod transaction;
mod values;
mod violation;
mod writer;

pub(crate) use event_key::EventKey;
pub(crate) use row::Row;
pub(crate) use sqlite::Location;
pub(crate) use transaction::{Savepoint, Transaction};
pub(crate) use values::Bind;
pub(super) use violation::{Constraint, on_violation};
pub(super) use writer::{AfterCommit, ClosingResult, Writer};
