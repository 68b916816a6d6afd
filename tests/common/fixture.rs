//! [`Fixture`]: a service over a database file of its own, with the clock and the gateway that a test controls.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;
use ticketing::environment::{ManualClock, SeededEntropy};
use ticketing::event::Event;
use ticketing::id::OrderId;
use ticketing::organization::ListOrganizations;
use ticketing::payment::{RefundOrder, RefundOrderResponse};
use ticketing::request::KeyedCaller;
use ticketing::ticket_type::TicketType;
use ticketing::{Amount, Builder, Caller, Result, TicketingService, Timestamp};

use super::database::{self, Database};
use super::gateway::FakeGateway;

/// The time that the clock of a new fixture shows.
pub const NOW: &str = "2026-06-01T12:00:00Z";

/// Parses a timestamp.
pub fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

/// A service over a database file of its own, one organization, and a caller that may do everything for it.
///
/// The clock stands at [`NOW`] until the test moves it, and ids and codes are the same in every run. When the fixture
/// is dropped, the stored data must pass [`TicketingService::check`].
pub struct Fixture {
    pub service: TicketingService,
    pub caller: Caller,
    pub clock: ManualClock,
    /// The payment gateway, unless the fixture was made without one or with another.
    pub gateway: FakeGateway,
    folder: Arc<TempDir>,
    pub(super) default_event: OnceLock<Event>,
    pub(super) default_ticket_type: OnceLock<TicketType>,
    /// Whether the stored data is checked when the fixture is dropped.
    check_on_drop: AtomicBool,
    /// The seed of the next service's entropy: each service draws different ids.
    next_seed: AtomicU64,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.check_on_drop.load(Ordering::Relaxed) {
            let report = self.service.check().expect("a check");
            assert!(report.is_clean(), "{:#?}", report.findings);
        }
    }
}

impl Fixture {
    /// Creates a fixture with a [`FakeGateway`].
    pub fn new() -> Self {
        Self::with_gateway(|builder| builder)
    }

    /// Creates a fixture without a payment gateway: organizers mark orders as paid.
    pub fn without_gateway() -> Self {
        Self::with(|builder| builder)
    }

    /// Creates a fixture with a [`FakeGateway`] and further options.
    pub fn with_gateway(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let gateway = FakeGateway::new();
        Self::open(new_folder(), gateway.clone(), |builder| configure(builder.payment_gateway(gateway)))
    }

