//! The same work written directly with the crate `postgres`: the same rows, the same checks and prepared statements,
//! one statement after another, and nothing else.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use postgres::error::SqlState;
use postgres::{Client, Error, Row, Statement, Transaction};

use super::email;
use crate::by_hand::{now, random_code};
use crate::reads::Ticket;

/// Returns what makes ids unique.
fn next() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a checkout stores for the request to the gateway.
const PARAMETERS: &str = r#"{"event_title":"Event 0","item_names":["Seat"],"customer_metadata":{},"public_url":"https://tickets.example","return_token":"000102030405060708090a0b0c0d0e0f1011121314151617"}"#;

/// Writes orders of two tickets of one type. If they cost nothing, they are completed. Otherwise, each gets a checkout
/// link in a second transaction, as if a gateway was asked for it in between.
pub(super) struct Orders {
    client: Client,
    statements: OrderStatements,
    sale: Sale,
}

struct Sale {
    organization: i64,
    event: i64,
    ticket_type: i64,
    price: i64,
}

struct OrderStatements {
    lock: Statement,
    organization: Statement,
    event: Statement,
    ticket_type: Statement,
    automatic_discount: Statement,
    sell: Statement,
    reserve: Statement,
    find_customer: Statement,
    insert_customer: Statement,
    insert_order: Statement,
    insert_pending_order: Statement,
    insert_item: Statement,
    insert_ticket: Statement,
    insert_checkout: Statement,
    insert_look_up: Statement,
    record_link: Statement,
}

impl OrderStatements {
    fn prepare(client: &mut Client) -> Result<Self, Error> {
        Ok(Self {
            lock: client.prepare("SELECT id FROM events WHERE id = $1 FOR NO KEY UPDATE")?,
            organization: client
                .prepare("SELECT id FROM organizations WHERE id = $1 AND suspended_at IS NULL")?,
            event: client
                .prepare("SELECT status, over_at, currency FROM events WHERE id = $1 AND organization_id = $2")?,
            ticket_type: client
                .prepare("SELECT price, status, max_per_order FROM ticket_types WHERE id = $1 AND event_id = $2")?,
            automatic_discount: client.prepare("SELECT id FROM discounts WHERE event_id = $1 AND auto_apply = 1 LIMIT 1")?,
            sell: client.prepare(
                "UPDATE ticket_types SET sold = sold + 2, used = 1, completed_orders = completed_orders + 1
                WHERE id = $1 AND sold + held + 2 <= quantity",
            )?,
            reserve: client.prepare(
                "UPDATE ticket_types SET held = held + 2, used = 1, pending_orders = pending_orders + 1
                WHERE id = $1 AND sold + held + 2 <= quantity",
            )?,
            find_customer: client.prepare("SELECT id FROM customers WHERE organization_id = $1 AND email_key = $2")?,
            insert_customer: client.prepare(
                "INSERT INTO customers (id, organization_id, email, email_key, created_at) VALUES ($1, $2, $3, $3, $4)
                ON CONFLICT DO NOTHING",
            )?,
            insert_order: client.prepare(
                "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total,
                    completed_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, 'COMPLETED', $6, 0, $7, $7, $7)",
            )?,
            insert_pending_order: client.prepare(
                "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total,
                    hold_until, created_at, updated_at)
                VALUES ($1, $2, $3, $4, $5, 'PENDING', $6, $8, $7::BIGINT + 900000, $7, $7)",
            )?,
            insert_item: client.prepare(
                "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
                VALUES ($1, $1, $2, 2, $3, 0)",
            )?,
            insert_ticket: client.prepare(
                "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
                    customer_name, code, status, created_at, updated_at)
                VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, 'NOT_CHECKED_IN', $9, $9)",
            )?,
            insert_checkout: client.prepare(
                "INSERT INTO checkouts (order_id, status, expires_at, parameters, lease_ends_at, gateway, account, mode)
                VALUES ($1, 'OPEN', $2::BIGINT + 900000, $3, $2::BIGINT + 30000, 'sandbox', '', 'TEST')",
            )?,
            insert_look_up: client.prepare(
                "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
                VALUES ($1, 'checkout sandbox TEST', $1, $3, $4, '', $2::BIGINT + 60000, $2)",
            )?,
            record_link: client.prepare(
                "UPDATE orders SET payment_link = $2, payment_reference = $3, payment_status = 'WAITING', updated_at = $4
                WHERE id = $1 AND payment_link IS NULL",
            )?,
        })
    }
}

