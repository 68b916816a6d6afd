//! A store with many rows, and the largest requests for it.

use ticketing::discount::Discount;
use ticketing::event::{Event, EventStatus};
use ticketing::id::{EventId, OrderId, WebhookId};
use ticketing::order::{CreateOrder, NewOrderItem, Order};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, TicketType};
use ticketing::webhook::EventType;

use crate::common::database::{Database, stored_id};
use crate::common::outbox::{SALE_NOTIFICATIONS, insert_webhook};
use crate::common::transport::FakeTransport;
use crate::common::*;
use crate::facade::operation::Ids;

/// The most ticket types of an event.
const MAX_TYPES: i64 = 500;

/// The most endpoints of an organization.
const MAX_ENDPOINTS: usize = 100;

/// The most entries of an order, and tickets of each so that it has the most tickets.
const MAX_ITEMS: usize = 100;
const PER_ITEM: i64 = 5;

/// Reserved seats of a ticket type: more than the copied orders reserve, so that its counters stay positive.
pub const RESERVED_SEATS: i64 = 5_000_000;

/// Orders with the most entries that one step of the maintenance finds at once.
const LARGE_ORDERS: i64 = 60;

/// An event whose ticket types are sold out by the expired holds of some orders with the most entries, and of `size`
/// with one. All have used a discount.
pub struct ExpiredHolds {
    pub types: Vec<TicketType>,
    pub discount: Discount,
    /// The number of orders.
    pub orders: i64,
    /// The largest order, which is stored as EXPIRED.
    pub late: Order,
}

/// A store in which there are `size` of everything that has no limit.
pub struct Store {
    pub fixture: Fixture,
    pub size: i64,
    /// The resources of the examples in the table of operations.
    pub(crate) ids: Ids,
    /// An event with as many ticket types as it may have, and `size` orders, tickets and discounts.
    pub event: Event,
    /// Types of the event that have a price.
    pub types: Vec<TicketType>,
    /// A discount of the event for all of its types.
    pub discount: Discount,
    /// A type without a price, of another event with as many ticket types.
    pub free_types: Vec<TicketType>,
    pub endpoints: Vec<WebhookId>,
}

impl Store {
    pub fn new(size: i64) -> Self {
        let transport = FakeTransport::succeeding();
        let fixture = Fixture::with_gateway(|builder| {
            builder
                .webhook_transport(transport)
                .public_url("https://tickets.example.com")
                .write_quota(None)
                .handler_threads(false)
                .on_notification("mail", |_, _| Ok(()))
        });
        // The copied rows do not add up.
        fixture.skip_final_check();
        let database = fixture.database();
        let organization = fixture.caller.organization();
        let (event, types) = event_with_types(&fixture, 1250);
        let [ids, _] = Ids::create(&fixture, &types[0]);
        // One endpoint is among these resources.
        let endpoints =
            (1..MAX_ENDPOINTS).map(|_| insert_webhook(&database, organization, &SALE_NOTIFICATIONS)).collect();
        let (_, free_types) = event_with_types(&fixture, 0);
        let discount = percent_off(&event, "ALL", 10).applicable_ticket_types(all_types(&fixture, &event));
        let discount = fixture.discount(discount);
        let one = fixture.discount(percent_off(&event, "ONE", 10));
        copies(&database, "discounts", stored_id(one.id), size, &[("code", "'C' || n.i"), ("code_key", "'c' || n.i")]);
        let sold = fixture.paid_order(&types[0], 2);
        let customer = database.value("SELECT MIN(id) FROM customers");
        copies(&database, "customers", customer, size, &[("email", "'c' || n.i"), ("email_key", "'c' || n.i")]);
        copy_order(&database, sold.id, size);
        let ticket = stored_id(sold.tickets().next().expect("a ticket").id);
        copies(&database, "tickets", ticket, 2 * size, &[("code", "SUBSTR('00000000000000000000' || n.i, -20)")]);
        let store = Self { fixture, size, ids, event, types, discount, free_types, endpoints };
        store.next_second();
        store
    }

    /// New ids come after those of the rows that were copied.
    pub fn next_second(&self) {
        self.fixture.clock.advance(std::time::Duration::from_secs(1));
    }

    pub fn database(&self) -> Database {
        self.fixture.database()
    }

