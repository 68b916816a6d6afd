//! Who listens to what, and what waits for them: the outbox as the file has it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of it")]

use std::fmt::Display;
use std::path::Path;

use rusqlite::{Connection, params};
use ticketing::{NotificationId, NotificationType, OrganizationId, Timestamp, WebhookId};

pub const ALL: [NotificationType; 4] = [
    NotificationType::OrderCompleted,
    NotificationType::OrderCancelled,
    NotificationType::TicketIssued,
    NotificationType::TicketCheckedIn,
];

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The number behind the text of an id: 13 digits of Crockford's base32.
pub fn raw(id: impl Display) -> i64 {
    let id = id.to_string();
    let (_, digits) = id.rsplit_once('_').expect("a prefix");
    let value = |digit| ALPHABET.iter().position(|known| *known == digit).expect("a digit");
    digits.bytes().fold(0, |raw, digit| raw << 5 | i64::try_from(value(digit)).expect("below 32"))
}

/// The 13 digits of a number.
fn digits(raw: i64) -> String {
    (0..13).rev().map(|place| char::from(ALPHABET[usize::try_from(raw >> (5 * place) & 31).expect("small")])).collect()
}

/// Registers an endpoint that wants these notifications.
pub fn listen(file: &Path, organization: OrganizationId, events: &[NotificationType], enabled: bool) -> WebhookId {
    let connection = Connection::open(file).expect("the file");
    let events: Vec<String> = events.iter().map(|of| format!("\"{of}\"")).collect();
    let id: i64 = connection
        .query_row(
            "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                SELECT COALESCE(MAX(id), 0) + 1, ?1, 'https://receiver.example/', ?2, ?3,
                    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0 FROM webhook_endpoints RETURNING id",
            params![raw(organization), format!("[{}]", events.join(",")), enabled],
            |row| row.get(0),
        )
        .expect("registered");
    format!("webhook_{}", digits(id)).parse().expect("an id")
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    pub id: i64,
    pub endpoint: WebhookId,
    pub event_id: NotificationId,
    pub of: String,
    pub body: String,
    pub state: String,
    pub attempts: i64,
    pub due_at: Timestamp,
    pub created_at: Timestamp,
}

impl Queued {
    /// The id of what is reported: the first in the data.
    pub fn subject(&self) -> i64 {
        let (_, data) = self.body.split_once("\"data\":{\"").expect("data");
        raw(data.split('"').nth(2).expect("an id"))
    }
}

/// Every row of the outbox, in the order in which they were queued.
pub fn queued(connection: &Connection) -> Vec<Queued> {
    let sql = "SELECT endpoint_id, event_id, type, body, state, attempts, due_at, created_at, id FROM webhook_outbox ORDER BY id";
    let decode = |row: &rusqlite::Row<'_>| {
        Ok(Queued {
            endpoint: format!("webhook_{}", digits(row.get(0)?)).parse().expect("an id"),
            event_id: format!("evt_{}", digits(row.get(1)?)).parse().expect("an id"),
            of: row.get(2)?,
            body: row.get(3)?,
            state: row.get(4)?,
            attempts: row.get(5)?,
            due_at: Timestamp::from_millis(row.get(6)?),
            created_at: Timestamp::from_millis(row.get(7)?),
            id: row.get(8)?,
        })
    };
    let mut rows = connection.prepare(sql).expect(sql);
    rows.query_map([], decode).expect(sql).map(|row| row.expect("a row")).collect()
}

/// Writes down an attempt to send a row of the outbox, as a sender does.
pub fn attempted(connection: &Connection, row: i64, at: Timestamp, success: bool) {
    let last: Option<i64> =
        connection.query_row("SELECT MAX(id) FROM webhook_deliveries", [], |row| row.get(0)).expect("the table");
    let id = last.unwrap_or(0).max((at.millis() << 20) - 1) + 1;
    let moved = connection.execute(
        "UPDATE webhook_outbox SET attempts = attempts + 1, due_at = ?2,
            state = CASE WHEN ?3 THEN 'DELIVERED' WHEN attempts = 7 THEN 'DEAD' ELSE 'WAITING' END,
            finished_at = CASE WHEN ?3 OR attempts = 7 THEN ?2 END
        WHERE id = ?1 AND state = 'WAITING'",
        params![row, at.millis(), success],
    );
    assert_eq!(moved.expect("moved"), 1);
    let insert = "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, response_status, duration_ms,
            error_message, created_at)
        SELECT ?2, endpoint_id, id, type, attempts, ?3, CASE WHEN ?3 THEN 204 ELSE 500 END, 12,
            CASE WHEN ?3 THEN NULL ELSE 'the answer was 500' END, ?4 FROM webhook_outbox WHERE id = ?1";
    connection.execute(insert, params![row, id, success, at.millis()]).expect("written");
}

/// Asserts that the outbox of the one endpoint, which wants everything, and what happened agree one to one: each order that
/// was completed, each that was cancelled, each ticket, and each that entered, which none did twice.
pub fn assert_all_is_told_once(connection: &Connection) {
    let told = "SELECT type, body FROM webhook_outbox";
    let happened = "SELECT 'order.completed', id FROM orders WHERE completed_at IS NOT NULL
        UNION ALL SELECT 'order.cancelled', id FROM orders WHERE status = 'CANCELLED'
        UNION ALL SELECT 'ticket.issued', id FROM tickets
        UNION ALL SELECT 'ticket.checked_in', id FROM tickets WHERE check_in_at IS NOT NULL";
    let mut happened: Vec<(String, i64)> = pairs(connection, happened);
    let told: Vec<(String, String)> = pairs(connection, told);
    let subject =
        |body: &str| raw(body.split_once("\"data\":{\"").and_then(|(_, data)| data.split('"').nth(2)).expect("an id"));
    let mut told: Vec<_> = told.into_iter().map(|(of, body)| (of, subject(&body))).collect();
    happened.sort_unstable();
    told.sort_unstable();
    assert!(told == happened, "{} were told of {}", told.len(), happened.len());
}

fn pairs<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> Vec<(String, T)> {
    let mut rows = connection.prepare(sql).expect(sql);
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql).map(|row| row.expect("a row")).collect()
}
