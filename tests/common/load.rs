//! What the tests of races, processes, crashes and the store share: a shop in a folder of its own, threads that start at
//! once, hand-written SQL beside the service, and the invariants that a store must hold whatever happened to it.
#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use rusqlite::{Connection, types::FromSql};
use ticketing::{
    Amount, Caller, Change, CreateEvent, CreateOrder, CreateTicketType, Event, EventId, ManualClock, NewCustomer,
    Order, TicketType, TicketTypeId, TicketingService, Timestamp, UpdateTicketType,
};

/// The time in the tests that turn it by hand: noon of the first of May 2030.
pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_903_867_200_000);
/// How long a pending order holds its places in these tests.
pub(crate) const HOLD: Duration = Duration::from_mins(30);

/// An organization with one event on sale.
pub(crate) struct Shop {
    pub(crate) service: TicketingService,
    pub(crate) clock: ManualClock,
    pub(crate) caller: Caller,
    pub(crate) event: Event,
    pub(crate) path: PathBuf,
    pub(crate) folder: Arc<tempfile::TempDir>,
    corrupted: AtomicBool,
}

impl Drop for Shop {
    /// Whatever a test did, what it leaves behind is as it must be.
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.corrupted.load(Ordering::Relaxed) {
            let report = self.service.check().unwrap();
            assert!(report.is_clean(), "{:#?}", report.findings);
        }
    }
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::open_in(tempfile::tempdir().unwrap())
    }

    pub(crate) fn open_in(folder: tempfile::TempDir) -> Self {
        let path = folder.path().join("ticketing.db");
        let clock = ManualClock::at(NOON);
        let service =
            TicketingService::builder(&path).clock(clock.clone()).sandbox_gateway().order_hold(HOLD).open().unwrap();
        let caller = service.act_for(service.create_organization(Default::default()).unwrap().id).unwrap();
        let event = service.create_event(&caller, event("summer-night")).unwrap();
        Self { service, clock, caller, event, path, folder: Arc::new(folder), corrupted: AtomicBool::new(false) }
    }

    /// A ticket type of this event, of which a ticket costs `price` cents.
    pub(crate) fn seats(&self, price: i64, quantity: i64) -> TicketTypeId {
        let seats = CreateTicketType::new("Seat", Amount::new(price, 2), quantity);
        self.service.create_ticket_type(&self.caller, self.event.id, seats).unwrap().id
    }

    pub(crate) fn request(&self, seats: TicketTypeId, quantity: i64) -> CreateOrder {
        order_of(self.event.id, seats, quantity)
    }

    pub(crate) fn order(&self, seats: TicketTypeId, quantity: i64) -> ticketing::Result<Order> {
        self.service.create_order(&self.caller, self.request(seats, quantity)).map(|placed| placed.order)
    }

    pub(crate) fn ticket_type(&self, id: TicketTypeId) -> TicketType {
        self.service.get_ticket_type(&self.caller, id).unwrap()
    }

    pub(crate) fn set_quantity(&self, id: TicketTypeId, quantity: i64) -> ticketing::Result<TicketType> {
        let change = UpdateTicketType { quantity: Change::Set(quantity), ..Default::default() };
        self.service.update_ticket_type(&self.caller, id, change)
    }

    /// Closes the service and hands the file to hand-written SQL.
    pub(crate) fn into_file(self) -> (Arc<tempfile::TempDir>, PathBuf) {
        (Arc::clone(&self.folder), self.path.clone())
    }

    /// Says that the test writes into the file what the service never would: it is not checked at the end.
    pub(crate) fn is_corrupted(&self) {
        self.corrupted.store(true, Ordering::Relaxed);
    }
}

/// An event on sale that begins in the far future.
pub(crate) fn event(slug: &str) -> CreateEvent {
    let mut event = CreateEvent::new("Summer Night", slug, Timestamp::MAX);
    event.status = Some(ticketing::EventStatus::Published);
    event
}

pub(crate) fn order_of(event: EventId, seats: TicketTypeId, quantity: i64) -> CreateOrder {
    CreateOrder::new(event, NewCustomer::new("Ada", "ada@example.com"), seats, quantity)
}

/// Runs `work` on `threads` threads that set off together.
pub(crate) fn at_once<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let run = |number| {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(number)
            })
        };
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs two pieces of work on threads that set off together.
pub(crate) fn both<A: Send, B: Send>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            start.wait();
            one()
        });
        start.wait();
        let second = other();
        (first.join().unwrap(), second)
    })
}

