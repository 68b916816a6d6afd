//! The PostgreSQL engine: the only folder that uses the crate `postgres`.

mod connections;
pub(super) mod copy_from_file;
mod engine;
mod net;
pub(super) mod postgres_options;
pub(super) mod postgres_snapshots;
mod schema;
mod statements;
mod writing;

pub(in crate::store) use copy_from_file::copy;
pub(in crate::store) use engine::PostgresEngine;
pub(crate) use postgres_options::PostgresOptions;
pub(crate) use writing::server_clock::ServerClock;
