//! The PostgreSQL engine: the only folder that uses the crate `postgres`.

mod connection;
mod engine;
mod errors;
mod group;
mod lanes;
mod locks;
mod options;
mod pool;
mod purpose;
mod read_connection;
mod schema;
mod snapshots;
mod statements;
mod tokens;
mod values;
mod write_permits;
mod write_state;
mod write_transaction;
mod writer;

pub(in crate::store) use engine::PostgresEngine;
pub(crate) use options::PostgresOptions;
