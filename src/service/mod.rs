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

mod api_keys;
mod backup;
mod builder;
mod check;
mod checkout_links;
mod discounts;
mod events;
mod hosted_checkout;
mod idempotency;
mod in_flight;
mod maintenance;
mod orders;
mod organizations;
mod payments;
mod refunds;
mod statistics;
mod summary;
mod ticket_types;
mod ticketing_service;
mod tickets;
mod webhook_sender;
mod webhook_settings;
mod webhooks;

pub use builder::Builder;
pub use maintenance::{MaintenanceReport, MaintenanceWorker};
pub use ticketing_service::TicketingService;
