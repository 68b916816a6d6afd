//! Webhook endpoints, the outbox and the attempts, as they are stored.

use std::fmt::Display;
use std::path::Path;

use rusqlite::{Connection, params};
use ticketing::{NotificationId, NotificationType, OrganizationId, Timestamp, WebhookId};

pub const ALL_NOTIFICATIONS: [NotificationType; 4] = [
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

/// Inserts a webhook endpoint for these notifications.
pub fn insert_webhook(
    file: &Path,
    organization: OrganizationId,
    events: &[NotificationType],
    enabled: bool,
) -> WebhookId {
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

/// A notification in the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedNotification {
    pub id: i64,
    pub endpoint: WebhookId,
    pub event_id: NotificationId,
    pub kind: String,
    pub body: String,
    pub state: String,
    pub attempts: i64,
    pub due_at: Timestamp,
    pub created_at: Timestamp,
}

impl QueuedNotification {
    /// The id of the order or ticket that it reports: the first in its data.
    pub fn subject(&self) -> i64 {
        let (_, data) = self.body.split_once("\"data\":{\"").expect("data");
        raw(data.split('"').nth(2).expect("an id"))
    }
}

/// Returns all notifications of the outbox, in the order in which they were queued.
pub fn queued_notifications(connection: &Connection) -> Vec<QueuedNotification> {
    let sql = "SELECT endpoint_id, event_id, type, body, state, attempts, due_at, created_at, id FROM webhook_outbox ORDER BY id";
    let decode = |row: &rusqlite::Row<'_>| {
        Ok(QueuedNotification {
            endpoint: format!("webhook_{}", digits(row.get(0)?)).parse().expect("an id"),
            event_id: format!("evt_{}", digits(row.get(1)?)).parse().expect("an id"),
            kind: row.get(2)?,
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

/// Records an attempt for a row of the outbox at this time, as the sender would.
pub fn end_attempt(connection: &Connection, row: i64, at: Timestamp, success: bool) {
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

/// Asserts that there is exactly one notification for each completed order, each cancelled order, each ticket and each
/// ticket that was checked in. There must be one endpoint, for all notifications, and no ticket checked in twice.
pub fn assert_one_notification_each(connection: &Connection) {
    let reported = "SELECT type, body FROM webhook_outbox";
    let happened = "SELECT 'order.completed', id FROM orders WHERE completed_at IS NOT NULL
        UNION ALL SELECT 'order.cancelled', id FROM orders WHERE status = 'CANCELLED'
        UNION ALL SELECT 'ticket.issued', id FROM tickets
        UNION ALL SELECT 'ticket.checked_in', id FROM tickets WHERE check_in_at IS NOT NULL";
    let mut happened: Vec<(String, i64)> = pairs(connection, happened);
    let reported: Vec<(String, String)> = pairs(connection, reported);
    let subject =
        |body: &str| raw(body.split_once("\"data\":{\"").and_then(|(_, data)| data.split('"').nth(2)).expect("an id"));
    let mut reported: Vec<_> = reported.into_iter().map(|(of, body)| (of, subject(&body))).collect();
    happened.sort_unstable();
    reported.sort_unstable();
    assert!(reported == happened, "{} notifications of {} changes", reported.len(), happened.len());
}

fn pairs<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> Vec<(String, T)> {
    let mut rows = connection.prepare(sql).expect(sql);
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql).map(|row| row.expect("a row")).collect()
}

/// Inserts `number` webhook endpoints for issued tickets, whose URLs are `url` and a number.
pub fn insert_ticket_webhooks(file: &Path, number: usize, url: &str) {
    let connection = Connection::open(file).expect("the file");
    connection
        .execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
            SELECT 1000 + i, (SELECT MIN(id) FROM organizations), ?2 || i, '[\"ticket.issued\"]', 1,
                'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0 FROM n",
            params![i64::try_from(number).expect("a small number"), url],
        )
        .expect("inserted");
}

/// Returns the ids of the rows of the outbox, the oldest first.
pub fn row_ids(file: &Path) -> Vec<i64> {
    let connection = Connection::open(file).expect("the file");
    let mut query = connection.prepare("SELECT id FROM webhook_outbox ORDER BY id").expect("the outbox");
    query.query_map([], |row| row.get(0)).expect("rows").map(|id| id.expect("a number")).collect()
}

/// Records an attempt for a row of the outbox that took 40 ms, as the sender would. `status` is the status of the response,
/// `None` if there was none.
pub fn record_attempt(file: &Path, outbox: i64, attempt: i64, status: Option<i64>) {
    let success = status.is_some_and(|status| (200..300).contains(&status));
    let body = status.map(|status| format!("answer {status}"));
    let error = match status {
        _ if success => None,
        Some(status) => Some(format!("the receiver answered with status {status}")),
        None => Some("timed out after 10 s while waiting for the response".to_owned()),
    };
    let insert = "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, response_status,
            response_body, duration_ms, error_message, created_at)
        SELECT COALESCE((SELECT MAX(id) FROM webhook_deliveries), id) + 1, endpoint_id, id, type, ?2, ?3, ?4, ?5, 40, ?6,
            created_at + 40
        FROM webhook_outbox WHERE id = ?1";
    let connection = Connection::open(file).expect("the file");
    connection.busy_timeout(std::time::Duration::from_secs(30)).expect("patience");
    let written = connection.execute(insert, (outbox, attempt, success, status, body, error)).expect(insert);
    assert_eq!(written, 1, "there is no such row in the outbox");
    let state = match (success, attempt) {
        (true, _) => "DELIVERED",
        (false, 8) => "DEAD",
        (false, _) => "WAITING",
    };
    let update = "UPDATE webhook_outbox SET attempts = ?2, state = ?3, due_at = created_at + 40 + 60000,
            finished_at = CASE ?3 WHEN 'WAITING' THEN NULL ELSE created_at + 40 END
        WHERE id = ?1";
    connection.execute(update, (outbox, attempt, state)).expect(update);
}