    /// The largest order, for types with a price.
    pub fn largest_order(&self) -> CreateOrder {
        order_of(&self.types).discount_code("ALL")
    }

    /// The largest order that costs nothing: its tickets are issued at once.
    pub fn largest_free_order(&self) -> CreateOrder {
        order_of(&self.free_types)
    }

    pub fn pending_order(&self) -> Order {
        self.fixture.service.create_order(&self.fixture.caller, self.largest_order()).expect("an order").order
    }

    pub fn paid_order(&self) -> Order {
        let order = self.pending_order();
        self.fixture.service.payment_completed(&self.fixture.caller, order.id).expect("a payment")
    }

    /// An event with as many ticket types as it may have and `size` discounts, but without orders.
    pub fn unsold_event(&self) -> Event {
        let (event, _) = event_with_types(&self.fixture, 1250);
        self.add_discounts(&event);
        event
    }

    pub fn add_discounts(&self, event: &Event) {
        let one = self.fixture.discount(percent_off(event, "ONE", 10));
        let numbered = [("code", "'C' || n.i"), ("code_key", "'c' || n.i")];
        copies(&self.database(), "discounts", stored_id(one.id), self.size, &numbered);
        self.next_second();
    }

    /// A new event with pending orders: some with the most entries, and `size` with one.
    pub fn event_with_pending_orders(&self) -> Event {
        let (event, types) = event_with_types(&self.fixture, 1250);
        let create =
            |request| self.fixture.service.create_order(&self.fixture.caller, request).expect("an order").order;
        let large = create(order_of(&types));
        let small = create(new_order(event.id, types[0].id, 1));
        let database = self.database();
        database.execute(
            "UPDATE ticket_types SET held = held + ?2, pending_orders = pending_orders + ?2 WHERE event_id = ?1",
            [stored_id(event.id), RESERVED_SEATS],
        );
        copy_order(&database, large.id, LARGE_ORDERS);
        copy_order(&database, small.id, self.size);
        self.next_second();
        event
    }

    /// Adds an event with expired holds.
    pub fn expired_holds(&self) -> ExpiredHolds {
        // Those of an earlier operation, which the maintenance would go through later.
        self.database().run("UPDATE orders SET status = 'CANCELLED' WHERE status = 'PENDING' AND hold_until = 1");
        let (event, types) = event_with_types(&self.fixture, 1250);
        let discount = self.fixture.discount(percent_off(&event, "HELD", 10));
        let create = |request: CreateOrder| {
            let request = request.discount_code("HELD");
            self.fixture.service.create_order(&self.fixture.caller, request).expect("an order").order
        };
        let late = create(order_of(&types));
        let one_of_each = types[..MAX_ITEMS].iter().map(|ticket_type| NewOrderItem::new(ticket_type.id, 1));
        let large = create(CreateOrder::with_items(event.id, new_customer(), one_of_each));
        let small = create(new_order(event.id, types[0].id, 1));
        let database = self.database();
        copy_order(&database, large.id, LARGE_ORDERS);
        copy_order(&database, small.id, self.size);
        let orders = LARGE_ORDERS + self.size + 2;
        database.execute("UPDATE orders SET hold_until = 1 WHERE event_id = ?1", [stored_id(event.id)]);
        database.execute("UPDATE orders SET status = 'EXPIRED' WHERE id = ?1", [stored_id(late.id)]);
        // Of the reserved seats, some are those of holds that have not expired.
        database.execute(
            "UPDATE ticket_types SET sold = 0, held = ?2, quantity = ?2, pending_orders = ?2, expired_orders = ?2
            WHERE event_id = ?1",
            [stored_id(event.id), RESERVED_SEATS],
        );
        database.execute("UPDATE discounts SET used_count = ?2 WHERE id = ?1", [stored_id(discount.id), orders]);
        self.next_second();
        ExpiredHolds { types, discount, orders, late }
    }

    /// Adds an event with expired holds, and enough seats. Every use of the discount must be released before the next.
    pub fn discount_uses_of_expired_holds(&self) -> ExpiredHolds {
        let holds = self.expired_holds();
        let database = self.database();
        let event = stored_id(holds.late.event_id);
        database.execute("UPDATE ticket_types SET quantity = 10000000 WHERE event_id = ?1", [event]);
        database.execute("UPDATE discounts SET usage_limit = 1 WHERE id = ?1", [stored_id(holds.discount.id)]);
        holds
    }