    /// Creates a fixture whose only payment gateway is one that `configure` sets.
    pub fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        Self::in_folder(new_folder(), configure)
    }

    /// Creates a fixture like [`Fixture::with`] whose database file is in `folder`. If the file exists, the fixture
    /// acts for its first organization.
    pub fn in_folder(folder: TempDir, configure: impl FnOnce(Builder) -> Builder) -> Self {
        Self::open(folder, FakeGateway::new(), configure)
    }

    fn open(folder: TempDir, gateway: FakeGateway, configure: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::new(at(NOW));
        let builder = database::builder(folder.path().join(database::FILE));
        let builder = builder.clock(clock.clone()).entropy(SeededEntropy::new(1));
        let service = configure(builder).open().expect("the file");
        let organization =
            match service.list_organizations(ListOrganizations::default()).expect("the organizations").data.first() {
                Some(existing) => existing.id,
                None => service.create_organization(Default::default()).expect("an organization").id,
            };
        let caller = service.act_for(organization).expect("the organization exists");
        Self {
            service,
            caller,
            clock,
            gateway,
            folder: Arc::new(folder),
            default_event: OnceLock::new(),
            default_ticket_type: OnceLock::new(),
            check_on_drop: AtomicBool::new(true),
            next_seed: AtomicU64::new(2),
        }
    }

    /// Opens another service on the same file, with the same clock and gateway.
    pub fn second_service(&self) -> TicketingService {
        self.second_service_with(|builder| builder.payment_gateway(self.gateway.clone()))
    }

    /// Opens another service on the same file, with the same clock and these options.
    pub fn second_service_with(&self, configure: impl FnOnce(Builder) -> Builder) -> TicketingService {
        let entropy = SeededEntropy::new(self.next_seed.fetch_add(1, Ordering::Relaxed));
        let builder = database::builder(self.path()).clock(self.clock.clone()).entropy(entropy);
        configure(builder).open().expect("the file")
    }

    /// Opens another service on the same PostgreSQL database, whose statements are changed like this on their way.
    #[cfg(feature = "postgres")]
    pub fn service_behind_proxy(
        &self,
        edits: &'static [super::statement_proxy::Edit],
        configure: impl FnOnce(Builder) -> Builder,
    ) -> TicketingService {
        let url = super::postgres_server::database_of(&self.path()).expect("a server");
        let url = super::statement_proxy::behind_proxy(&url, edits);
        let entropy = SeededEntropy::new(self.next_seed.fetch_add(1, Ordering::Relaxed));
        let builder = TicketingService::postgres(ticketing::PostgresDatabase::new(&url).expect("a URL"))
            .clock(self.clock.clone())
            .entropy(entropy);
        configure(builder).open().expect("the database")
    }

    /// The path of the database file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(database::FILE)
    }

    /// Opens a connection to the database, next to the service's.
    pub fn database(&self) -> Database {
        Database::open(&self.path())
    }

    /// The folder of the database file.
    pub fn folder(&self) -> Arc<TempDir> {
        Arc::clone(&self.folder)
    }

    /// Closes the service. Returns the folder of the database file: it is deleted when the last `Arc` is dropped.
    pub fn close(self) -> Arc<TempDir> {
        self.folder()
    }

    /// Closes the service. Returns the folder of the database file, as [`Fixture::close`] does, and the file's path.
    pub fn into_file(self) -> (Arc<TempDir>, PathBuf) {
        (self.folder(), self.path())
    }

    /// Skips the check at the end, for a test that damages the stored data.
    pub fn skip_final_check(&self) {
        self.check_on_drop.store(false, Ordering::Relaxed);
    }

    /// Creates another organization in the same file, and returns a caller that may do everything for it.
    pub fn other_organization(&self) -> Caller {
        let other = self.service.create_organization(Default::default()).expect("an organization");
        self.service.act_for(other.id).expect("the organization exists")
    }

    /// The fixture's caller with this idempotency key.
    pub fn caller_with_key(&self, key: &str) -> KeyedCaller {
        self.caller.with_idempotency_key(key)
    }

    /// The caller with an idempotency key that no other request has.
    pub fn caller_with_new_key(&self) -> KeyedCaller {
        static KEYS: AtomicU64 = AtomicU64::new(0);
        self.caller_with_key(&format!("new-{}", KEYS.fetch_add(1, Ordering::Relaxed)))
    }

    /// Refunds an amount of an order.
    pub fn refund_amount(&self, order: OrderId, amount: Amount) -> Result<RefundOrderResponse> {
        let refunded = self.service.refund_order(&self.caller_with_new_key(), order, RefundOrder::of_amount(amount));
        refunded.map(|refunded| refunded.value)
    }

    /// How many transactions the service has committed.
    pub fn commits(&self) -> u64 {
        self.service.statistics().commits.done
    }

    /// Asserts how many transactions there were since `before`. It is not checked with PostgreSQL, which has smaller
    /// batches and does not commit what is refused.
    #[track_caller]
    pub fn assert_commits(&self, before: u64, expected: u64, what: &str) {
        if database::is_file() {
            assert_eq!(self.commits() - before, expected, "{what}");
        }
    }

    pub fn set_clock(&self, to: &str) {
        self.clock.set(at(to));
    }

    /// Returns every row of every table as text, except those kept for idempotency keys.
    pub fn all_rows(&self) -> Vec<String> {
        self.database().all_rows()
    }

    /// Returns the number that a query reads from the database, for values that the facade does not show.
    pub fn stored(&self, sql: &str) -> i64 {
        self.database().value(sql)
    }
}

fn new_folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
