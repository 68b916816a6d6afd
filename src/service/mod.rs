//! The facade: [`TicketingService`] has one method for each operation, in one file per resource.
//!
//! A method checks the scope of the caller, has the request checked by `rules`, and runs one function of `sales` or
//! `store` in one transaction. It contains neither SQL nor rules.
//!
//! # Adding an operation
//!
//! 1. Declare its request, with the limits of the fields, and its response in `model`. Write its decisions as pure
//!    functions of `rules`.
//! 2. Write its statements as functions of `store`. If it reads before it writes, a function of `sales` calls them.
//! 3. Here, add the method to the file of its resource, with its scope, its errors and an example in the documentation.
//!    An operation that creates something or acts on it runs in
//!    [`write_idempotent`](TicketingService::write_idempotent).
//! 4. List it in the file of its resource in `server::operations`, which gives it a route and an entry in the OpenAPI
//!    document.
//! 5. List it in the tables of the facade's tests (scopes, organizations, idempotency, revisions). They fail until it
//!    is listed.
//!
//! A new field of a resource changes nothing here: it belongs to `model` and `store`, and to `rules` if a decision
//! depends on it. A new setting of the service is a field of the [`Builder`] and of [`TicketingService`].

// rustdoc shows the methods of the facade in the order of these groups.
mod builder;
mod builder_settings;
#[cfg(feature = "postgres")]
mod postgres_settings;

mod ticketing_service;

mod close;

mod organization_usage;
mod organizations;
mod suspension;

mod api_keys;

mod events;

mod ticket_types;

mod discounts;
mod disputes;

mod orders;

mod checkout_renewal;
mod checkout_settlement;
mod claims;
mod deferred_rows;
mod downtime;
mod open_checkouts;

mod gateway_facts;
mod gateway_groups;
mod gateway_notices;
mod ledger;
mod payments;
mod refund_attempts;
mod refunds;

mod hosted_checkout;

mod tickets;

#[cfg(feature = "documents")]
mod document_links;
#[cfg(feature = "documents")]
mod documents;

mod summary;

mod webhooks;

mod due_notifications;
mod webhook_sender;

mod subscriptions;

mod maintenance;

mod backup;
mod check;
#[cfg(feature = "postgres")]
mod copy;
mod database_file;
mod reconcile;
mod statistics;

mod background;
mod backlog_limit;
mod checkout_attempts;
mod checkout_links;
mod clock_check;
mod clock_history;
mod expired_holds;
mod handler_thread;
mod idempotency;
mod in_flight;
mod look_up_limit;
mod maintenance_guard;
mod maintenance_steps;
mod notification_handlers;
mod open_store;
mod payment_checks;
mod payment_steps;
mod reconcile_account;
mod reconcile_lines;
mod reconcile_orphans;
mod reconcile_state;
mod skipped_rows;
mod timed_backups;
mod webhook_settings;
mod write_quota;

pub use builder::Builder;
pub use close::{CloseError, WeakTicketingService};
pub use maintenance_guard::MaintenanceGuard;
pub use subscriptions::NotificationReceiver;
pub use ticketing_service::TicketingService;
