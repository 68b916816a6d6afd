//! The tables of webhook endpoints, queued notifications and deliveries.

pub(crate) mod attempt_results;
pub(crate) mod attempts;
pub(crate) mod deliveries;
pub(crate) mod endpoints;
pub(crate) mod expansion;
pub(crate) mod handlers;
pub(crate) mod outbox;
pub(crate) mod outbox_backlog;
pub(super) mod outbox_rows;
pub(crate) mod subscribed_endpoints;
pub(super) mod webhook_notifications;
pub(crate) mod webhook_removals;
pub(crate) mod webhook_retention;
