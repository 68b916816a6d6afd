//! The database engine: transactions, rows and values, constraints, and the group commit.
//!
//! Only `sqlite/` uses rusqlite, and only `postgres/` uses the crate `postgres`. Each implements
//! `connection::Connection`, and `engines` opens the one that the program has chosen.

mod after_commit;
mod comparison_keys;
mod connection;
mod deadline;
pub(super) mod engine_options;
mod engines;
mod jobs;
mod leadership;
mod lock;
mod locking;
#[cfg(feature = "postgres")]
mod postgres;
mod readers;
pub(super) mod snapshots;
mod sql;
pub(super) mod sqlite;
mod sync;
mod tables;
mod transaction;
mod transaction_cache;

pub(super) use after_commit::AfterCommit;
pub(crate) use engine_options::{EngineOptions, MigrationOptions, ReaderOptions};
pub(super) use engines::{Engine, JobEvent};
#[cfg(feature = "server")]
pub(crate) use jobs::QueuedAnswer;
pub(super) use jobs::job;
#[cfg(feature = "server")]
pub(super) use jobs::queued_job;
pub(crate) use lock::{EventKey, Lock};
pub(super) use lock::{RowLock, event_statement};
pub(crate) use locking::LockedEvent;
#[cfg(feature = "postgres")]
pub(super) use postgres::{PostgresEngine, copy as copy_to_postgres};
#[cfg(feature = "postgres")]
pub(crate) use postgres::{PostgresOptions, ServerClock};
pub(super) use readers::Isolation;
pub(crate) use sql::query::Query;
pub(crate) use sql::row::Row;
pub(crate) use sql::values::{Bind, FromValue, Value, from_json};
pub(super) use sql::violation::{Constraint, StatementError, on_violation};
pub(crate) use sqlite::Location;
pub(super) use sqlite::{ClosingResult, SqliteEngine};
pub(super) use tables::{EventOwner, Tables};
pub(super) use transaction::RowLength;
pub(crate) use transaction::{Savepoint, Transaction};
