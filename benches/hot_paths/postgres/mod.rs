//! The hot paths on PostgreSQL, each compared with the same work written directly with the crate `postgres`, on a
//! database of 100,000 tickets.
//!
//! The server is one that this starts, or the one that `TICKETING_BENCH_POSTGRES` names, as in
//! `postgres://postgres:secret@127.0.0.1/postgres`. On its own server, every benchmark runs with `fsync`, like a server
//! in production, and without, which shows what the processors do. Those of orders also run with commits that take
//! 5 ms, as with a synchronous standby in another zone. There is no network between the two: on a real one, round trips
//! cost more.
//!
//! By hand, all orders of an event come from one connection that writes 50 of them in each transaction, and there is a
//! connection for each event. If they are paid through the gateway, a second transaction records the links of all 50.
//! Check-ins come from as many connections as the crate uses for writes.

mod by_hand;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use postgres::{Client, NoTls};
use ticketing::event::ListEvents;
use ticketing::id::{EventId, TicketTypeId};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::ListOrganizations;
use ticketing::ticket::{CheckInTicket, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes};
use ticketing::{Amount, Caller, PostgresDatabase, TicketingService};

use crate::common::Fixture;
use crate::common::cluster::Cluster;
use crate::common::database::stored_id;
use crate::large_store::{LargeStore, code, scatter};
use crate::orders::spread;
use crate::ratio::Bench;

const TICKETS: u64 = 100_000;
/// The number of customers in the database.
const CUSTOMERS: u64 = 20_000;

/// Room for all connections, for the whole database in memory, and for the log of a run without a checkpoint.
const SETTINGS: &str =
    "fsync = on\nmax_connections = 200\nshared_buffers = 512MB\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h";

/// How many connections the crate opens for writes.
const CONNECTIONS: usize = 16;

/// The price of a seat that is paid through the gateway.
const PRICE: i64 = 1250;

/// An event, a ticket type that is free, and one that is paid through the sandbox gateway.
#[derive(Clone, Copy)]
struct Sale {
    event: EventId,
    free: TicketTypeId,
    paid: TicketTypeId,
}

impl Sale {
    fn ticket_type(self, price: i64) -> TicketTypeId {
        if price == 0 { self.free } else { self.paid }
    }
}

/// How a server commits.
#[derive(Clone, Copy)]
struct Commits {
    name: &'static str,
    /// What `ALTER SYSTEM SET` gets.
    settings: &'static [&'static str],
    /// Whether all benchmarks run, or only those of orders.
    for_all: bool,
}

const OWN_SERVER: [Commits; 3] = [
    Commits { name: "fsync on", settings: &["fsync = on", "commit_delay = 0"], for_all: true },
    Commits { name: "fsync off", settings: &["fsync = off"], for_all: true },
    Commits {
        name: "commits of 5 ms",
        settings: &["fsync = on", "commit_siblings = 0", "commit_delay = 5000"],
        for_all: false,
    },
];

/// A server that was not started here keeps its settings.
const OTHER_SERVER: [Commits; 1] = [Commits { name: "commits as they are", settings: &[], for_all: true }];

/// The databases of both sides, which have the same rows at first.
struct Databases {
    server: Server,
    service: TicketingService,
    caller: Caller,
    sales: Vec<Sale>,
    organization: i64,
    next: AtomicU64,
}

/// The server, on which the databases are created and dropped.
struct Server {
    /// The URL of a server without the database.
    url: String,
    cluster: Option<Cluster>,
}

impl Server {
    /// The server that `TICKETING_BENCH_POSTGRES` names, or a new one. `None`, with a message, if PostgreSQL is not
    /// installed.
    fn find() -> Option<Self> {
        let (url, cluster) = match std::env::var("TICKETING_BENCH_POSTGRES") {
            Ok(url) => (url, None),
            Err(_) => {
                let cluster = Cluster::start(SETTINGS)?;
                (cluster.url("postgres"), Some(cluster))
            }
        };
        let (url, _) = url.rsplit_once('/').expect("a URL with a database");
        Some(Self { url: url.to_owned(), cluster })
    }

    fn url(&self, database: &str) -> String {
        format!("{}/{database}", self.url)
    }

    fn client(&self, database: &str) -> Client {
        Client::connect(&self.url(database), NoTls).expect("a connection")
    }

