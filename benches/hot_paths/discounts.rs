//! The cost of discounts: orders with a code, orders with automatic discounts, and `validate_discount`.

use rusqlite::{Connection, OptionalExtension, params};
use ticketing::Amount;
use ticketing::discount::{BasketItem, CreateDiscount, ValidateDiscount};
use ticketing::id::TicketTypeId;
use ticketing::ticket_type::CreateTicketType;

use crate::by_hand;
use crate::common::database::stored_id;
use crate::large_store::LargeStore;
use crate::orders::{create_order, request, spread};
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    orders(bench, "create_order with a code, 64 callers", Some("ALL"));
    orders(bench, "create_order with three automatic discounts, 64 callers", None);
    validation(bench, "validate_discount");
}

/// How a discount comes to apply to an order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Application {
    Automatic,
    ByCode,
}

/// Creates a ticket type with a price, and discounts with these codes. The last discount is 100 %, so that the order is
/// completed at once, like the order of a free ticket type.
fn with_discounts(store: &LargeStore, codes: &[&str], application: Application) -> TicketTypeId {
    let ticket_type = CreateTicketType::new("Seat", Amount::cents(1250), 10_000_000);
    let ticket_type =
        store.fixture.service.create_ticket_type(&store.fixture.caller, store.event, ticket_type).expect("created");
    for (index, code) in codes.iter().enumerate() {
        let percent = if index + 1 == codes.len() { 100 } else { 10 * u32::try_from(index).unwrap_or(0) + 10 };
        let mut new = CreateDiscount::percentage(*code, percent).event(store.event);
        new.auto_apply = Some(application == Application::Automatic);
        new.usage_limit = Some(10_000_000);
        new.applicable_ticket_types = Some(vec![ticket_type.id]);
        store.fixture.service.create_discount(&store.fixture.caller, new).expect("created");
    }
    ticket_type.id
}

fn orders(bench: &mut Bench, name: &str, code: Option<&str>) {
    if !bench.includes(name) {
        return;
    }
    let discounted = LargeStore::open();
    let plain = LargeStore::open();
    let ticket_type = match code {
        Some(code) => with_discounts(&discounted, &[code], Application::ByCode),
        None => with_discounts(&discounted, &["TEN", "TWENTY", "ALL"], Application::Automatic),
    };
    let order_with_discount = || {
        let mut request = request(&discounted);
        request.items[0].ticket_type_id = ticket_type;
        request.discount_code = code.map(str::to_owned);
        let created = discounted.fixture.service.create_order(&discounted.fixture.caller, request).expect("created");
        assert_eq!(created.issued_tickets.len(), 2);
    };
    bench.compare_as(
        name,
        ("with", "without"),
        64 * 80,
        |count| spread(64, count, |_| order_with_discount()),
        |count| spread(64, count, |_| create_order(&plain)),
    );
}

fn validation(bench: &mut Bench, name: &str) {
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let ticket_type = with_discounts(&store, &["ALL"], Application::ByCode);
    let connection = by_hand::connect(&store.fixture.path());
    let organization = stored_id(store.fixture.caller.organization());
    let event = stored_id(store.event);
    let stored_type = stored_id(ticket_type);
    let ours = || {
        let price = Amount::cents(1250);
        let item = BasketItem::new(ticket_type, 2, price);
        let code = "all".to_owned();
        let request = ValidateDiscount::new(store.event, code, [item]).order_amount(price);
        assert!(store.fixture.service.validate_discount(&store.fixture.caller, request).expect("a response").valid);
    };
    bench.compare(
        name,
        20_000,
        |count| (0..count).for_each(|_| ours()),
        |count| (0..count).for_each(|_| assert_eq!(validate(&connection, organization, event, stored_type), Ok(2500))),
    );
}

/// Reads the three rows that a validation needs in one transaction, and calculates the discount.
fn validate(connection: &Connection, organization: i64, event: i64, ticket_type: i64) -> rusqlite::Result<i64> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let currency: String = connection
        .prepare_cached("SELECT currency FROM events WHERE id = ?1 AND organization_id = ?2")?
        .query_row([event, organization], |row| row.get(0))?;
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM ticket_types WHERE id = ?1 AND event_id = ?2")?
        .query_row([ticket_type, event], |row| row.get(0))
        .optional()?;
    let percent = connection
        .prepare_cached(
            "SELECT d.code, d.value, d.usage_limit, d.valid_from, d.valid_to, d.is_active, d.minimum_purchase,
                d.applicable_ticket_types, d.used_count - (SELECT COUNT(*) FROM orders o WHERE o.status = 'PENDING'
                    AND o.hold_until <= ?3 AND +o.event_id = d.event_id AND o.discount_id = d.id)
            FROM discounts d WHERE d.event_id = ?1 AND d.code_key = ?2",
        )?
        .query_row(params![event, "all", 1_700_000_000_000_i64], |row| {
            let code: String = row.get(0)?;
            let types: String = row.get(7)?;
            let types: Vec<i64> = serde_json::from_str(&types).unwrap_or_default();
            let limit: Option<i64> = row.get(2)?;
            let used: i64 = row.get(8)?;
            let open = limit.is_none_or(|limit| used < limit) && row.get::<_, bool>(5)? && !code.is_empty();
            let percent: i64 = row.get(1)?;
            Ok(if open && types.contains(&ticket_type) { percent } else { 0 })
        })?;
    connection.prepare_cached("ROLLBACK")?.execute([])?;
    let subtotal = 1250 * 2 * i64::from(currency == "EUR" && known.is_some());
    Ok((2 * subtotal * percent + 100) / 200)
}
