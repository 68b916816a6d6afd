//! The builder of a service, and what it opens.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::database_file::DatabaseFile;
use crate::environment::{Clock, Entropy, Environment, Locked, SystemClock, SystemEntropy};
use crate::error::{FieldErrors, Result};
use crate::form::text::is_uri;
use crate::model::tenants::suspended::SuspendedOrganizations;
use crate::model::values::timestamp::Timestamp;
use crate::payment::{CallLimits, GatewayCalls, PaymentGateway, SandboxGateway};
use crate::payments::Payments;
use crate::payments::look_up_limit::LookUpLimit;
use crate::rules::money::gateway_choice::is_name;
use crate::sales::catalog::holds::HoldTerms;
use crate::service::state::deferred_rows::DeferredRows;
use crate::service::state::downtime::Downtime;
use crate::service::state::notification_handler::{self, NotificationHandler};
use crate::service::state::sold_out_events::SoldOutEvents;
use crate::service::state::ticketing_service::{Inner, TicketingService};
use crate::store::{EngineOptions, Location, MigrationOptions, ReaderOptions, Store};
use crate::webhook::{SenderOptions, Transport};
use crate::write::{WriteLimits, Writes};

const DAY: Duration = Duration::from_hours(24);

/// Sets up a [`TicketingService`]. Every setting has a default.
///
/// ```
/// use std::time::Duration;
/// use ticketing::TicketingService;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = TicketingService::builder(path)
///     .sandbox_gateway()
///     .order_hold(Duration::from_secs(10 * 60))
///     .public_url("https://tickets.example.com")
///     .maintenance()
///     .open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is opened before open() is called"]
pub struct Builder {
    pub(in crate::service) database: Database,
    pub(in crate::service) readers: ReaderOptions,
    /// Whether an older schema is migrated, or refused.
    pub(in crate::service) migrate: bool,
    /// `None` for the clock of the system, or of the database server.
    pub(in crate::service) clock: Option<Arc<dyn Clock>>,
    pub(in crate::service) entropy: Arc<dyn Entropy>,
    pub(in crate::service) gateway: Gateway,
    pub(in crate::service) gateway_limits: CallLimits,
    pub(in crate::service) hold: HoldTerms,
    pub(in crate::service) write_limits: WriteLimits,
    pub(in crate::service) webhook_retention: Duration,
    pub(in crate::service) public_url: Option<String>,
    pub(in crate::service) webhook_transport: Option<Arc<dyn Transport>>,
    pub(in crate::service) webhook_sender: Option<SenderOptions>,
    pub(in crate::service) maintenance: bool,
    pub(in crate::service) handlers: Vec<NotificationHandler<TicketingService>>,
    pub(in crate::service) handler_threads: bool,
    pub(in crate::service) allow_local_webhooks: bool,
    #[cfg(feature = "exports")]
    pub(in crate::service) export_folder: Option<std::path::PathBuf>,
    #[cfg(feature = "documents")]
    pub(in crate::service) documents: Option<crate::documents::TicketDocuments>,
    #[cfg(feature = "event-pages")]
    pub(in crate::service) event_pages: bool,
    #[cfg(all(feature = "documents", feature = "webhooks"))]
    pub(in crate::service) logo_transport: Option<Arc<crate::webhook::HttpsTransport>>,
    #[cfg(feature = "mail")]
    pub(in crate::service) mail: Option<crate::mail::MailOptions>,
}

/// Which database is opened.
#[derive(Debug)]
pub(in crate::service) enum Database {
    File(DatabaseFile),
    Temporary,
    #[cfg(feature = "postgres")]
    Postgres(super::postgres_database::PostgresDatabase),
}

pub(in crate::service) enum Gateway {
    None,
    Sandbox,
    Custom(Arc<dyn PaymentGateway>),
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Sandbox => "Sandbox",
            Self::Custom(_) => "Custom",
        })
    }
}