    /// How the server commits, one way after another.
    fn commits(&self) -> &'static [Commits] {
        if self.cluster.is_some() { &OWN_SERVER } else { &OTHER_SERVER }
    }

    fn set(&self, commits: Commits) {
        if !commits.settings.is_empty() {
            let mut client = self.client("postgres");
            for setting in commits.settings {
                client.batch_execute(&format!("ALTER SYSTEM SET {setting}")).expect("set");
            }
            client.batch_execute("SELECT pg_reload_conf(); CHECKPOINT").expect("loaded");
        }
    }
}

impl Databases {
    /// `None`, with a message, if PostgreSQL is not installed.
    fn create() -> Option<Self> {
        let server = Server::find()?;
        let mut client = server.client("postgres");
        for database in ["ours", "by_hand"] {
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")).expect("dropped");
        }
        client.batch_execute("CREATE DATABASE ours").expect("a database");
        let ours = server.url("ours");
        {
            let file = LargeStore::of(TICKETS);
            add_paid_types(&file);
            let target = PostgresDatabase::new(&ours).expect("a URL");
            file.fixture.service.copy_to(target, |_| ControlFlow::Continue(())).expect("copied");
        }
        client.batch_execute("CREATE DATABASE by_hand TEMPLATE ours").expect("a copy");
        for database in ["ours", "by_hand"] {
            server.client(database).batch_execute("VACUUM ANALYZE").expect("statistics");
        }
        let database = PostgresDatabase::new(&ours).expect("a URL");
        let builder = TicketingService::postgres(database).write_quota(None).sandbox_gateway();
        let service = builder.open().expect("the database");
        let organization =
            service.list_organizations(ListOrganizations::default()).expect("readable").data.remove(0).id;
        let caller = service.act_for(organization).expect("the organization exists");
        let events = service.list_events(&caller, ListEvents::default().limit(50)).expect("readable").data;
        let sales = events.iter().map(|event| {
            let types = service.list_ticket_types(&caller, event.id, ListTicketTypes::default());
            let types = types.expect("readable").data;
            let costs = |price| types.iter().find(|ticket_type| ticket_type.price == Amount::cents(price));
            let [free, paid] = [0, PRICE].map(|price| costs(price).expect("a type").id);
            Sale { event: event.id, free, paid }
        });
        let sales = sales.collect();
        let organization = stored_id(organization);
        Some(Self { server, service, caller, sales, organization, next: AtomicU64::new(0) })
    }

    fn create_order(&self, sale: Sale, price: i64) {
        let customer = NewCustomer::new("Ada Lovelace", email(self.next.fetch_add(1, Ordering::Relaxed)));
        let request = CreateOrder::new(sale.event, customer, sale.ticket_type(price), 2);
        let created = self.service.create_order(&self.caller, request).expect("created");
        assert_eq!(created.checkout_url.is_some(), price > 0, "an order with a price has a link");
    }

    fn writers(&self, number: usize, price: i64) -> Vec<by_hand::Orders> {
        let sales = self.sales.iter().take(number);
        let writer = |sale: &Sale| {
            let client = self.server.client("by_hand");
            let ids = (stored_id(sale.event), stored_id(sale.ticket_type(price)));
            by_hand::Orders::new(client, self.organization, ids, price)
        };
        sales.map(writer).collect()
    }
}

pub fn bench(bench: &mut Bench) {
    if !names().any(|name| bench.includes(&name)) {
        return;
    }
    let Some(databases) = Databases::create() else { return };
    let mut tickets = Tickets::default();
    for &commits in databases.server.commits() {
        databases.server.set(commits);
        for (events, price, work) in ORDERS {
            orders(bench, &name(work, commits), &databases, (events, price));
        }
        if commits.for_all {
            check_ins(bench, &name(CHECK_IN, commits), &databases, &mut tickets);
            look_ups(bench, &name(BY_CODE, commits), &databases);
            pages(bench, &name(PAGE, commits), &databases);
        }
    }
}

/// How many callers create orders.
const CALLERS: u64 = 64;

/// How many events the orders are for, and what a ticket costs.
const ORDERS: [(usize, i64, &str); 4] = [
    (1, 0, "create_order, 64 callers on 1 event"),
    (16, 0, "create_order, 64 callers on 16 events"),
    (1, PRICE, "create_order with the sandbox gateway, 64 callers on 1 event"),
    (16, PRICE, "create_order with the sandbox gateway, 64 callers on 16 events"),
];
const CHECK_IN: &str = "check_in_ticket, 32 callers";
const BY_CODE: &str = "get_ticket_by_code";
const PAGE: &str = "list_tickets, pages of 50";

