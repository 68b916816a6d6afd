//! The SQLite engine: the only folder that uses rusqlite.

mod backup;
mod checkpoint;
mod connection;
mod connection_pool;
mod copy;
mod database;
mod errors;
mod file_state;
mod index_check;
mod inspection;
mod integrity;
mod location;
mod migration_copy;
mod partial_copy;
#[cfg(test)]
mod query_plan_tests;
mod read_budget;
mod readers;
mod recovery;
mod restore;
mod settings;
mod snapshots;
mod sync_failure;
mod temporary_folder;
mod transaction_cost;
mod wal_owner;

pub(in crate::store) use checkpoint::Checkpointer;
pub(in crate::store) use database::{Database, SchemaVersion};
pub(in crate::store) use integrity::{rewrite_header, tables};
pub(crate) use location::Location;
pub(in crate::store) use readers::{Isolation, Readers};
pub(in crate::store) use snapshots::{Access, SnapshotReader, Snapshots};
pub(in crate::store) use transaction_cost::TransactionCost;
