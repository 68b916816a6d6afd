//! The type of the facade, and the state that its clones share.

use std::fmt;
#[cfg(feature = "exports")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::clock_history::ClockHistory;
use super::deferred_rows::DeferredRows;
use super::downtime::Downtime;
use super::sold_out_events::SoldOutEvents;
use super::threads::Background;
use crate::environment::Environment;
use crate::error::{Result, StoreError};
use crate::form::request::Request;
use crate::model::tenants::suspended::SuspendedOrganizations;
use crate::model::values::id::{ApiKeyId, EventId};
use crate::model::values::timestamp::Timestamp;
use crate::payments::Payments;
use crate::sales::catalog::holds::HoldTerms;
use crate::sales::idempotent_operation::OperationTarget;
use crate::webhook::Transport;
use crate::work::Queues;
use crate::write::{Write, Writes};

/// The event-ticketing engine, over one SQLite database, or a PostgreSQL database with the feature `postgres`.
///
/// Every operation is a method. Operations on the data of an organization take a [`Caller`](crate::Caller) first. They
/// check that the caller has the required scope, and access only the data of its organization. A method that writes
/// returns after its transaction is synced to disk.
///
/// Operations that create something or act on it return a `C::Output<T>`: that is a `T` if they are called with a
/// `&Caller`, and a [`Replayable<T>`](crate::request::Replayable) if they are called with an
/// [idempotency key](crate::Caller::with_idempotency_key).
///
/// Clones are cheap and share one store. They can be used from any thread. When the last clone is dropped, queued
/// writes are finished and the write-ahead log is removed; [`close`](Self::close) tells whether there are others.
///
/// # Errors
///
/// Apart from the errors that its documentation lists, every method can fail with:
///
/// - [`Error::Forbidden`](crate::Error::Forbidden) if it takes a caller, and the caller lacks the scope;
/// - [`Error::OrganizationSuspended`](crate::Error::OrganizationSuspended) if it takes a caller, and the organization
///   is [suspended](Self::suspend_organization);
/// - [`Error::Unavailable`](crate::Error::Unavailable) if the database is busy. A retry may succeed;
/// - [`Error::WriteQuotaExceeded`](crate::Error::WriteQuotaExceeded) if it creates or updates something, and the
///   organization of the caller's API key has used up its [quota](crate::Builder::write_quota);
/// - [`Error::Store`](crate::Error::Store) if the database cannot be read or written;
/// - [`Error::IdempotencyKeyReused`](crate::Error::IdempotencyKeyReused) or
///   [`Error::IdempotencyInProgress`](crate::Error::IdempotencyInProgress) if the caller has an
///   [idempotency key](crate::Caller::with_idempotency_key).
///
/// A method that fails has changed nothing, unless its documentation says otherwise.
///
/// ```
/// use ticketing::event::ListEvents;
/// use ticketing::TicketingService;
/// let folder = tempfile::tempdir()?;
/// let service = TicketingService::open(folder.path().join("ticketing.db"))?;
/// let organization = service.create_organization(Default::default())?;
/// let caller = service.act_for(organization.id)?;
/// assert!(service.list_events(&caller, ListEvents::default())?.data.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TicketingService {
    pub(in crate::service) inner: Arc<Inner>,
    /// Whether its callers work for suspended organizations too: see [`TicketingService::even_if_suspended`].
    pub(in crate::service) ignores_suspension: bool,
}

/// The state that all clones of a service share.
pub(in crate::service) struct Inner {
    /// The threads that the builder has started. Dropped first: the webhook sender uses the store.
    pub(in crate::service) background: Mutex<Background>,
    /// The work that this process does, until the service is closed: a function of the program may hold a handle of it.
    pub(in crate::service) queues: Mutex<Queues>,
    /// What this process asks its gateway later.
    pub(in crate::service) gateway_queues: OnceLock<Queues>,
    /// The rows that this process changes later.
    pub(in crate::service) row_queues: OnceLock<Queues>,
    /// How mails are sent, if they are switched on.
    #[cfg(feature = "mail")]
    pub(in crate::service) mail: Option<crate::mail::MailOptions>,
    #[cfg(feature = "mail")]
    pub(in crate::service) mail_queues: OnceLock<Queues>,
    pub(in crate::service) writes: Arc<Writes>,
    pub(in crate::service) payments: Payments,
    pub(in crate::service) environment: Environment,
    /// Whether webhook endpoints may have loopback addresses and plain `http` URLs.
    pub(in crate::service) allow_local_webhooks: bool,
    /// The transport of all webhook senders; `None` for the HTTPS transport.
    pub(in crate::service) webhook_transport: Option<Arc<dyn Transport>>,
    pub(in crate::service) hold: HoldTerms,
    pub(in crate::service) sold_out: SoldOutEvents,
    /// How long delivered notifications are kept.
    pub(in crate::service) webhook_retention: Duration,
    /// When API keys were last used, until the next maintenance stores it.
    pub(in crate::service) keys_used: DeferredRows<ApiKeyId, Timestamp>,
    /// The views of the pages of events that are not stored yet.
    pub(in crate::service) page_views: DeferredRows<EventId, i64>,
    pub(in crate::service) suspended: SuspendedOrganizations,
    /// Whether the maintenance may act on the clock. `None` before its first run.
    pub(in crate::service) clock_history: Mutex<Option<ClockHistory>>,
    /// Whether the program was down before the service was opened.
    pub(in crate::service) downtime: Downtime,
    /// The folder of the temporary files of exports. `None` for that of the database.
    #[cfg(feature = "exports")]
    pub(in crate::service) export_folder: Option<PathBuf>,
    /// Renders ticket documents, if they are switched on.
    #[cfg(feature = "documents")]
    pub(in crate::service) documents: Option<crate::documents::Renderer>,
    /// Whether the pages of events are switched on.
    #[cfg(feature = "event-pages")]
    pub(in crate::service) event_pages: bool,
}

