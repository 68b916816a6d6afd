//! What a page of a filtered list costs does not depend on how many orders and tickets there are.
//!
//! SQLite asks the clock after every 2,000 instructions of a read that may be long. A clock that counts the questions
//! measures the work of a list, at any load of the machine.

use std::cell::Cell;
use std::fmt::Debug;
use std::str::FromStr;
use std::time::Duration;

use ticketing::allocation::{AllocationState, CreateAllocation, ListAllocations};
use ticketing::discount::ListDiscounts;
use ticketing::environment::{Clock, ManualClock};
use ticketing::event::{EventStatus, ListEvents};
use ticketing::id::AllocationId;
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::organization::ListOrganizations;
use ticketing::payment::{DisputeStatus, ListDisputes, ListLedgerEntries, ListPayments, ListRefunds, RefundStatus};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::{ListTicketTypes, TicketTypeStatus};
use ticketing::webhook::{DeliveryEventType, EventType, ListWebhookDeliveries, ListWebhooks};
use ticketing::{Caller, TicketingService, Timestamp};

use crate::common::*;

const UNMEASURED: &str = "a list is measured by instructions of SQLite";

/// The filters that search, with their lists: the documentation says so.
const SEARCHES: [(&str, &str); 5] = [
    ("ListOrders", "payment_method"),
    ("ListPayments", "purpose"),
    ("ListPayments", "mode"),
    ("ListLedgerEntries", "kind"),
    ("ListLedgerEntries", "mode"),
];

thread_local! {
    static QUESTIONS: Cell<u64> = const { Cell::new(0) };
}

/// A clock that counts how often its thread asks for the monotonic time.
#[derive(Debug, Clone)]
struct CountingClock(ManualClock);

impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        QUESTIONS.set(QUESTIONS.get() + 1);
        self.0.monotonic()
    }
}

/// What most orders, tickets, refunds, discounts and deliveries are like. The few others are the oldest.
#[derive(Debug, Clone, Copy)]
enum Most {
    /// Completed and not checked in.
    Sold,
    /// Expired, or checked in.
    Over,
}

/// A store with `orders` orders that are all alike, two tickets each, and a few older ones of all kinds.
struct Sample {
    fixture: Fixture,
    service: TicketingService,
    requests: Vec<Filters>,
}

/// The requests of a list that have one filter each, by the filter.
struct Filters {
    list: &'static str,
    /// All fields of the request.
    fields: Vec<String>,
    filters: Vec<Filter>,
}

struct Filter {
    field: &'static str,
    /// Each value of the filter, and its list.
    requests: Vec<(String, List)>,
}

/// Reads a page, and returns the number of its items.
type List = Box<dyn Fn(&Sample) -> usize>;

/// The requests with one filter: `[field(value, …), …]`.
macro_rules! filters {
    ($request:ident, $list:expr; $($field:ident [$($value:expr),+ $(,)?])*) => {
        Filters {
            list: stringify!($request),
            fields: fields(&$request::default()),
            filters: vec![$(Filter {
                field: stringify!($field),
                requests: vec![$({
                    let request = $request::default().limit(20).$field($value);
                    let list = $list;
                    let items = move |sample: &Sample| {
                        let page = list(&sample.service, &sample.fixture.caller, request.clone());
                        page.expect("a page").data.len()
                    };
                    (stringify!($value).to_owned(), Box::new(items) as List)
                }),+],
            }),*],
        }
    };
}

/// The names of the setters of a request but `page`. `Debug` shows its fields.
fn fields(request: &impl Debug) -> Vec<String> {
    let text = format!("{request:?}");
    let (_, fields) = text.split_once("{ ").expect("fields");
    let (fields, _) = fields.split_once("page: ").expect("a page");
    fields
        .split(", ")
        .filter_map(|field| field.split_once(": "))
        .map(|(name, _)| name.trim_end_matches("_id").to_owned())
        .collect()
}

