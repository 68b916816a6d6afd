//! Connections to PostgreSQL: opening them, the pool, other hosts, standbys, and messages between processes.

pub(in crate::store) mod errors;
pub(super) mod hosts;
pub(super) mod pipelining_client;
pub(super) mod purpose;
pub(super) mod tls;
pub(super) mod work_message;
pub(super) mod write_health;
