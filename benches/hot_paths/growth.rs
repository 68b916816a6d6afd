//! What operations cost in databases of different sizes. What does not depend on the number of tickets has ratios of
//! about 1.

use std::cell::Cell;

use ticketing::Timestamp;
use ticketing::discount::ListDiscounts;
use ticketing::door::{GetRoster, ScanKind, ScanOutcome, UploadScans, Verdict};
use ticketing::event::ListEvents;
use ticketing::id::{EventId, OrderId};
use ticketing::order::{CreateOrder, ListOrders, NewCustomer, OrderStatus};
use ticketing::payment::{ListRefunds, RefundStatus};
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets, TicketStatus};
use ticketing::ticket_type::ListTicketTypes;

use crate::common::door::decided;
use crate::large_store::{LargeStore, code, scatter};
use crate::ratio::{median, time};

/// The sizes that are always measured, in tickets.
const SIZES: [u64; 2] = [100_000, 1_000_000];

/// The number of rounds. The result is their median.
const ROUNDS: usize = 9;

/// A database, and what is needed for requests to it.
struct Sample {
    store: LargeStore,
    tickets: u64,
    /// An order in the middle of the database, and an event without orders.
    order: OrderId,
    empty: EventId,
    /// Where the changes of the roster of the event begin.
    cursor: String,
    next: Cell<u64>,
}