impl Sample {
    fn new(orders: i64, most: Most) -> Self {
        let fixture = Fixture::with_gateway(|builder| builder.allow_local_webhooks(true));
        fixture.skip_final_check();
        let event = fixture.event();
        let elsewhere = fixture.event_with(|new| new.reference = Some("known".to_owned()));
        let [common, rare, unsold] = [1250, 1250, 1250].map(|cents| fixture.ticket_type(&event, cents, 1_000_000));
        let [discount, unused] = ["EARLY", "LATE"].map(|code| fixture.discount(percent_off(&event, code, 10)));
        let webhook = fixture.webhook([EventType::TicketIssued]).endpoint.id;

        // The few: of every status, with a discount and a reference, of a type that few have.
        let mut order = new_order(event.id, rare.id, 2);
        order.customer.email = "rare@example.com".to_owned();
        order.discount_code = Some("EARLY".to_owned());
        order.reference = Some("known".to_owned());
        let create = || fixture.service.create_order(&fixture.caller, order.clone()).expect("an order").order.id;
        let [pending, _expired, cancelled, refused, completed] = [(); 5].map(|()| create());
        for paid in [cancelled, refused, completed] {
            fixture.service.payment_completed(&fixture.caller, paid).expect("a payment");
        }
        let tickets = fixture.read_order(completed).items[0].issued_tickets.clone();
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&tickets[0].code)).expect("admitted");
        fixture.service.cancel_order(&fixture.caller, refused).expect("a cancellation");
        let guests = CreateAllocation::new("Guests", 1);
        let guests = fixture.service.create_allocation(&fixture.caller, rare.id, guests).expect("an allocation").id;
        let first = fixture.clock.now();
        let database = fixture.database();
        insert_many(&fixture, orders, most, database::stored_id(completed), database::stored_id(common.id));
        // Two days later, an old order is cancelled. One order is still pending.
        fixture.clock.advance(Duration::from_hours(48));
        fixture.expire_holds();
        fixture.service.cancel_order(&fixture.caller, cancelled).expect("a cancellation");
        database.execute(
            "UPDATE orders SET status = 'PENDING', hold_until = ?1 WHERE id = ?2",
            database::params![i64::MAX / 2_000_000, database::stored_id(pending)],
        );
        let (status, active) = if matches!(most, Most::Sold) { ("REFUSED", 0) } else { ("DUE", 1) };
        database.execute(
            "UPDATE refunds SET status = ?1 WHERE order_id = ?2",
            database::params![status, database::stored_id(refused)],
        );
        database.execute("UPDATE discounts SET is_active = ?1 WHERE code IN ('EARLY', 'LATE')", [active]);

        let clock = CountingClock(fixture.clock.clone());
        let service = fixture.second_service_with(|builder| builder.clock(clock));
        let now = fixture.clock.now();
        let between = first.checked_add(Duration::from_millis(1)).expect("in range");
        let (before_all, after_all) =
            (at("2020-01-01T00:00:00Z"), now.checked_add(Duration::from_hours(2)).expect("in range"));
        let requests = vec![
            filters! { ListOrders, |service: &TicketingService, caller: &Caller, request| service.list_orders(caller, request);
                event [event.id, elsewhere.id]
                status [OrderStatus::Pending, OrderStatus::Completed, OrderStatus::Cancelled, OrderStatus::Expired]
                customer_email ["rare@example.com", "ada@example.com", "nobody@example.com"]
                created_from [after_all, before_all]
                created_before [between, before_all]
                completed_from [now, after_all]
                completed_before [between, before_all]
                updated_from [now, after_all]
                updated_before [between, before_all]
                discount [discount.id, unused.id]
                ticket_type [rare.id, common.id, unsold.id]
                reference ["known", "unknown"]
            },
            filters! { ListTickets, |service: &TicketingService, caller: &Caller, request| service.list_tickets(caller, request);
                event [event.id, elsewhere.id]
                ticket_type [rare.id, common.id, unsold.id]
                order [completed, pending]
                status [TicketStatus::CheckedIn, TicketStatus::NotCheckedIn, TicketStatus::Cancelled]
                customer_email ["rare@example.com", "ada@example.com", "nobody@example.com"]
                first_scan_from [now, after_all]
                first_scan_before [between, before_all]
                allocation [guests, AllocationId::from_str("allocation_0000000000001").expect("an id")]
            },
            filters! { ListAllocations, |service: &TicketingService, caller: &Caller, request| service.list_allocations(caller, request);
                event [event.id, elsewhere.id]
                ticket_type [rare.id, common.id, unsold.id]
                state [AllocationState::Issuing, AllocationState::Complete, AllocationState::Cancelled]
            },
            filters! { ListEvents, |service: &TicketingService, caller: &Caller, request| service.list_events(caller, request);
                status [EventStatus::Published, EventStatus::Cancelled, EventStatus::Expired]
                is_public [true, false]
                q ["night", "nothing"]
                slug ["unknown"]
                starts_from [before_all, after_all]
                starts_before [before_all, after_all]
                reference ["known", "unknown"]
            },
            filters! { ListRefunds, |service: &TicketingService, caller: &Caller, request| service.list_refunds(caller, request);
                status [RefundStatus::Due, RefundStatus::Done, RefundStatus::Refused, RefundStatus::Withdrawn]
                event [event.id, elsewhere.id]
                order [cancelled, pending]
            },
            filters! { ListDisputes, |service: &TicketingService, caller: &Caller, request| service.list_disputes(caller, request);
                status [DisputeStatus::Open, DisputeStatus::Won, DisputeStatus::Lost]
                event [event.id, elsewhere.id]
                order [cancelled, pending]
            },
            filters! { ListPayments, |service: &TicketingService, caller: &Caller, request| service.list_payments(caller, request);
                event [event.id, elsewhere.id]
                order [cancelled, pending]
                from [now, after_all]
                before [between, before_all]
            },
            filters! { ListLedgerEntries, |service: &TicketingService, caller: &Caller, request| service.list_ledger_entries(caller, request);
                event [event.id, elsewhere.id]
                order [cancelled, pending]
                from [now, after_all]
                before [between, before_all]
            },
            filters! { ListDiscounts, |service: &TicketingService, caller: &Caller, request| service.list_discounts(caller, request);
                event [event.id, elsewhere.id]
                code ["early", "unknown"]
                is_active [true, false]
            },
            filters! { ListWebhookDeliveries, move |service: &TicketingService, caller: &Caller, request| service.list_webhook_deliveries(caller, webhook, request);
                success [true, false]
                event_type [DeliveryEventType::OrderCompleted, DeliveryEventType::TicketCheckedIn]
            },
            filters! { ListTicketTypes, move |service: &TicketingService, caller: &Caller, request| service.list_ticket_types(caller, event.id, request);
                status [TicketTypeStatus::OnSale, TicketTypeStatus::DisplayAsSoldOut]
                reference ["unknown"]
            },
            filters! { ListWebhooks, (); },
            filters! { ListOrganizations, |service: &TicketingService, _: &Caller, request| service.list_organizations(request);
                reference ["unknown"]
            },
        ];
        Self { fixture, service, requests }
    }
}

