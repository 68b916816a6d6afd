//! The SQLite engine: the only folder that uses rusqlite.

mod backup;
mod checkpoint;
mod connection;
mod connection_pool;
mod copy;
mod database;
mod engine;
mod errors;
mod file_state;
mod index_check;
mod inspection;
mod integrity;
mod location;
mod migration_copy;
mod moved;
mod partial_copy;
#[cfg(test)]
mod query_plan_tests;
mod read_connection;
mod recovery;
mod restore;
mod settings;
mod snapshots;
mod sync_failure;
mod temporary_folder;
mod transaction_cost;
mod wal_owner;
mod writer;

pub(in crate::store) use engine::SqliteEngine;
#[cfg(feature = "postgres")]
pub(in crate::store) use integrity::columns;
pub(in crate::store) use integrity::tables;
pub(crate) use location::Location;
pub(in crate::store) use writer::ClosingResult;
