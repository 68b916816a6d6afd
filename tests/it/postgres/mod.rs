//! What only a PostgreSQL database has. Each test starts servers of its own, and is skipped if PostgreSQL is not
//! installed.

mod asynchronous_callers;
mod clock;
mod clusters;
mod copy;
mod event_queues;
mod failover;
mod large_results;
mod lost_connections;
mod old_statistics;
mod options;
mod program;
mod queued_statements;
mod races;
mod sale;
mod schema_versions;
mod schemas;
mod silent_servers;
mod standby;
mod stopped_server;
mod tls;
mod waking;