/// # Opening
///
/// A service is opened on the path of its database file.
impl TicketingService {
    /// Opens the database at `path` with default settings. Creates it if there is none.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the file or its folder cannot be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path.as_ref()).open()
    }

    /// Returns a builder, which sets up a service on a database file: a path, or a [`DatabaseFile`] with settings.
    pub fn builder(file: impl Into<DatabaseFile>) -> Builder {
        Builder::new(Database::File(file.into()))
    }

    /// Returns a builder, which sets up a service on a PostgreSQL database. Several processes, on one machine or on
    /// many, can open the same database.
    ///
    /// A service opens connections when it needs them: up to 24 that write, as many as there are
    /// [readers](Builder::readers), and half as many again for searches. With the defaults, that is 36. The server's
    /// `max_connections` must suffice for all processes together. One organization alone writes on at most 12.
    #[cfg(feature = "postgres")]
    pub fn postgres(database: super::postgres_database::PostgresDatabase) -> Builder {
        Builder::new(Database::Postgres(database))
    }

    /// Returns a builder, which sets up a service for a new, empty database. It is for tests and demonstrations.
    ///
    /// The file is in a folder of its own among the system's temporary files, which is created by
    /// [`open`](Builder::open) and deleted when the last clone of the service and its background threads have ended.
    /// Nothing is synced to disk, which makes writes fast. Otherwise the database behaves like any other.
    ///
    /// ```
    /// use ticketing::organization::ListOrganizations;
    /// use ticketing::TicketingService;
    /// let service = TicketingService::temporary().sandbox_gateway().open()?;
    /// assert!(service.list_organizations(ListOrganizations::default())?.data.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary() -> Builder {
        Builder::new(Database::Temporary)
    }
}

/// # Opening
impl Builder {
    pub(in crate::service) fn new(database: Database) -> Self {
        Self {
            database,
            readers: ReaderOptions::default(),
            migrate: true,
            clock: None,
            entropy: Arc::new(SystemEntropy),
            gateway: Gateway::None,
            gateway_limits: CallLimits::default(),
            hold: HoldTerms { duration: Duration::from_mins(30), max_seats_per_customer: None },
            write_limits: WriteLimits {
                bytes_per_minute: Some(256 * 1024 * 1024),
                waiting_notifications: Some(1_000_000),
            },
            webhook_retention: 30 * DAY,
            public_url: None,
            webhook_transport: None,
            webhook_sender: None,
            maintenance: false,
            handlers: Vec::new(),
            handler_threads: true,
            allow_local_webhooks: false,
            #[cfg(feature = "exports")]
            export_folder: None,
            #[cfg(feature = "documents")]
            documents: None,
            #[cfg(feature = "event-pages")]
            event_pages: false,
            #[cfg(all(feature = "documents", feature = "webhooks"))]
            logo_transport: None,
            #[cfg(feature = "mail")]
            mail: None,
        }
    }