/// An operation, and how often it is called in a round.
type Operation = (&'static str, u64, fn(&Sample));

/// Calls a method of the service for the organization, and drops its result.
macro_rules! call {
    ($method:ident($($argument:expr),*)) => {
        |sample: &Sample| {
            let fixture = &sample.store.fixture;
            drop(fixture.service.$method(&fixture.caller $(, ($argument)(sample))*).expect("a result"));
        }
    };
}

/// A page of 20 orders or tickets that a filter selects.
macro_rules! list {
    ($method:ident, $request:ident $(, $filter:ident = $value:expr)*) => {
        call!($method(|_sample: &Sample| $request::default().limit(20)$(.$filter(($value)(_sample)))*))
    };
}

const OPERATIONS: &[Operation] = &[
    ("list_orders", 100, list!(list_orders, ListOrders)),
    ("list_orders, event", 100, list!(list_orders, ListOrders, event = |s: &Sample| s.store.event)),
    ("list_orders, event without orders", 100, list!(list_orders, ListOrders, event = |s: &Sample| s.empty)),
    ("list_orders, ticketId", 100, list!(list_orders, ListOrders, ticket_type = |s: &Sample| s.store.ticket_type)),
    (
        "list_orders, status COMPLETED",
        100,
        list!(list_orders, ListOrders, status = |_: &Sample| OrderStatus::Completed),
    ),
    ("list_orders, status PENDING", 100, list!(list_orders, ListOrders, status = |_: &Sample| OrderStatus::Pending)),
    (
        "list_orders, status CANCELLED",
        100,
        list!(list_orders, ListOrders, status = |_: &Sample| OrderStatus::Cancelled),
    ),
    ("list_orders, status EXPIRED", 100, list!(list_orders, ListOrders, status = |_: &Sample| OrderStatus::Expired)),
    (
        "list_orders, customerEmail",
        100,
        list!(list_orders, ListOrders, customer_email = |_: &Sample| "customer1@example.com"),
    ),
    (
        "list_orders, unknown customerEmail",
        100,
        list!(list_orders, ListOrders, customer_email = |_: &Sample| "nobody@example.com"),
    ),
    (
        "list_orders, createdFrom matches none",
        100,
        list!(list_orders, ListOrders, created_from = |_: &Sample| Timestamp::MAX),
    ),
    (
        "list_orders, createdBefore matches none",
        100,
        list!(list_orders, ListOrders, created_before = |_: &Sample| Timestamp::UNIX_EPOCH),
    ),
    (
        "list_orders, completedFrom matches none",
        100,
        list!(list_orders, ListOrders, completed_from = |_: &Sample| Timestamp::MAX),
    ),
    (
        "list_orders, completedFrom matches all",
        100,
        list!(list_orders, ListOrders, completed_from = |_: &Sample| Timestamp::UNIX_EPOCH),
    ),
    (
        "list_orders, completedBefore matches none",
        100,
        list!(list_orders, ListOrders, completed_before = |_: &Sample| Timestamp::UNIX_EPOCH),
    ),
    (
        "list_orders, updatedFrom matches none",
        100,
        list!(list_orders, ListOrders, updated_from = |_: &Sample| Timestamp::MAX),
    ),
    (
        "list_orders, updatedBefore matches none",
        100,
        list!(list_orders, ListOrders, updated_before = |_: &Sample| Timestamp::UNIX_EPOCH),
    ),
    ("list_orders, unknown reference", 100, list!(list_orders, ListOrders, reference = |_: &Sample| "unknown")),
    ("list_tickets", 100, list!(list_tickets, ListTickets)),
    ("list_tickets, event", 100, list!(list_tickets, ListTickets, event = |s: &Sample| s.store.event)),
    ("list_tickets, ticketId", 100, list!(list_tickets, ListTickets, ticket_type = |s: &Sample| s.store.ticket_type)),
    ("list_tickets, orderId", 100, list!(list_tickets, ListTickets, order = |s: &Sample| s.order)),
    (
        "list_tickets, customerEmail",
        100,
        list!(list_tickets, ListTickets, customer_email = |_: &Sample| "customer1@example.com"),
    ),
    (
        "list_tickets, status NOT_CHECKED_IN",
        100,
        list!(list_tickets, ListTickets, status = |_: &Sample| TicketStatus::NotCheckedIn),
    ),
    (
        "list_tickets, status CHECKED_IN",
        100,
        list!(list_tickets, ListTickets, status = |_: &Sample| TicketStatus::CheckedIn),
    ),
    (
        "list_tickets, status CANCELLED",
        100,
        list!(list_tickets, ListTickets, status = |_: &Sample| TicketStatus::Cancelled),
    ),
    (
        "list_tickets, firstScanFrom matches none",
        100,
        list!(list_tickets, ListTickets, first_scan_from = |_: &Sample| Timestamp::MAX),
    ),
    ("list_events", 100, list!(list_events, ListEvents)),
    ("list_refunds, status DUE", 100, list!(list_refunds, ListRefunds, status = |_: &Sample| RefundStatus::Due)),
    ("list_discounts", 100, list!(list_discounts, ListDiscounts)),
    (
        "list_ticket_types",
        100,
        call!(list_ticket_types(|s: &Sample| s.store.event, |_: &Sample| ListTicketTypes::default())),
    ),
    ("get_order", 1_000, call!(get_order(|s: &Sample| s.order))),
    ("get_order_details", 1_000, call!(get_order_details(|s: &Sample| s.order))),
    ("get_event", 1_000, call!(get_event(|s: &Sample| s.store.event))),
    ("get_ticket_by_code", 1_000, |sample| {
        let fixture = &sample.store.fixture;
        let code = code(sample.random() % sample.tickets);
        drop(fixture.service.get_ticket_by_code(&fixture.caller, &code).expect("found"));
    }),
    ("authenticate", 1_000, |sample| {
        drop(sample.store.fixture.service.authenticate(&sample.store.key).expect("valid"));
    }),
    ("get_event_summary", 200, call!(get_event_summary(|s: &Sample| s.store.event))),
    (
        "create_order",
        100,
        call!(create_order(|s: &Sample| {
            let email = format!("customer{}@example.com", s.random() % 10_000);
            CreateOrder::new(s.store.event, NewCustomer::new("Ada", email), s.store.ticket_type, 2)
        })),
    ),
    (
        "issue_tickets",
        100,
        call!(issue_tickets(|s: &Sample| {
            IssueTickets::new(s.store.ticket_type, NewCustomer::new("Ada", "customer1@example.com"), 1)
        })),
    ),
    ("check_in_ticket", 100, |sample| {
        let fixture = &sample.store.fixture;
        // Each ticket is scanned once. Tickets with successive numbers are at distant places of the index of codes.
        let code = code(sample.next());
        drop(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("accepted"));
    }),
    ("get_roster, 5,000 tickets", 3, call!(get_roster(|s: &Sample| s.store.event, |_: &Sample| GetRoster::new()))),
    (
        "get_roster, changes",
        100,
        call!(get_roster(|s: &Sample| s.store.event, |s: &Sample| GetRoster::new().since(s.cursor.clone()))),
    ),
    ("upload_scans, 100 tickets", 3, |sample| {
        // The event has the last two tickets of every 40.
        let scans = (0..100).map(|_| {
            let number = sample.next();
            let scanned = number % (sample.tickets / 20);
            let code = code(40 * (scanned / 2) + 38 + scanned % 2);
            decided(number, ScanKind::In, &code, Timestamp::MAX, Verdict::Admitted)
        });
        let mut report = UploadScans::new("Phone", scans);
        report.event_id = Some(sample.store.event);
        let uploaded = sample.store.fixture.service.upload_scans(&sample.store.fixture.caller, report).expect("merged");
        assert!(uploaded.results.iter().all(|result| result.outcome != ScanOutcome::UnknownCode));
    }),
];

impl Sample {
    fn new(tickets: u64) -> Self {
        let store = LargeStore::of(tickets);
        let (service, caller) = (&store.fixture.service, &store.fixture.caller);
        let middle = code(tickets / 2);
        let ticket = service.get_ticket_by_code(caller, &middle).expect("a ticket");
        let of_customer = ListOrders::default().customer_email(ticket.customer.expect("a customer").email);
        let order = service.list_orders(caller, of_customer).expect("a page").data[0].id;
        let empty = store.fixture.event_with(|new| new.slug = "without-orders".to_owned()).id;
        let event = service.get_event(caller, store.event).expect("an event");
        let gate = store.fixture.gate(&event);
        let mut part = store.fixture.roster(&gate, &event);
        while !part.complete {
            let next = GetRoster::new().since(part.cursor);
            part = service.get_roster(&gate, event.id, next).expect("a part");
        }
        Self { store, tickets, order, empty, cursor: part.cursor, next: Cell::new(0) }
    }

    /// The next of the numbers from 0.
    fn next(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    fn random(&self) -> u64 {
        scatter(self.next() ^ 0xaaaa_aaaa_aaaa_aaaa)
    }

    /// The microseconds of each operation, in the order of the table.
    fn measure(&self) -> Vec<f64> {
        let microseconds = OPERATIONS.iter().map(|(_, round, operation)| {
            operation(self);
            let mut rounds = (0..ROUNDS)
                .map(|_| time(|| (0..*round).for_each(|_| operation(self))).as_secs_f64() / *round as f64 * 1e6)
                .collect::<Vec<_>>();
            median(&mut rounds)
        });
        microseconds.collect()
    }
}

/// Measures every operation at each size, and prints the microseconds and how much more they are at the larger sizes.
pub fn print_table() {
    let more = std::env::var("GROWTH_TICKETS").ok().map(|number| number.parse().expect("a number of tickets"));
    let sizes: Vec<u64> = SIZES.into_iter().chain(more).collect();
    let columns: Vec<_> = sizes.iter().map(|tickets| Sample::new(*tickets).measure()).collect();
    let heads = sizes.iter().map(|tickets| format!("{tickets:>10} tickets")).collect::<Vec<_>>().join("");
    println!("\nMicroseconds of each call, and in brackets how much more than with {} tickets:", sizes[0]);
    println!("{:<44}{heads}", "");
    for (row, (name, ..)) in OPERATIONS.iter().enumerate() {
        let first = columns[0][row];
        let cells = columns.iter().map(|column| format!("{:>10.1} ({:>4.2})", column[row], column[row] / first));
        println!("{name:<44}{}", cells.collect::<String>());
    }
}