impl Orders {
    pub(super) fn new(mut client: Client, organization: i64, (event, ticket_type): (i64, i64), price: i64) -> Self {
        let statements = OrderStatements::prepare(&mut client).expect("prepared");
        Self { client, statements, sale: Sale { organization, event, ticket_type, price } }
    }

    /// Writes `count` orders, up to `group` of them in each transaction.
    pub(super) fn write(&mut self, count: u64, group: u64) {
        let mut left = count;
        while left > 0 {
            let group = left.min(group);
            match self.write_group(group) {
                Ok(()) => left -= group,
                // Two writers have inserted the same customers in another order.
                Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {}
                Err(error) => panic!("written: {error}"),
            }
        }
    }

    fn write_group(&mut self, orders: u64) -> Result<(), Error> {
        let mut transaction = self.client.transaction()?;
        transaction.query_one(&self.statements.lock, &[&self.sale.event])?;
        transaction.query_one(&self.statements.organization, &[&self.sale.organization])?;
        let mut ids = Vec::new();
        for _ in 0..orders {
            ids.push(write_one(&mut transaction, &self.statements, &self.sale)?);
        }
        transaction.commit()?;
        if self.sale.price > 0 { self.record_links(&ids) } else { Ok(()) }
    }

    fn record_links(&mut self, orders: &[i64]) -> Result<(), Error> {
        let mut transaction = self.client.transaction()?;
        transaction.query_one(&self.statements.lock, &[&self.sale.event])?;
        for order in orders {
            let link = format!("https://tickets.example/checkout/sandbox_{order}_{}", random_code());
            let reference = format!("sandbox_{order}");
            let recorded = transaction.execute(&self.statements.record_link, &[order, &link, &reference, &now()])?;
            assert_eq!(recorded, 1, "the order has no link");
        }
        transaction.commit()
    }
}

/// Returns the id of the order.
fn write_one(transaction: &mut Transaction<'_>, statements: &OrderStatements, sale: &Sale) -> Result<i64, Error> {
    static NEXT_CUSTOMER: AtomicU64 = AtomicU64::new(0);
    let now = now();
    let Sale { organization, event, ticket_type, price: expected_price } = *sale;
    let id = (now << 20) | (next() & 0xf_ffff);
    let row = transaction.query_one(&statements.event, &[&event, &organization])?;
    let (status, ends_at, currency): (String, i64, String) = (row.get(0), row.get(1), row.get(2));
    assert!(status == "PUBLISHED" && ends_at > now, "the event is on sale");
    let row = transaction.query_one(&statements.ticket_type, &[&ticket_type, &event])?;
    let (price, status, max_per_order): (i64, String, i64) = (row.get(0), row.get(1), row.get(2));
    assert!(price == expected_price && status == "ON_SALE" && max_per_order >= 2, "the ticket type is on sale");
    let discount = transaction.query_opt(&statements.automatic_discount, &[&event])?;
    assert!(discount.is_none(), "the event has no automatic discount");
    let claim = if price == 0 { &statements.sell } else { &statements.reserve };
    assert_eq!(transaction.execute(claim, &[&ticket_type])?, 1, "seats are available");
    let email = email(NEXT_CUSTOMER.fetch_add(1, Ordering::Relaxed));
    let mut existing = transaction.query_opt(&statements.find_customer, &[&organization, &email])?;
    if existing.is_none() {
        let inserted = transaction.execute(&statements.insert_customer, &[&id, &organization, &email, &now])?;
        if inserted == 0 {
            existing = transaction.query_opt(&statements.find_customer, &[&organization, &email])?;
        }
    }
    let customer: i64 = existing.map_or(id, |row| row.get(0));
    let name = "Ada Lovelace";
    let binds: [&(dyn postgres::types::ToSql + Sync); 7] =
        [&id, &organization, &event, &customer, &name, &currency, &now];
    if price > 0 {
        let total = 2 * price;
        let binds = [&binds[..], &[&total]].concat();
        transaction.execute(&statements.insert_pending_order, &binds)?;
        transaction.execute(&statements.insert_item, &[&id, &ticket_type, &price])?;
        transaction.execute(&statements.insert_checkout, &[&id, &now, &PARAMETERS])?;
        transaction.execute(&statements.insert_look_up, &[&id, &now, &organization, &event])?;
        return Ok(id);
    }
    transaction.execute(&statements.insert_order, &binds)?;
    transaction.execute(&statements.insert_item, &[&id, &ticket_type, &price])?;
    for index in 0..2 {
        let ticket = (id << 1) + index;
        let code = random_code();
        transaction.execute(
            &statements.insert_ticket,
            &[&ticket, &organization, &event, &ticket_type, &id, &customer, &name, &code, &now],
        )?;
    }
    Ok(id)
}