    /// Opens the database. Creates it if there is none, and migrates an older schema to the current one.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every setting outside its limits.
    /// - [`Error::Store`](crate::Error::Store) if the file, its folder or the SQLite library cannot be used.
    pub fn open(self) -> Result<TicketingService> {
        self.check()?;
        #[cfg(feature = "documents")]
        let documents = self.renderer()?;
        let environment = Environment::new(self.used_clock(), Arc::clone(&self.entropy));
        #[cfg(feature = "documents")]
        let environment = Environment {
            pages_url: documents.as_ref().map(|_| pages_url(self.public_url.as_deref())),
            #[cfg(feature = "event-pages")]
            has_event_pages: self.event_pages,
            ..environment
        };
        #[cfg(feature = "mail")]
        let environment = Environment { sends_mails: self.mail.is_some(), ..environment };
        #[cfg(feature = "postgres")]
        let (environment, server_clock) = match (&self.database, &self.clock) {
            (Database::Postgres(_), None) => {
                let clock = crate::store::ServerClock::default();
                (Environment { clock: Arc::new(clock.clone()), ..environment }, Some(clock))
            }
            _ => (environment, None),
        };
        let migrate = self.migrate;
        let options = match self.database {
            Database::File(DatabaseFile { path, vfs, keep_copy }) => EngineOptions::Sqlite {
                location: Location::new(path, vfs),
                migration: MigrationOptions { migrate, keep_copy },
            },
            Database::Temporary => {
                let migration = MigrationOptions { migrate, ..MigrationOptions::default() };
                EngineOptions::Sqlite { location: Location::temporary()?, migration }
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => {
                let mut options = match server_clock {
                    Some(clock) => database.0.with_server_clock(clock),
                    None => *database.0,
                };
                options.migrate = migrate;
                EngineOptions::Postgres(Box::new(options.prepare()?))
            }
        };
        let store = Arc::new(Store::open(&options, self.readers, &environment)?);
        let has_sandbox = matches!(self.gateway, Gateway::Sandbox);
        let gateway: Option<Arc<dyn PaymentGateway>> = match self.gateway {
            Gateway::None => None,
            Gateway::Sandbox => Some(Arc::new(SandboxGateway::new(self.entropy))),
            Gateway::Custom(gateway) => Some(gateway),
        };
        let downtime = Downtime::new(environment.now());
        let writes = Arc::new(Writes::new(store, environment.clone(), self.write_limits));
        let inner = Inner {
            background: Mutex::default(),
            queues: Mutex::default(),
            gateway_queues: OnceLock::new(),
            row_queues: OnceLock::new(),
            #[cfg(feature = "mail")]
            mail: self.mail,
            #[cfg(feature = "mail")]
            mail_queues: OnceLock::new(),
            allow_local_webhooks: self.allow_local_webhooks,
            webhook_transport: self.webhook_transport,
            payments: Payments {
                writes: Arc::clone(&writes),
                environment: environment.clone(),
                gateway: gateway.map(|gateway| GatewayCalls::new(gateway, self.gateway_limits)),
                has_sandbox,
                public_url: self.public_url.map(|url| url.trim_end_matches('/').to_owned()),
                page_look_ups: LookUpLimit::for_pages(),
                renewal_look_ups: LookUpLimit::for_renewals(),
            },
            writes,
            environment,
            hold: self.hold,
            sold_out: SoldOutEvents::default(),
            webhook_retention: self.webhook_retention,
            keys_used: DeferredRows::new(Timestamp::max),
            page_views: DeferredRows::new(i64::saturating_add),
            suspended: SuspendedOrganizations::default(),
            clock_history: Mutex::default(),
            downtime,
            #[cfg(feature = "exports")]
            export_folder: self.export_folder,
            #[cfg(feature = "documents")]
            documents,
            #[cfg(feature = "event-pages")]
            event_pages: self.event_pages,
        };
        let service = TicketingService { inner: Arc::new(inner), ignores_suspension: false };
        service.read_suspended_organizations()?;
        service.payments().report_work_without_gateway()?;
        if let Some(options) = self.webhook_sender {
            service.inner.background.locked().webhook_sender = Some(service.start_webhook_sender(options)?);
        }
        service.start_handlers(self.handlers, self.handler_threads)?;
        #[cfg(feature = "mail")]
        service.start_mails()?;
        if self.maintenance {
            service.inner.background.locked().maintenance = service.start_maintenance()?;
        }
        Ok(service)
    }

    /// The clock that the program has set, or the one of the system.
    pub(in crate::service) fn used_clock(&self) -> Arc<dyn Clock> {
        self.clock.clone().unwrap_or_else(|| Arc::new(SystemClock))
    }

    pub(in crate::service) fn check(&self) -> Result<()> {
        let mut errors = FieldErrors::default();
        errors.check(self.readers.connections >= 1, "readers", "must be at least 1");
        let shortest = Duration::from_millis(10);
        errors.check(self.readers.max_scan_time >= shortest, "search_timeout", "must be at least 10 milliseconds");
        errors.check(self.hold.duration >= Duration::from_secs(1), "order_hold", "must be at least a second");
        let max_seats = self.hold.max_seats_per_customer;
        errors.check(self.write_limits.bytes_per_minute != Some(0), "write_quota", "must be at least 1");
        let max_waiting = self.write_limits.waiting_notifications;
        errors.check(max_waiting != Some(0), "max_waiting_notifications", "must be at least 1");
        errors.check(max_seats != Some(0), "max_reserved_per_customer", "must be at least 1");
        errors.check(self.webhook_retention >= DAY, "webhook_retention", "must be at least a day");
        let public_url_is_valid = self.public_url.as_deref().is_none_or(is_uri);
        errors.check(public_url_is_valid, "public_url", "must be a URI with a scheme (RFC 3986)");
        #[cfg(feature = "mail")]
        if let Some(mail) = &self.mail {
            mail.check(&mut errors);
            errors.check(self.public_url.is_some(), "public_url", "must be set for mails, which have links");
            errors.check(self.documents.is_some(), "ticket_documents", "must be switched on for mails");
        }
        if let Gateway::Custom(gateway) = &self.gateway {
            let name = gateway.name();
            let problem =
                format!("must have a name of 1 to 50 lower-case letters, digits and hyphens, which {name:?} is not");
            errors.check(is_name(name), "payment_gateway", problem);
        }
        notification_handler::check(&self.handlers, &mut errors);
        errors.into_result()?;
        match &self.webhook_sender {
            Some(options) => options.check(),
            None => Ok(()),
        }
    }
}

/// The base URL of the pages of tickets and orders: the public URL, or a local one if none is set.
#[cfg(feature = "documents")]
fn pages_url(public_url: Option<&str>) -> String {
    /// The base URL if no public URL is set.
    const LOCAL_URL: &str = "http://127.0.0.1:8080";

    if public_url.is_none() {
        tracing::warn!(
            target: "ticketing::documents",
            "links of tickets and orders begin with {LOCAL_URL}, which only this machine can open: set the public URL"
        );
    }
    public_url.unwrap_or(LOCAL_URL).to_owned()
}
