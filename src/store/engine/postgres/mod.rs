//! The PostgreSQL engine: the only folder that uses the crate `postgres`.

mod connection;
mod engine;
mod errors;
mod locks;
mod options;
mod pool;
mod read_connection;
mod schema;
mod snapshots;
mod statements;
mod values;
mod writer;

pub(in crate::store) use engine::PostgresEngine;
pub(crate) use options::PostgresOptions;
