//! What is reported when a transaction is durable: to counters, to the webhook sender, to subscribers.

pub(super) mod commit_notifier;
pub(super) mod counters;
pub(super) mod subscriber_queues;
