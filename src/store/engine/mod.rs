//! The database engine: transactions, rows and values, constraints, ids, and the group commit.
//!
//! Only `sqlite/` uses rusqlite, and only `postgres/` uses the crate `postgres`. Each implements `connection::Connection`,
//! and `engines` opens the one that the program has chosen.

mod after_commit;
mod connection;
mod engines;
pub(super) mod ids;
mod isolation;
mod jobs;
mod leadership;
mod lock;
mod locking;
mod memory;
mod options;
#[cfg(feature = "postgres")]
mod postgres;
mod readers;
mod row;
pub(super) mod snapshots;
pub(super) mod sqlite;
mod sync;
mod transaction;
mod values;
mod violation;

pub(super) use after_commit::AfterCommit;
pub(super) use engines::{Engine, on_engine};
pub(super) use isolation::Isolation;
pub(crate) use lock::EventKey;
pub(super) use lock::RowLock;
pub(crate) use locking::LockedEvent;
pub(crate) use options::{EngineOptions, MigrationOptions, ReaderOptions};
#[cfg(feature = "postgres")]
pub(crate) use postgres::{PostgresOptions, ServerClock};
pub(crate) use row::Row;
pub(super) use sqlite::ClosingResult;
pub(crate) use sqlite::Location;
pub(super) use transaction::RowLength;
pub(crate) use transaction::{Savepoint, Transaction};
pub(crate) use values::Bind;
pub(super) use violation::{Constraint, on_violation};
