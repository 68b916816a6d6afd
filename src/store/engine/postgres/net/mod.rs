//! Connections to PostgreSQL: opening them, the pool, other hosts, standbys, and messages between processes.

pub(super) mod announcer;
pub(super) mod hosts;
pub(super) mod listener;
pub(super) mod pipelining_client;
pub(super) mod pool;
pub(super) mod purpose;
pub(super) mod standby;
pub(super) mod tls;
pub(super) mod work_message;
pub(super) mod write_health;
