//! The facade: [`TicketingService`] has one method for each operation, in one file per resource.
//!
//! | Folder | Contents |
//! |---|---|
//! | `facade` | the operations |
//! | `calls` | what all operations share: access to the store, idempotency, quotas |
//! | `payments` | when the payment gateway is asked |
//! | `background` | maintenance, webhook senders, notification handlers |
//! | `opening` | the builder and its settings, closing |
//! | `figures`, `database`, `reconciliation` | statistics and usage; backup, check and copy; the statements of the gateway |
//!
//! A method checks the scope of the caller, has the request checked by `rules`, and runs one function of `sales` or
//! `store` in one transaction. It contains neither SQL nor rules.
//!
//! # Adding an operation
//!
//! 1. Declare its request, with the limits of the fields, and its response in `model`. Write its decisions as pure
//!    functions of `rules`.
//! 2. Write its statements as functions of `store`. If it reads before it writes, a function of `sales` calls them.
//! 3. In `facade`, add the method to the file of its resource, with its scope, its errors and an example in the
//!    documentation. An operation that creates something or acts on it runs in
//!    [`write_idempotent`](TicketingService::write_idempotent).
//! 4. List it in the file of its resource in `server::operations`, which gives it a route and an entry in the OpenAPI
//!    document.
//! 5. List it in the tables of the facade's tests (scopes, organizations, idempotency, revisions). They fail until it
//!    is listed.
//!
//! A new field of a resource changes nothing here: it belongs to `model` and `store`, and to `rules` if a decision
//! depends on it. A new setting of the service is a field of the [`Builder`] and of [`TicketingService`].

// rustdoc shows the methods of the facade in the order of these modules.

mod opening;

mod ticketing_service;

mod facade;

mod payments;

pub(crate) mod calls;

mod figures;

mod background;

mod database;

mod reconciliation;

pub use background::maintenance_guard::MaintenanceGuard;
pub use figures::subscriptions::NotificationReceiver;
pub use opening::builder::Builder;
pub use opening::close::{CloseError, WeakTicketingService};
pub use opening::database_file::DatabaseFile;
#[cfg(feature = "postgres")]
pub use opening::postgres_database::PostgresDatabase;
pub use ticketing_service::TicketingService;