fn name(work: &str, commits: Commits) -> String {
    format!("postgres, {}: {work}", commits.name)
}

fn names() -> impl Iterator<Item = String> {
    let works = ORDERS.into_iter().map(|(_, _, work)| work).chain([CHECK_IN, BY_CODE, PAGE]);
    works.flat_map(|work| OWN_SERVER.iter().chain(&OTHER_SERVER).map(move |commits| name(work, *commits)))
}

/// Adds a ticket type with a price to each event.
fn add_paid_types(file: &LargeStore) {
    let Fixture { service, caller, .. } = &file.fixture;
    for event in service.list_events(caller, ListEvents::default().limit(50)).expect("readable").data {
        let seat = CreateTicketType::new("Seat", Amount::cents(PRICE), 10_000_000);
        service.create_ticket_type(caller, event.id, seat).expect("a type");
    }
}

/// The email address of a customer. Half of them are in the database.
fn email(number: u64) -> String {
    format!("customer{}@example.com", scatter(number) % (2 * CUSTOMERS))
}

fn orders(bench: &mut Bench, name: &str, databases: &Databases, (events, price): (usize, i64)) {
    if !bench.includes(name) {
        return;
    }
    let mut writers = databases.writers(events, price);
    bench.compare(
        name,
        CALLERS * 25,
        |count| {
            spread(CALLERS, count, |caller| {
                let index = usize::try_from(caller).expect("a small number") % events;
                databases.create_order(databases.sales[index], price);
            });
        },
        |count| {
            let each = count.div_ceil(events as u64);
            // More than the callers for an event cannot be in one transaction.
            let group = CALLERS.div_ceil(events as u64);
            std::thread::scope(|scope| {
                for writer in &mut writers {
                    scope.spawn(|| writer.write(each, group));
                }
            });
        },
    );
}

/// How many tickets each side has checked in.
#[derive(Default)]
struct Tickets {
    ours: AtomicU64,
    by_hand: AtomicU64,
}

fn check_ins(bench: &mut Bench, name: &str, databases: &Databases, tickets: &mut Tickets) {
    if !bench.includes(name) {
        return;
    }
    let connect = || by_hand::CheckIns::new(databases.server.client("by_hand"), databases.organization);
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
    let Tickets { ours, by_hand } = tickets;
    bench.compare(
        name,
        32 * 50,
        |count| {
            spread(32, count, |_| {
                let scan = CheckInTicket::new(unused_code(ours));
                databases.service.check_in_ticket(&databases.caller, scan).expect("accepted");
            });
        },
        |count| {
            let left = AtomicU64::new(count);
            std::thread::scope(|scope| {
                for connection in &mut connections {
                    scope.spawn(|| {
                        while left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
                        {
                            connection.check_in(&unused_code(by_hand));
                        }
                    });
                }
            });
        },
    );
}

/// The codes of tickets in a random order, each once. An odd factor visits every number below a power of two once.
fn unused_code(used: &AtomicU64) -> String {
    const CYCLE: u64 = 1 << 16;
    const { assert!(CYCLE <= TICKETS) };
    let number = used.fetch_add(1, Ordering::Relaxed);
    assert!(number < CYCLE, "a ticket is checked in once");
    code(number.wrapping_mul(scatter(1) | 1) % CYCLE)
}

fn look_ups(bench: &mut Bench, name: &str, databases: &Databases) {
    if !bench.includes(name) {
        return;
    }
    let mut by_hand = by_hand::Reads::new(databases.server.client("by_hand"), databases.organization);
    let next = AtomicU64::new(0);
    let random_code = || code(scatter(next.fetch_add(1, Ordering::Relaxed)) % TICKETS);
    bench.compare(
        name,
        2_000,
        |count| {
            for _ in 0..count {
                databases.service.get_ticket_by_code(&databases.caller, &random_code()).expect("found");
            }
        },
        |count| (0..count).for_each(|_| by_hand.ticket(&random_code())),
    );
}

fn pages(bench: &mut Bench, name: &str, databases: &Databases) {
    if !bench.includes(name) {
        return;
    }
    let mut by_hand = by_hand::Reads::new(databases.server.client("by_hand"), databases.organization);
    let request = || ListTickets::default().limit(50);
    bench.compare(
        name,
        500,
        |count| {
            for _ in 0..count {
                let page = databases.service.list_tickets(&databases.caller, request()).expect("readable");
                assert_eq!(page.data.len(), 50);
            }
        },
        |count| (0..count).for_each(|_| assert_eq!(by_hand.page(), 50)),
    );
}
