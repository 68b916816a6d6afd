//! The facade: one type with a method for every operation, in a file for each resource. A method checks the scope, has
//! the request checked, and runs one piece of work in the store.

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

/// The event-ticketing engine over one SQLite file.
///
/// Every operation is a method. It takes the [`Caller`](crate::Caller) first, checks the caller's scope, and sees only
/// the caller's organization. What a method acknowledges is on the disk.
///
/// Clones are cheap and share everything; any thread may use them. When the last one goes, what waits is written and the
/// file is left without a write-ahead log.
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

/// What every handle of a service shares.
struct Inner {
    /// Sends on its own for as long as the service is there, where it was told to.
    _webhook_sender: Option<WebhookSender>,
    store: Arc<Store>,
    environment: Environment,
    gateway: Option<GatewayCalls>,
    /// Whether the gateway is the sandbox, whose hosted checkout acts without a key.
    sandbox: bool,
    webhooks: webhook_sender::Webhooks,
    order_hold: Duration,
    /// How long the history of webhooks is kept.
    webhook_retention: Duration,
    public_url: String,
    /// When keys were used last, until the next maintenance writes it down.
    keys_used: Mutex<HashMap<ApiKeyId, Timestamp>>,
    in_flight_keys: idempotency::InFlightKeys,
}

impl TicketingService {
    /// Opens the database at `path` with the defaults, and makes it where there is none.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) says what is wrong with the file or its folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Starts to set up a service on the database at `path`.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// Whether the store answers: what a readiness probe asks.
    ///
    /// # Errors
    /// Whatever the store answers instead.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.ready()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ready(&self) -> Result<()> {
        self.inner.store.read(|tx| crate::store::organizations::all(tx).map(drop))
    }

    /// Runs `work`, in which everything that this thread reads comes from one state of the store, at one instant. What
    /// `work` itself writes is not in it.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) where every reader is busy.
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

    /// What the service's clock says.
    #[cfg(feature = "server")]
    pub(crate) fn now(&self) -> Timestamp {
        self.inner.environment.now()
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Whether money can go back through the gateway.
    fn can_refund(&self) -> bool {
        self.inner.gateway.as_ref().is_some_and(GatewayCalls::can_refund)
    }
}

impl fmt::Debug for TicketingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketingService").field("order_hold", &self.inner.order_hold).finish_non_exhaustive()
    }
}
