//! Sets up a service.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::webhook_sender::Webhooks;
use super::{Inner, TicketingService};
use crate::environment::{Clock, Entropy, Environment, SystemClock, SystemEntropy};
use crate::error::{FieldErrors, Result};
use crate::payment::{CallLimits, GatewayCalls, PaymentGateway, SandboxGateway};
use crate::store::{Location, Store};
use crate::webhook::{SenderOptions, Transport};

const DAY: Duration = Duration::from_hours(24);

/// What a service can be told before it opens its database.
///
/// ```
/// use std::time::Duration;
/// use ticketing::{ManualClock, SeededEntropy, TicketingService};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = TicketingService::builder(path)
///     .clock(ManualClock::at("2026-06-01T18:00:00Z".parse()?))
///     .entropy(SeededEntropy::new(7))
///     .sandbox_gateway()
///     .order_hold(Duration::from_secs(10 * 60))
///     .open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is opened before open() is called"]
pub struct Builder {
    path: PathBuf,
    vfs: Option<String>,
    readers: u32,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    gateway: Gateway,
    gateway_limits: CallLimits,
    order_hold: Duration,
    webhook_retention: Duration,
    public_url: String,
    webhook_transport: Option<Arc<dyn Transport>>,
    webhook_sender: Option<SenderOptions>,
    allow_local_webhooks: bool,
}

enum Gateway {
    None,
    Sandbox,
    Own(Arc<dyn PaymentGateway>),
}

impl Builder {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            vfs: None,
            readers: 8,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            gateway: Gateway::None,
            gateway_limits: CallLimits::default(),
            order_hold: Duration::from_mins(30),
            webhook_retention: 30 * DAY,
            public_url: "http://127.0.0.1:8080".to_owned(),
            webhook_transport: None,
            webhook_sender: None,
            allow_local_webhooks: false,
        }
    }

    /// The clock that everything asks; the system's by default.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The source of ids, ticket codes and keys; the system's by default. Anything less than cryptographic randomness
    /// lets codes and keys be guessed.
    pub fn entropy(mut self, entropy: impl Entropy + 'static) -> Self {
        self.entropy = Arc::new(entropy);
        self
    }

    /// Where customers pay. Without one, orders have no checkout link and organizers mark them as paid.
    pub fn payment_gateway(mut self, gateway: impl PaymentGateway) -> Self {
        self.gateway = Gateway::Own(Arc::new(gateway));
        self
    }

    /// The sandbox gateway, which takes no money: for trials, never for sales.
    pub fn sandbox_gateway(mut self) -> Self {
        self.gateway = Gateway::Sandbox;
        self
    }

    /// How long a call to the gateway may take: 20 seconds by default.
    pub fn gateway_timeout(mut self, timeout: Duration) -> Self {
        self.gateway_limits.timeout = timeout;
        self
    }

    /// How many calls to the gateway may run at once: 64 by default. Past that, paid orders fail at once instead of
    /// waiting in line.
    pub fn gateway_calls(mut self, max_concurrent: usize) -> Self {
        self.gateway_limits.max_concurrent = max_concurrent;
        self
    }

    /// How long a pending order holds its places: 30 minutes by default, at least a second.
    pub fn order_hold(mut self, hold: Duration) -> Self {
        self.order_hold = hold;
        self
    }

    /// How long the history of webhook deliveries is kept: 30 days by default, at least a day. An attempt is forgotten when
    /// it is that old, and the notification that was to be sent a day after the last of its attempts. What still waits to
    /// be sent is kept however long that takes.
    pub fn webhook_retention(mut self, kept: Duration) -> Self {
        self.webhook_retention = kept;
        self
    }

    /// The address under which this service is reached from outside: what checkout links begin with.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = url.into();
        self
    }

    /// Sends webhooks for as long as the service is there. Without it, nothing is sent before
    /// [`start_webhook_sender`](TicketingService::start_webhook_sender).
    pub fn webhook_sender(mut self, options: SenderOptions) -> Self {
        self.webhook_sender = Some(options);
        self
    }

    /// What carries webhooks to their receivers; HTTPS by default. Of one of your own, the guard against addresses that are
    /// not public is your affair. Every sender of the service uses this one: where one of several stops, what the others have
    /// under way on it is broken off and has failed.
    pub fn webhook_transport(mut self, transport: impl Transport) -> Self {
        self.webhook_transport = Some(Arc::new(transport));
        self
    }

    /// Whether webhooks may go to loopback addresses, and by plain `http`: for development, with receivers on the same
    /// machine. False by default: then whoever may register an endpoint reaches nothing but public addresses.
    pub fn allow_local_webhooks(mut self, allow: bool) -> Self {
        self.allow_local_webhooks = allow;
        self
    }

    /// The SQLite VFS to use, by its name; SQLite's default otherwise.
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.vfs = Some(name.into());
        self
    }

    /// How many connections read at once: 8 by default, at least 1.
    pub fn readers(mut self, connections: u32) -> Self {
        self.readers = connections;
        self
    }

    /// Opens the database: makes it where there is none, and brings an older one up to date.
    ///
    /// # Errors
    /// A validation error names a setting that is out of its range; [`Error::Store`](crate::Error::Store) says what is
    /// wrong with the file, its folder or the SQLite library.
    pub fn open(self) -> Result<TicketingService> {
        let mut errors = FieldErrors::default();
        errors.check(self.readers >= 1, "readers", "must be at least 1");
        errors.check(self.order_hold >= Duration::from_secs(1), "order_hold", "must be at least a second");
        errors.check(self.webhook_retention >= DAY, "webhook_retention", "must be at least a day");
        crate::rules::text::check_uri(&mut errors, "public_url", &self.public_url);
        errors.into_result()?;
        let environment = Environment { clock: self.clock, entropy: Arc::clone(&self.entropy) };
        if let Some(options) = &self.webhook_sender {
            options.check()?;
        }
        let store = Arc::new(Store::open(&Location::new(self.path, self.vfs), self.readers, environment.clone())?);
        let webhooks = Webhooks { allow_local: self.allow_local_webhooks, transport: self.webhook_transport };
        let start_sender = |options| webhooks.start_sender(&store, &environment, options);
        let webhook_sender = self.webhook_sender.map(start_sender).transpose()?;
        let sandbox = matches!(self.gateway, Gateway::Sandbox);
        let gateway: Option<Arc<dyn PaymentGateway>> = match self.gateway {
            Gateway::None => None,
            Gateway::Sandbox => Some(Arc::new(SandboxGateway::new(self.entropy))),
            Gateway::Own(gateway) => Some(gateway),
        };
        let gateway = gateway.map(|gateway| GatewayCalls::new(gateway, self.gateway_limits));
        let inner = Inner {
            _webhook_sender: webhook_sender,
            webhooks,
            store,
            environment,
            gateway,
            sandbox,
            order_hold: self.order_hold,
            webhook_retention: self.webhook_retention,
            public_url: self.public_url.trim_end_matches('/').to_owned(),
            keys_used: Mutex::default(),
            in_flight_keys: super::idempotency::InFlightKeys::default(),
        };
        Ok(TicketingService { inner: Arc::new(inner) })
    }
}