/// Inserts orders like the one with the id `like`, with tickets, refunds, discounts and deliveries.
fn insert_many(fixture: &Fixture, orders: i64, most: Most, like: i64, ticket_type: i64) {
    let database = fixture.database();
    let is_over = matches!(most, Most::Over);
    // An id begins with the milliseconds of its creation. The first order comes a minute after the few.
    let numbers = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {orders}),
            t (i, at, id) AS (SELECT i, {start} + i * 10, ({start} + i * 10) << 20 FROM n)",
        start = at(NOW).millis() + 60_000
    );
    let customer = "INSERT INTO customers (id, organization_id, email, email_key, created_at)
        SELECT id + 1, organization_id, 'ada@example.com', 'ada@example.com', created_at FROM customers
        WHERE email_key = 'rare@example.com'";
    database.execute(customer, []);
    let (order_status, ticket_status, refund_status) =
        if is_over { ("EXPIRED", "CHECKED_IN", "REFUSED") } else { ("COMPLETED", "NOT_CHECKED_IN", "DONE") };
    let insert = |rows: &str| {
        let of_few = format!("(SELECT * FROM orders WHERE id = {like})");
        let sql = rows
            .replace("FROM few", &format!("FROM {of_few} few"))
            .replace("TYPE", &ticket_type.to_string())
            .replace("CUSTOMER", "(SELECT id FROM customers WHERE email_key = 'ada@example.com')");
        // The recursive table is visible to the SELECT of an INSERT.
        database.run(&sql.replacen("SELECT", &format!("{numbers} SELECT"), 1));
    };
    insert(&format!(
        "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency, total,
            completed_at, created_at, updated_at)
        SELECT t.id, few.organization_id, few.event_id, CUSTOMER, 'Ada', '{order_status}', few.hold_until, 'EUR', 1250,
            {}, t.at, t.at FROM few, t",
        if is_over { "NULL" } else { "t.at" }
    ));
    insert(
        "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
        SELECT t.id, t.id, TYPE, 2, 1250, 0 FROM t",
    );
    for position in 0..2 {
        insert(&format!(
            "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
                customer_name, code, status, check_in_at, first_scan_at, scan_count, created_at, updated_at)
            SELECT t.id + {position}, few.organization_id, few.event_id, TYPE, t.id, t.id, CUSTOMER, 'Ada',
                SUBSTR('00000000000000000000' || (2 * t.i + {position}), -20), '{ticket_status}', {scan}, {scan}, 1,
                t.at, t.at FROM few, t",
            scan = if is_over { "t.at" } else { "NULL" }
        ));
    }
    insert(
        "INSERT INTO payments (id, order_id, organization_id, event_id, purpose, gateway, account, mode, amount, currency,
            created_at)
        SELECT t.id, t.id, few.organization_id, few.event_id, 'ORDER', 'fake', '', 'LIVE', 1250, 'EUR', t.at FROM few, t",
    );
    insert(&format!(
        "INSERT INTO refunds (id, order_id, organization_id, event_id, payment_id, source, amount, currency, status,
            by_gateway, promised, created_at, updated_at)
        SELECT t.id, t.id, few.organization_id, few.event_id, t.id, 'ORDER', 1250, 'EUR', '{refund_status}', 1, 1250,
            t.at, t.at FROM few, t"
    ));
    insert(
        "INSERT INTO ledger_entries (id, order_id, organization_id, event_id, payment_id, refund_id, subject_id, kind, amount,
            currency, mode, happened_at, recorded_at)
        SELECT t.id + 1, t.id, few.organization_id, few.event_id, t.id, t.id, t.id, 'REFUND', -1250, 'EUR', 'LIVE', t.at, t.at
            FROM few, t",
    );
    insert(
        "INSERT INTO disputes (id, order_id, organization_id, event_id, payment_id, reference, amount, currency, reason, status,
            created_at, updated_at)
        SELECT t.id, t.id, few.organization_id, few.event_id, t.id, 'dp', 1250, 'EUR', 'fraudulent', 'LOST', t.at, t.at
            FROM few, t",
    );
    insert(&format!(
        "INSERT INTO discounts (id, organization_id, event_id, code, code_key, type, value, value_decimals, auto_apply,
            valid_from, valid_to, is_active, applicable_ticket_types, created_at, updated_at)
        SELECT t.id, few.organization_id, few.event_id, 'C' || t.i, 'c' || t.i, 'PERCENTAGE', 10, 0, 0, 0, 1, {},
            '[]', t.at, t.at FROM few, t",
        i64::from(!is_over)
    ));
    insert(&format!(
        "INSERT INTO allocations (id, organization_id, event_id, ticket_type_id, is_import, name, quantity, issued, state,
            created_at, updated_at)
        SELECT t.id, few.organization_id, few.event_id, TYPE, 0, 'Guests', 1, 1, '{}', t.at, t.at FROM few, t",
        if is_over { "CANCELLED" } else { "COMPLETE" }
    ));
    // Deliveries of one type, all of which succeeded or failed, and an older one that did not.
    let endpoint: i64 = database.value("SELECT id FROM webhook_endpoints");
    insert(&format!(
        "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, attempts, due_at, finished_at, created_at)
        SELECT t.id, {endpoint}, t.id, 'ticket.issued', 'DEAD', 8, t.at, t.at, t.at FROM t"
    ));
    insert(&format!(
        "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, error_message, created_at)
        SELECT t.id, {endpoint}, t.id, 'ticket.issued', 8, {}, t.at FROM t",
        if is_over { "0, 'refused'" } else { "1, NULL" }
    ));
    database.run(&format!(
        "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, attempts, due_at, finished_at, created_at)
            VALUES (1, {endpoint}, 1, 'ticket.checked_in', 'DEAD', 8, 0, 0, 0);
        INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, error_message, created_at)
            VALUES (1, {endpoint}, 1, 'ticket.checked_in', 8, {}, 0)",
        if is_over { "1, NULL" } else { "0, 'refused'" }
    ));
    outbox::store_notifications(&database, "{}");
}

