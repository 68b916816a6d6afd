//! Statements on a connection to PostgreSQL: preparing, sending, receiving, and their errors.

pub(super) mod large_results;
pub(in crate::store) mod locks;
pub(super) mod parameters;
pub(super) mod postgres_connection;
pub(super) mod prepared;
pub(super) mod read_ahead;
mod transaction_statements;
pub(in crate::store) mod write_state;