/// A connection beside the service, for hand-written SQL.
pub(crate) fn sql(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

/// The same, with the schema's CHECKs taken away: what the controls write with.
pub(crate) fn unguarded(path: &Path) -> Connection {
    let connection = sql(path);
    connection.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF").unwrap();
    connection
}

pub(crate) fn value<T: FromSql>(connection: &Connection, query: &str) -> T {
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

/// What is sold and held of the only ticket type of a file.
pub(crate) fn counters(connection: &Connection) -> (i64, i64) {
    connection.query_row("SELECT sold, held FROM ticket_types", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// What must hold of every store at every instant, as queries that find where it does not.
const BROKEN: &[(&str, &str)] = &[
    (
        "sold is not the number of live tickets",
        "SELECT id FROM ticket_types t WHERE sold <>
        (SELECT COUNT(*) FROM tickets WHERE ticket_type_id = t.id AND status <> 'CANCELLED')",
    ),
    (
        "held is not what pending orders wait for",
        "SELECT id FROM ticket_types t WHERE held <>
        (SELECT COALESCE(SUM(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE i.ticket_type_id = t.id AND o.status = 'PENDING')",
    ),
    (
        "used_count is not the number of orders that use the discount",
        "SELECT id FROM discounts d WHERE used_count <>
        (SELECT COUNT(*) FROM orders WHERE discount_id = d.id AND status IN ('PENDING', 'COMPLETED'))",
    ),
    (
        "what was taken off an order is not the sum over its items",
        "SELECT id FROM orders o WHERE COALESCE(discounted_amount, 0) <>
        (SELECT SUM(discount) FROM order_items WHERE order_id = o.id)",
    ),
    ("oversold", "SELECT id FROM ticket_types WHERE sold + held > quantity"),
    (
        "an order without items",
        "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM order_items WHERE order_id = o.id)",
    ),
    (
        "a completed order without exactly its tickets",
        "SELECT i.id FROM order_items i JOIN orders o ON o.id = i.order_id
        WHERE o.status = 'COMPLETED' AND i.quantity <> (SELECT COUNT(*) FROM tickets WHERE order_id = o.id AND order_item_id = i.id)",
    ),
    (
        "an order that never completed with tickets",
        "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
        WHERE o.completed_at IS NULL OR o.status IN ('PENDING', 'EXPIRED')",
    ),
    (
        "a cancelled order with a live ticket",
        "SELECT t.id FROM tickets t JOIN orders o ON o.id = t.order_id
        WHERE o.status = 'CANCELLED' AND t.status <> 'CANCELLED'",
    ),
    (
        "an order's total is not the sum of its items",
        "SELECT id FROM orders o WHERE total <>
        (SELECT SUM(price * quantity - discount) FROM order_items WHERE order_id = o.id)",
    ),
    ("an item of no order", "SELECT id FROM order_items WHERE order_id NOT IN (SELECT id FROM orders)"),
    (
        "a payment refunded without a refund",
        "SELECT id FROM orders WHERE payment_status = 'REFUNDED'
        AND id NOT IN (SELECT order_id FROM refunds WHERE status = 'DONE')",
    ),
    (
        "money taken for nothing",
        "SELECT id FROM orders WHERE payment_status = 'COMPLETED'
        AND NOT (status = 'COMPLETED' AND paid_by_gateway = 1) AND id NOT IN (SELECT order_id FROM refunds)",
    ),
    (
        "a refund of an order that stands on that money",
        "SELECT o.id FROM orders o JOIN refunds r ON r.order_id = o.id
        WHERE o.status = 'COMPLETED' AND o.paid_by_gateway = 1",
    ),
];

/// Asserts that a file is sound and its counts agree with its orders and tickets.
pub(crate) fn assert_sound(connection: &Connection) {
    assert_eq!(value::<String>(connection, "PRAGMA integrity_check"), "ok");
    let foreign: i64 = value(connection, "SELECT COUNT(*) FROM pragma_foreign_key_check");
    assert_eq!(foreign, 0, "foreign keys lead nowhere");
    for (name, query) in BROKEN {
        let found: Vec<i64> =
            connection.prepare(query).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

/// Runs `test` of this same test binary in a process of its own, in the part that the variable `role` gives it.
pub(crate) fn child(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env("TICKETING_TEST_ROLE", role);
    command
}

/// The part that this process was given, where it is a child of a test.
pub(crate) fn role() -> Option<String> {
    let role = std::env::var("TICKETING_TEST_ROLE").ok()?;
    // The harness has begun a line of its own.
    println!();
    Some(role)
}

/// A child that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What it [`say`]s next; `None` when it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        next(&mut self.lines)
    }

    /// Gives it a word, for which it [`waits`](wait_for_a_word).
    pub(crate) fn tell(&mut self, word: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{word}").unwrap();
    }

    /// Waits for its end and gives the rest of what it said.
    pub(crate) fn rest(mut self) -> (std::process::ExitStatus, Vec<String>) {
        drop(self.child.stdin.take());
        let rest = std::iter::from_fn(|| self.next()).collect();
        (self.child.wait().unwrap(), rest)
    }
}

/// What a child says next. A line that a kill cut off is none.
pub(crate) fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    lines.map_while(Result::ok).find_map(|line| {
        let said = line.strip_prefix("> ")?.strip_suffix(" .")?;
        Some(said.to_owned())
    })
}

/// Says something to the parent of this process.
pub(crate) fn say(text: impl std::fmt::Display) {
    println!("> {text} .");
}

/// Waits until the parent says something; an empty text when it says nothing any more.
pub(crate) fn wait_for_a_word() -> String {
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
    word.trim().to_owned()
}

/// Starts all of them, waits until each has said that it is ready, and lets them go together.
pub(crate) fn together(commands: impl IntoIterator<Item = Command>) -> Vec<Running> {
    let mut running: Vec<_> = commands.into_iter().map(Running::start).collect();
    for child in &mut running {
        assert_eq!(child.next().as_deref(), Some("ready"));
    }
    running.iter_mut().for_each(|child| child.tell("go"));
    running
}
