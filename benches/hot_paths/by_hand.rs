//! The same work written directly with rusqlite: the same rows, the same checks and prepared statements, and nothing
//! else.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::common::database::stored_id;
use crate::large_store::{LargeStore, email, scatter};

/// A connection with the settings of the crate's writer, but with SQLite's automatic checkpoints.
pub fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the file opens");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -4096;",
        )
        .expect("known pragmas");
    connection.set_prepared_statement_cache_capacity(256);
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).expect("known setting");
    connection
}

/// Writes orders of two tickets with a total of 0.
pub struct Orders {
    connection: Connection,
    organization: i64,
    event: i64,
    ticket_type: i64,
    next: u64,
}

impl Orders {
    pub fn new(store: &LargeStore) -> Self {
        Self {
            connection: connect(&store.fixture.path()),
            organization: stored_id(store.fixture.caller.organization()),
            event: stored_id(store.event),
            ticket_type: stored_id(store.ticket_type),
            next: 0,
        }
    }

    /// Writes `count` orders, `group` of them in each transaction.
    pub fn write(&mut self, count: u64, group: u64) {
        let mut left = count;
        while left > 0 {
            self.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([])).expect("begun");
            for _ in 0..group.min(left) {
                self.next += 1;
                self.write_one().expect("written");
            }
            self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).expect("committed");
            left -= group.min(left);
        }
    }

    fn write_one(&self) -> rusqlite::Result<()> {
        let now = now();
        let connection = &self.connection;
        let id = ((now << 8) << 12) | i64::try_from(self.next & 0xf_ffff).unwrap_or(0);
        let (status, ends_at, currency): (String, i64, String) = connection
            .prepare_cached("SELECT status, over_at, currency FROM events WHERE id = ?1 AND organization_id = ?2")?
            .query_row(params![self.event, self.organization], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        assert!(status == "PUBLISHED" && ends_at > now, "the event is on sale");
        let (price, status, max_per_order): (i64, String, i64) = connection
            .prepare_cached("SELECT price, status, max_per_order FROM ticket_types WHERE id = ?1 AND event_id = ?2")?
            .query_row(params![self.ticket_type, self.event], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        assert!(price == 0 && status == "ON_SALE" && max_per_order >= 2, "the ticket type is on sale");
        let updated = connection
            .prepare_cached(
                "UPDATE ticket_types SET sold = sold + 2, used = 1, completed_orders = completed_orders + 1
                WHERE id = ?1 AND sold + held + 2 <= quantity",
            )?
            .execute([self.ticket_type])?;
        assert_eq!(updated, 1, "seats are available");
        let email = email(scatter(self.next));
        let existing: Option<i64> = connection
            .prepare_cached("SELECT id FROM customers WHERE organization_id = ?1 AND email_key = ?2")?
            .query_row(params![self.organization, email], |row| row.get(0))
            .optional()?;
        let customer = match existing {
            Some(existing) => existing,
            None => {
                connection
                    .prepare_cached(
                        "INSERT INTO customers (id, organization_id, email, email_key, created_at)
                        VALUES (?1, ?2, ?3, ?3, ?4)",
                    )?
                    .execute(params![id, self.organization, email, now])?;
                id
            }
        };
        connection
            .prepare_cached(
                "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, currency, total,
                    completed_at, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, 'COMPLETED', ?6, 0, ?7, ?7, ?7)",
            )?
            .execute(params![id, self.organization, self.event, customer, "Ada Lovelace", currency, now])?;
        connection
            .prepare_cached(
                "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
                VALUES (?1, ?1, ?2, 2, 0, 0)",
            )?
            .execute(params![id, self.ticket_type])?;
        for index in 0..2 {
            connection
                .prepare_cached(
                    "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
                        customer_name, code, status, created_at, updated_at)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, 'NOT_CHECKED_IN', ?9, ?9)",
                )?
                .execute(params![
                    (id << 1) + index,
                    self.organization,
                    self.event,
                    self.ticket_type,
                    id,
                    customer,
                    "Ada Lovelace",
                    random_code(),
                    now
                ])?;
        }
        Ok(())
    }
}

/// 20 characters of Crockford base32.
pub fn random_code() -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut bytes = [0_u8; 20];
    rand::fill(&mut bytes);
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect()
}

pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(0)
}
