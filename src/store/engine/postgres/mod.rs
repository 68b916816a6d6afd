//! The PostgreSQL engine: the only folder that uses the crate `postgres`.

mod announcer;
mod budget;
mod client;
mod clock;
mod connection;
mod copy;
mod engine;
mod errors;
mod event_owners;
mod group;
mod health;
mod hosts;
mod lanes;
mod large_results;
mod listener;
mod locks;
mod options;
mod pool;
mod purpose;
mod read_ahead;
mod read_connection;
mod schema;
mod snapshots;
mod standby;
mod statements;
mod tls;
mod tokens;
mod values;
mod work_message;
mod write_state;
mod write_transaction;
mod writer;

pub(crate) use clock::ServerClock;
pub(in crate::store) use copy::copy;
pub(in crate::store) use engine::PostgresEngine;
pub(crate) use options::PostgresOptions;
