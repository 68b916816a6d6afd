//! Transactions that write: permits, event queues, groups, commits and their tokens.

pub(super) mod commits;
pub(super) mod event_owners;
pub(super) mod event_queues;
pub(super) mod group;
pub(super) mod server_clock;
pub(super) mod tokens;
pub(super) mod write_transaction;
pub(super) mod writer;
