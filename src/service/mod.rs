//! The facade: [`TicketingService`] has one method for each operation, in one file per resource.
//!
//! A method checks the scope of the caller, has the request checked by `rules`, and runs one function of `sales` or
//! `store` in one transaction. It contains neither SQL nor rules.
//!
//! # Adding an operation
//!
//! 1. Its request and response are types of `model`; the limits of the request are checked in `rules`.
//! 2. Its statements are functions of `store`. If it reads before it writes, a function of `sales` calls them.
//! 3. Here, add the method to the file of its resource, with its scope, its errors and an example in the documentation.
//!    An operation that creates something or acts on it runs in [`write_idempotent`](TicketingService::write_idempotent).
//! 4. List it in the file of its resource in `server`, which gives it a route and an entry in the OpenAPI document.
//! 5. List it in the tables of the facade's tests (scopes, organizations, idempotency, revisions). They fail until it is
//!    listed.
//!
//! A new field needs nothing here: it belongs to `model`, `rules` and `store`. A new setting belongs to the [`Builder`]
//! and to [`Inner`].

mod api_keys;
mod backup;
mod builder;
mod check;
mod checkout_links;
mod discounts;
mod events;
mod hosted_checkout;
mod idempotency;
mod maintenance;
mod orders;
mod organizations;
mod payments;
mod refunds;
mod statistics;
mod summary;
mod ticket_types;
mod tickets;
mod webhook_sender;
mod webhooks;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::Result;
use crate::model::id::ApiKeyId;
use crate::model::timestamp::Timestamp;
use crate::payment::GatewayCalls;
use crate::store::Store;
use crate::webhook::WebhookSender;
pub use builder::Builder;
pub use maintenance::{MaintenanceReport, MaintenanceWorker};

/// The event-ticketing engine, over one SQLite database.
///
/// Every operation is a method. Operations for an organization take a [`Caller`](crate::Caller) first: they require one of
/// its scopes, and access the data of its organization only. A method that writes returns after its transaction is synced
/// to disk.
///
/// Clones are cheap and share one store. They can be used from any thread. When the last clone is dropped, queued writes
/// are finished and the write-ahead log is removed.
///
/// # Errors
///
/// Apart from the errors that its documentation lists, every method can fail with:
///
/// - [`Error::Forbidden`](crate::Error::Forbidden) if it takes a caller, and the caller lacks the scope;
/// - [`Error::Unavailable`](crate::Error::Unavailable) if the database is busy. A retry may succeed;
/// - [`Error::Store`](crate::Error::Store) if the database cannot be read or written;
/// - [`Error::IdempotencyKeyReused`](crate::Error::IdempotencyKeyReused) or
///   [`Error::IdempotencyInProgress`](crate::Error::IdempotencyInProgress) if the caller has an
///   [idempotency key](crate::Caller::with_idempotency_key).
///
/// A method that fails has changed nothing, unless its documentation says otherwise.
///
/// ```
/// use ticketing::{ListEvents, TicketingService};
/// let folder = tempfile::tempdir()?;
/// let service = TicketingService::open(folder.path().join("ticketing.db"))?;
/// let organization = service.create_organization(Default::default())?;
/// let caller = service.act_for(organization.id)?;
/// assert!(service.list_events(&caller, ListEvents::default())?.data.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TicketingService {
    inner: Arc<Inner>,
}

/// The state that all clones of a service share.
struct Inner {
    /// Sends webhooks as long as the service lives, if the builder has set it up.
    _webhook_sender: Option<WebhookSender>,
    store: Arc<Store>,
    environment: Environment,
    gateway: Option<GatewayCalls>,
    /// Whether the gateway is the sandbox, whose hosted checkout needs no API key.
    sandbox: bool,
    webhooks: webhook_sender::WebhookSettings,
    /// How long a pending order reserves its seats.
    order_hold: Duration,
    /// How long delivered notifications are kept.
    webhook_retention: Duration,
    /// The address of this service in checkout links, without a trailing slash.
    public_url: String,
    /// When API keys were last used, until the next maintenance stores it.
    keys_used: Mutex<HashMap<ApiKeyId, Timestamp>>,
    in_flight_keys: idempotency::InFlightKeys,
}

impl TicketingService {
    /// Opens the database at `path` with default settings. Creates it if there is none.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the file or its folder cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Returns a builder, which sets up a service for the database at `path`.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// Checks that the database can be read. A readiness probe calls it.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) or [`Error::Store`](crate::Error::Store) if it cannot.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.ready()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ready(&self) -> Result<()> {
        self.store().read(|tx| crate::store::organizations::all(tx).map(drop))
    }

    /// Runs `work` so that all its reads on this thread see one state of the database. Writes are not part of that state:
    /// `work` does not see its own either.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if every reader stays busy.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let (event, ticket_type) = service.on_one_snapshot(|| {
    ///     (service.get_event(&caller, event.id), service.get_ticket_type(&caller, ticket_type.id))
    /// })?;
    /// assert_eq!(event?.id, ticket_type?.event_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_one_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.store().with_snapshot(work)
    }

    /// The current time of the service's clock.
    #[cfg(feature = "server")]
    pub(crate) fn now(&self) -> Timestamp {
        self.inner.environment.now()
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Whether there is a gateway that can refund payments.
    fn can_refund(&self) -> bool {
        self.inner.gateway.as_ref().is_some_and(GatewayCalls::can_refund)
    }
}

impl fmt::Debug for TicketingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketingService").field("order_hold", &self.inner.order_hold).finish_non_exhaustive()
    }
}
