//! The database engine under the store: transactions, rows and values, ids, and the group commit. Only `sqlite/` names
//! rusqlite and r2d2.

pub(super) mod ids;
pub(super) mod sqlite;
mod transaction;
mod writer;

pub(crate) use sqlite::{Bind, Location, Row};
pub(crate) use transaction::Transaction;
pub(super) use writer::{AfterCommit, Writer};