/// # The service itself
impl TicketingService {
    /// Checks that the database can be read and written. A readiness probe calls it.
    ///
    /// It reads one row. If the last attempt to write failed, for example because the disk is full, it also writes a
    /// few pages to the write-ahead log, which change nothing.
    ///
    /// # Errors
    /// - The error for which the store has [`stopped`](Self::stopped).
    /// - [`Error::Unavailable`](crate::Error::Unavailable) or [`Error::Store`](crate::Error::Store) if the database
    ///   cannot be read, or not be written after a failed attempt.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.ready()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ready(&self) -> Result<()> {
        self.store()?.ready()
    }

    /// Returns why the store has stopped writing, or `None` as long as it works. It looks at the disk once a second,
    /// and before each transaction.
    ///
    /// The [kind](StoreError::kind) of the error tells which:
    ///
    /// - `SyncFailed`: the disk could not sync the database file, in this process or in another one. The operating
    ///   system may have lost pages that it reports as written. What was acknowledged is in the write-ahead log, and
    ///   the next start recovers it, once all programs that have the file open have ended. So end the program, and
    ///   replace the disk if this happens again.
    /// - `FileReplaced`: the database file was removed, moved or replaced. What is in the old file is lost at the end
    ///   of the program, unless it has another name.
    /// - `SchemaTooNew`: a newer version of this crate has migrated the database. Start that version.
    /// - `Moved`: the database file was [marked as moved](Self::mark_as_moved).
    ///
    /// A store that has stopped refuses every write with this error, and [`ready`](Self::ready) fails with it. Reads
    /// still work, but after a failed sync they may show older states. Maintenance, webhook senders and notification
    /// handlers end. Closing the service leaves the write-ahead log as it is.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert_eq!(service.stopped(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stopped(&self) -> Option<StoreError> {
        self.writes().store_in_operation().stopped().cloned()
    }

    /// Runs `work` so that all its reads on this thread see one snapshot of the database: the state at the moment when
    /// `work` begins. The snapshot contains no later writes, not even those of `work`.
    ///
    /// Calls can be nested: inside another call for the same service, `work` sees the snapshot of the outer one. A
    /// snapshot takes one of the [connections for searches](crate::Builder::readers) until `work` returns.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if every reader stays busy.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let (event, ticket_type) = service.on_one_snapshot(|| {
    ///     (service.get_event(&caller, event.id), service.get_ticket_type(&caller, ticket_type.id))
    /// })?;
    /// assert_eq!(event?.id, ticket_type?.event_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_one_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.store()?.with_snapshot(work)
    }

    /// Runs `work`, which looks up a few rows and writes nothing. All its look-ups on this thread see one snapshot and
    /// use one connection, which costs less than a transaction for each.
    #[cfg(feature = "server")]
    pub(crate) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.store()?.with_look_ups(work)
    }

    /// Like [`with_look_ups`](Self::with_look_ups), if that takes microseconds: in a database file, and if a connection is
    /// idle. Else it returns `None`.
    #[cfg(feature = "server")]
    pub(crate) fn with_idle_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        self.store()?.with_idle_look_ups(work)
    }

    /// Whether a prepared write is best queued by a task.
    #[cfg(feature = "server")]
    pub(crate) fn queues_writes(&self) -> bool {
        self.writes().are_queued()
    }

    /// Whether the store has not stopped, and the last attempt to write did not fail.
    #[cfg(feature = "server")]
    pub(crate) fn is_writable(&self) -> bool {
        self.writes().store_in_operation().is_writable()
    }

    /// The current time of the service's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.inner.environment.now()
    }

    /// A clock that never goes backwards.
    #[cfg(feature = "server")]
    pub(crate) fn monotonic(&self) -> Duration {
        self.inner.environment.clock.monotonic()
    }

    /// The public URL of the service, without a trailing slash. `None` if none was set.
    #[cfg(feature = "server")]
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.payments().public_url.as_deref()
    }

    /// The writes of the service, and its store.
    pub(in crate::service) fn writes(&self) -> &Arc<Writes> {
        &self.inner.writes
    }

    /// What is asked of the payment gateway.
    pub(crate) fn payments(&self) -> &Payments {
        &self.inner.payments
    }

    /// What a caller asks to change.
    pub(in crate::service) fn write<'w, C, B>(
        &'w self,
        caller: &'w C,
        operation: OperationTarget,
        request: impl Into<Request<B>>,
    ) -> Write<'w, C, B> {
        Write { writes: &self.inner.writes, caller, operation, request: request.into() }
    }
}

impl fmt::Debug for TicketingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketingService").field("hold", &self.inner.hold).finish_non_exhaustive()
    }
}
