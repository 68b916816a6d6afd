//! The operations of `TicketingService`, called from Rust: a file per resource or subject.

mod api_keys;
mod check_in;
mod closing;
#[path = "../common/mod.rs"]
mod common;
mod deliver_due_webhooks;
mod discount_amounts;
mod discounts;
mod events;
mod filters;
mod first_organization;
mod idempotency;
mod invariants;
mod lists;
mod maintenance;
mod metadata;
mod metrics;
mod notification_handlers;
mod orders;
mod organizations;
mod payments;
mod refunds;
mod request_forms;
mod request_serde;
mod response_forms;
mod revisions;
mod scopes;
mod snapshots;
mod subscriptions;
mod summary;
mod tenants;
mod ticket_types;
mod tickets;
mod webhook_outbox;
mod webhook_retention;
mod webhooks;
