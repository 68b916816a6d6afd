//! Databases of a million tickets, or of another number, created once and kept under `target/`.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use ticketing::environment::{SystemClock, SystemEntropy};
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::id::{EventId, TicketTypeId};
use ticketing::organization::CreateApiKey;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Builder, TicketingService, Timestamp};

use crate::common::Fixture;
use crate::common::database::{self, stored_id};

const ORDERS: i64 = 500_000;
/// How many orders there are for two customers.
const ORDERS_FOR_TWO: i64 = 5;
const CUSTOMERS: i64 = customers(ORDERS);
const EVENTS: usize = 20;

/// A copy of the database, opened for the organization that owns all of its rows.
pub struct LargeStore {
    pub fixture: Fixture,
    /// An API key with every scope.
    pub key: String,
    /// One of its events, and the event's only ticket type.
    pub event: EventId,
    pub ticket_type: TicketTypeId,
}

/// The number of customers of a database with this number of orders.
const fn customers(orders: i64) -> i64 {
    2 * orders / ORDERS_FOR_TWO
}

impl LargeStore {
    /// Copies the database of a million tickets and opens the copy. The copy is deleted when the store is dropped.
    pub fn open() -> Self {
        Self::of(TICKETS)
    }

    /// The same for a database of another number of tickets. Each order has two.
    pub fn of(tickets: u64) -> Self {
        Self::configured(tickets, |builder| builder)
    }

    /// The same with other settings of the service.
    pub fn configured(tickets: u64, configure: impl FnOnce(Builder) -> Builder) -> Self {
        let template = template(i64::try_from(tickets / 2).expect("a number of orders"));
        let folder = tempfile::tempdir_in(template.parent().expect("a folder")).expect("a folder for the copy");
        copy(&template, &folder.path().join(database::FILE)).expect("room for a copy");
        let fixture = Fixture::in_folder(folder, |builder| {
            configure(builder.clock(SystemClock).entropy(SystemEntropy).write_quota(None))
        });
        // The check of a million tickets would take longer than the benchmark.
        fixture.skip_final_check();
        let Fixture { service, caller, .. } = &fixture;
        let event =
            service.list_events(caller, ticketing::event::ListEvents::default()).expect("readable").data.remove(0).id;
        let types = service.list_ticket_types(caller, event, ticketing::ticket_type::ListTicketTypes::default());
        let ticket_type = types.expect("readable").data.remove(0).id;
        let request = CreateApiKey::new("Bench");
        let key = service.create_api_key(caller.organization(), request).expect("created").key.expose().to_owned();
        Self { fixture, key, event, ticket_type }
    }
}

/// Returns the email address of a customer. Half of the addresses are in the database.
pub fn email(number: u64) -> String {
    format!("customer{}@example.com", scatter(number) % (2 * CUSTOMERS.unsigned_abs()))
}

/// Returns the code of a ticket by its number.
pub fn code(ticket: u64) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let high = scatter(ticket);
    let low = scatter(ticket ^ 0x5555_5555_5555_5555);
    let bits = (u128::from(high) << 64) | u128::from(low);
    (0..20).map(|position| char::from(ALPHABET[(bits >> (5 * position) & 31) as usize])).collect()
}

/// The number of tickets in the database.
pub const TICKETS: u64 = 2 * ORDERS.unsigned_abs();

/// Maps consecutive numbers to numbers that look random (the finalizer of SplitMix64).
pub fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Copies a file, and waits until the copy is on the disk and in memory: otherwise the first syncs and reads would wait
/// for the rest of it, and the longer, the larger it is.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let mut copy = File::open(to)?;
    copy.sync_all()?;
    std::io::copy(&mut copy, &mut std::io::sink()).map(drop)
}

fn template(orders: i64) -> PathBuf {
    // The name depends on the schema, so that another schema gets another database.
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/migrations/sqlite");
    let files = std::fs::read_dir(migrations).expect("the sources of the crate");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.sort();
    let schema = files.iter().flat_map(|file| std::fs::read(file).expect("readable"));
    let stamp = schema.fold(0_u64, |stamp, byte| scatter(stamp ^ u64::from(byte)));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-store");
    std::fs::create_dir_all(&folder).expect("target can be written to");
    let path = folder.join(format!("{}-tickets-{stamp:016x}.db", 2 * orders));
    if !path.exists() {
        println!("Creating a database of {} tickets, once …", 2 * orders);
        let unfinished = folder.join("unfinished.db");
        let _ = std::fs::remove_file(&unfinished);
        fill(&unfinished, orders);
        std::fs::rename(&unfinished, &path).expect("the same folder");
    }
    path
}

fn fill(path: &Path, orders: i64) {
    let service = TicketingService::open(path).expect("a new file");
    let organization =
        service.create_organization(ticketing::organization::CreateOrganization::default()).expect("created");
    let caller = service.act_for(organization.id).expect("the organization exists");
    let mut types = Vec::new();
    for number in 0..EVENTS {
        let mut event = CreateEvent::new(format!("Event {number}"), format!("event-{number}"), Timestamp::MAX);
        event.status = Some(EventStatus::Published);
        let event = service.create_event(&caller, event).expect("created").id;
        let free = CreateTicketType::new("Free entry", Amount::ZERO, 10_000_000);
        types
            .push((stored_id(event), stored_id(service.create_ticket_type(&caller, event, free).expect("created").id)));
    }
    drop(service);
    let connection = Connection::open(path).expect("the file");
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN").expect("begun");
    insert_rows(&connection, stored_id(organization.id), &types, orders).expect("inserted");
    connection
        .execute_batch(
            "COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL",
        )
        .expect("committed");
}

fn insert_rows(connection: &Connection, organization: i64, types: &[(i64, i64)], orders: i64) -> rusqlite::Result<()> {
    const BASE: i64 = 1_700_000_000_000;
    let mut customer = connection.prepare(
        "INSERT INTO customers (id, organization_id, email, email_key, created_at) VALUES (?1, ?2, ?3, ?3, ?4)",
    )?;
    for number in 0..customers(orders) {
        customer.execute(params![number + 1, organization, format!("customer{number}@example.com"), BASE])?;
    }
    let mut order = connection.prepare(
        "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total, completed_at,
            created_at, updated_at) VALUES (?1, ?2, ?3, ?4, 'Ada Lovelace', 'COMPLETED', 'EUR', 0, ?5, ?5, ?5)",
    )?;
    let mut item = connection.prepare(
        "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount) VALUES (?1, ?2, ?3, 2, 0, 0)",
    )?;
    let mut ticket = connection.prepare(
        "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
            customer_name, code, status, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, 'Ada Lovelace', ?7, 'NOT_CHECKED_IN', ?8, ?8)",
    )?;
    for number in 0..orders {
        let (event, ticket_type) = types[usize::try_from(number).unwrap_or(0) % types.len()];
        let at = BASE + number * 50;
        let id = at << 20;
        let customer =
            i64::try_from(scatter(number.unsigned_abs()) % customers(orders).unsigned_abs()).unwrap_or(0) + 1;
        order.execute(params![id, organization, event, customer, at])?;
        item.execute(params![id, id, ticket_type])?;
        for position in 0..2 {
            let code = code(2 * number.unsigned_abs() + position);
            let ticket_id = id + i64::try_from(position).unwrap_or(0);
            ticket.execute(params![ticket_id, organization, event, ticket_type, id, customer, code, at])?;
        }
    }
    let each = 2 * orders / i64::try_from(types.len()).unwrap_or(1);
    connection.execute("UPDATE ticket_types SET used = 1, sold = ?1, completed_orders = ?1 / 2", [each]).map(drop)
}
