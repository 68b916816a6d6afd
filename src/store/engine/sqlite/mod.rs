//! The SQLite engine: the only folder that uses rusqlite.

mod checkpoint;
mod connection_pool;
mod database;
mod engine;
mod errors;
mod files;
mod inspection;
#[cfg(test)]
mod query_plan_tests;
mod read_connection;
mod settings;
pub(super) mod sqlite_connection;
pub(super) mod sqlite_snapshots;
mod transaction_cost;
mod writer;

pub(in crate::store) use engine::SqliteEngine;
pub(crate) use files::location::Location;
#[cfg(feature = "postgres")]
pub(in crate::store) use inspection::integrity::columns;
pub(in crate::store) use inspection::integrity::tables;
pub(in crate::store) use writer::ClosingResult;
