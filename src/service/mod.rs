//! The facade: [`TicketingService`] has one method for each operation, in one file per resource.
//!
//! | Folder | Contents |
//! |---|---|
//! | `facade` | the operations |
//! | `calls` | access to the store, lists, suspension, calls of asynchronous code |
//! | `background` | maintenance, webhook senders, notification handlers |
//! | `opening` | the builder and its settings, closing |
//! | `state` | the service itself, and what it holds |
//! | `figures`, `database`, `reconciliation` | statistics and usage; backup, check and copy; the statements of the gateway |
//!
//! A method checks the scope of the caller, has the request checked by `rules`, and runs one function of `sales` or
//! `store` in one transaction. It contains neither SQL nor rules. `.github/CONTRIBUTING.md` says how to add one.

// rustdoc shows the methods of the facade in the order of these modules.

mod opening;

mod facade;

pub(crate) mod calls;

mod figures;

mod background;

mod database;

mod reconciliation;

mod state;

pub use opening::builder::Builder;
pub use opening::close::{CloseError, WeakTicketingService};
pub use opening::database_file::DatabaseFile;
#[cfg(feature = "postgres")]
pub use opening::postgres_database::PostgresDatabase;
pub use state::ticketing_service::TicketingService;