/// The number of questions to the clock during ten calls of each request, and the sum of the items on the pages.
fn costs(orders: i64, most: Most) -> Vec<(String, u64, usize)> {
    let sample = Sample::new(orders, most);
    let mut costs = Vec::new();
    for Filters { list, filters, .. } in &sample.requests {
        for (filter, (value, list_page)) in
            filters.iter().flat_map(|filter| filter.requests.iter().map(move |request| (filter, request)))
        {
            let before = QUESTIONS.get();
            let items = (0..10).map(|_| list_page(&sample)).sum();
            costs.push((format!("{list}.{} = {value}", filter.field), QUESTIONS.get() - before, items));
        }
    }
    costs
}

#[test]
fn every_filter_of_every_list_is_measured() {
    if !database::is_file() {
        return skipped(UNMEASURED);
    }
    let sample = Sample::new(1, Most::Sold);
    for Filters { list, fields, filters } in &sample.requests {
        let measured: Vec<_> = filters.iter().map(|filter| filter.field).collect();
        let searches = SEARCHES.iter().filter(|(of, _)| of == list).map(|(_, field)| *field);
        let (mut fields, mut named): (_, Vec<_>) = (fields.clone(), measured.into_iter().chain(searches).collect());
        fields.sort();
        named.sort_unstable();
        assert_eq!(fields, named, "{list}");
    }
}