/// Checks tickets in, each in a transaction of its own.
pub(super) struct CheckIns {
    client: Client,
    find: Statement,
    update: Statement,
    count: Statement,
    organization: i64,
}

impl CheckIns {
    pub(super) fn new(mut client: Client, organization: i64) -> Self {
        let find = client.prepare(
            "SELECT t.id, t.ticket_type_id, t.order_item_id, t.customer_id, t.code, t.status, t.check_in_at, t.check_out_at,
                t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at, t.updated_at,
                t.event_id, tt.name, t.customer_name, c.email, e.status, e.timezone, tt.valid_from, tt.valid_until,
                tt.allowed_dates, tt.validity_days, tt.validity_hours
            FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
                JOIN events e ON e.id = t.event_id
            WHERE t.code = $1 AND t.organization_id = $2 FOR NO KEY UPDATE OF t",
        );
        let update = client.prepare(
            "UPDATE tickets SET status = 'CHECKED_IN', check_in_at = $2, first_scan_at = COALESCE(first_scan_at, $2),
                last_scan_at = $2, scan_count = scan_count + 1, updated_at = $2
            WHERE id = $1 AND status = 'NOT_CHECKED_IN'",
        );
        let count = client
            .prepare("UPDATE ticket_types SET checked_in_tickets = checked_in_tickets + 1 WHERE id = $1")
            .expect("prepared");
        Self { client, find: find.expect("prepared"), update: update.expect("prepared"), count, organization }
    }

    pub(super) fn check_in(&mut self, code: &str) {
        self.try_check_in(code).expect("accepted");
    }

    fn try_check_in(&mut self, code: &str) -> Result<(), Error> {
        let mut transaction = self.client.transaction()?;
        let row = transaction.query_one(&self.find, &[&code, &self.organization])?;
        let ticket = Ticket::from(&row);
        let event_status: String = row.get(19);
        let validity: (Option<i64>, Option<i64>, String) = (row.get(21), row.get(22), row.get(23));
        std::hint::black_box(validity);
        assert!(ticket.status == "NOT_CHECKED_IN" && event_status == "PUBLISHED", "the ticket is valid");
        assert_eq!(transaction.execute(&self.update, &[&ticket.ids[0], &now()])?, 1, "accepted");
        assert_eq!(transaction.execute(&self.count, &[&ticket.ids[1]])?, 1, "counted");
        transaction.commit()
    }
}

impl From<&Row> for Ticket {
    fn from(row: &Row) -> Self {
        Self {
            ids: [0, 1, 2, 3].map(|index| row.get(index)),
            code: row.get(4),
            status: row.get(5),
            instants: [6, 7, 8, 9, 10, 11, 13, 14].map(|index| row.get(index)),
            scans: row.get(12),
            event: row.get(15),
            texts: [16, 17, 18].map(|index| row.get(index)),
        }
    }
}

/// Reads tickets.
pub(super) struct Reads {
    client: Client,
    ticket: Statement,
    page: Statement,
    organization: i64,
}

impl Reads {
    pub(super) fn new(mut client: Client, organization: i64) -> Self {
        let select = "SELECT t.id, t.ticket_type_id, t.order_item_id, t.customer_id, t.code, t.status, t.check_in_at,
                t.check_out_at, t.checked_in_by, t.first_scan_at, t.expires_at, t.last_scan_at, t.scan_count, t.created_at,
                t.updated_at, t.event_id, tt.name, t.customer_name, c.email
            FROM tickets t JOIN ticket_types tt ON tt.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id";
        let ticket =
            client.prepare(&format!("{select} WHERE t.code = $1 AND t.organization_id = $2")).expect("prepared");
        let page = format!("{select} WHERE t.organization_id = $1 ORDER BY t.id DESC LIMIT 51");
        let page = client.prepare(&page).expect("prepared");
        Self { client, ticket, page, organization }
    }

    pub(super) fn ticket(&mut self, code: &str) {
        let row = self.client.query_one(&self.ticket, &[&code, &self.organization]).expect("found");
        std::hint::black_box(Ticket::from(&row));
    }

    /// Reads a page of 50 tickets. Returns their number.
    pub(super) fn page(&mut self) -> usize {
        let rows = self.client.query(&self.page, &[&self.organization]).expect("readable");
        let tickets: Vec<Ticket> = rows.iter().take(50).map(Ticket::from).collect();
        std::hint::black_box(tickets).len()
    }
}
