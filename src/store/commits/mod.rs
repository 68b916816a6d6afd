//! What is reported when a transaction is durable: to counters, and to the threads that have work.

pub(super) mod commit_notifier;
pub(super) mod counters;