fn assert_flat(most: Most) {
    if !database::is_file() {
        return skipped(UNMEASURED);
    }
    let few = costs(1_000, most);
    let many = costs(10_000, most);
    for ((request, at_few, items), (_, at_many, items_of_many)) in few.iter().zip(&many) {
        assert_eq!(items, items_of_many, "{request}");
        // One question is for 2,000 instructions, and these are ten pages.
        assert!(*at_many <= at_few + 1, "{request}: {at_few} and {at_many} questions to the clock");
    }
}

#[test]
fn a_page_of_any_filter_costs_the_same_in_a_store_of_any_size_when_most_is_sold() {
    assert_flat(Most::Sold);
}

#[test]
fn a_page_of_any_filter_costs_the_same_in_a_store_of_any_size_when_most_is_over() {
    assert_flat(Most::Over);
}

#[test]
fn the_measurement_shows_a_search() {
    if !database::is_file() {
        return skipped(UNMEASURED);
    }
    let costs = [1_000, 10_000].map(|orders| {
        let sample = Sample::new(orders, Most::Sold);
        let search = ListOrders::default().customer_email("ada@example.com").status(OrderStatus::Cancelled);
        let before = QUESTIONS.get();
        assert_eq!(sample.service.list_orders(&sample.fixture.caller, search).expect("a page").data, []);
        QUESTIONS.get() - before
    });
    assert!(costs[1] > 5 * costs[0], "{costs:?}");
}