    /// Enables or disables all endpoints.
    pub fn set_endpoints_enabled(&self, enabled: bool) {
        self.database().execute("UPDATE webhook_endpoints SET enabled = ?1", [enabled]);
    }

    pub fn cancel(&self, event: EventId) {
        self.fixture.set_event_status(event, EventStatus::Cancelled).expect("cancelled");
    }

    /// Queues `size` notifications of each type for an endpoint.
    pub fn fill_outbox(&self, endpoint: WebhookId) {
        let database = self.database();
        for (number, event_type) in EventType::ALL.iter().enumerate() {
            database.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
                SELECT COALESCE((SELECT MAX(id) FROM webhook_outbox), 0) + n.i, ?2, n.i, ?3, 'WAITING', 0, ?4 FROM n",
                database_params(self.size, endpoint, event_type.as_str(), i64::try_from(number).expect("few")),
            );
        }
        outbox::store_notifications(&database, "{}");
        self.next_second();
    }
}

fn database_params(size: i64, endpoint: WebhookId, event_type: &str, number: i64) -> (i64, i64, String, i64) {
    (size, stored_id(endpoint), event_type.to_owned(), number)
}

/// An event with as many ticket types as it may have, and those of them that the largest order contains.
fn event_with_types(fixture: &Fixture, cents: i64) -> (Event, Vec<TicketType>) {
    let event = fixture.event();
    let mut new = CreateTicketType::new("Seat", eur(cents), 10_000_000);
    new.max_per_order = Some(100);
    let one = fixture.service.create_ticket_type(&fixture.caller, event.id, new).expect("a type");
    copies(&fixture.database(), "ticket_types", stored_id(one.id), MAX_TYPES - 1, &[]);
    fixture.clock.advance(std::time::Duration::from_secs(1));
    let request = ListTicketTypes::default().limit(100);
    let types = fixture.service.list_ticket_types(&fixture.caller, event.id, request).expect("a page").data;
    (event, types)
}

/// The ids of all ticket types of an event.
fn all_types(fixture: &Fixture, event: &Event) -> Vec<ticketing::id::TicketTypeId> {
    let list =
        |page| fixture.service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default().page(page));
    ticketing::page::all(list).map(|ticket_type| ticket_type.expect("a type").id).collect()
}

fn order_of(types: &[TicketType]) -> CreateOrder {
    let items = types[..MAX_ITEMS].iter().map(|ticket_type| NewOrderItem::new(ticket_type.id, PER_ITEM));
    let mut order = CreateOrder::with_items(types[0].event_id, new_customer(), items);
    order.reference = Some("r".repeat(255));
    order
}

/// Copies an order with its items.
pub fn copy_order(database: &Database, order: OrderId, number: i64) {
    let order = stored_id(order);
    let first: i64 = database.value("SELECT MAX(id) FROM orders");
    copies(database, "orders", order, number, &[("payment_reference", "payment_reference || n.i || '-' || t.id")]);
    let items: Vec<i64> = database.column(&format!("SELECT id FROM order_items WHERE order_id = {order}"));
    for item in items {
        copies(database, "order_items", item, number, &[("order_id", &format!("{first} + n.i"))]);
    }
}

/// Inserts copies of a row under new ids. Some columns get the value of an expression, in which `n.i` is the number of
/// the copy and `t` the row.
pub fn copies(database: &Database, table: &str, row: i64, number: i64, changes: &[(&str, &str)]) {
    let columns: Vec<String> = database.column(&format!("SELECT name FROM pragma_table_info('{table}')"));
    let value = |column: &String| match changes.iter().find(|(name, _)| name == column) {
        Some((_, expression)) => (*expression).to_owned(),
        None if column == "id" => format!("(SELECT MAX(id) FROM {table}) + n.i"),
        None => format!("t.{column}"),
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    database.execute(
        &format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            INSERT INTO {table} ({}) SELECT {} FROM n, {table} t WHERE t.id = ?2",
            columns.join(", "),
            values.join(", ")
        ),
        [number, row],
    );
}
