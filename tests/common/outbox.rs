//! Webhook endpoints, the outbox and the attempts, as they are stored.

use ticketing::Timestamp;
use ticketing::id::{NotificationId, OrganizationId, WebhookId};
use ticketing::webhook::EventType;

use super::database::{Database, Row, id_digits, params, stored_id};

/// What a sale reports: everything but money that goes back.
pub const SALE_NOTIFICATIONS: [EventType; 4] =
    [EventType::OrderCompleted, EventType::OrderCancelled, EventType::TicketIssued, EventType::TicketCheckedIn];

/// Inserts an enabled webhook endpoint for these notifications.
pub fn insert_webhook(database: &Database, organization: OrganizationId, events: &[EventType]) -> WebhookId {
    insert_endpoint(database, organization, events, true)
}

/// Inserts a disabled webhook endpoint for these notifications.
pub fn insert_disabled_webhook(database: &Database, organization: OrganizationId, events: &[EventType]) -> WebhookId {
    insert_endpoint(database, organization, events, false)
}

fn insert_endpoint(
    database: &Database,
    organization: OrganizationId,
    events: &[EventType],
    enabled: bool,
) -> WebhookId {
    let events: Vec<String> = events.iter().map(|event| format!("\"{event}\"")).collect();
    let sql =
        "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
        SELECT COALESCE(MAX(id), 0) + 1, ?1, 'https://receiver.example/', ?2, ?3,
            'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0 FROM webhook_endpoints RETURNING id";
    let id = database.value_with(sql, params![stored_id(organization), format!("[{}]", events.join(",")), enabled]);
    format!("webhook_{}", id_digits(id)).parse().expect("an id")
}

/// Inserts `number` webhook endpoints for issued tickets. Their URLs are `url` with a number appended.
pub fn insert_ticket_webhooks(database: &Database, number: usize, url: &str) {
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
        SELECT 1000 + i, (SELECT MIN(id) FROM organizations), ?2 || i, '[\"ticket.issued\"]', 1,
            'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0 FROM n";
    database.execute(sql, params![i64::try_from(number).expect("a small number"), url]);
}

/// A row of the outbox: a notification for one endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    pub id: i64,
    pub webhook: WebhookId,
    pub event_id: NotificationId,
    pub kind: String,
    pub body: String,
    pub state: String,
    pub attempts: i64,
    /// How many attempts were interrupted by the end of their process.
    pub interruptions: i64,
    /// Whether an attempt is running.
    pub claimed: bool,
    pub due_at: Timestamp,
    pub created_at: Timestamp,
}

impl OutboxRow {
    /// Whether it is in this state and has had this many attempts.
    pub fn is(&self, state: &str, attempts: i64) -> bool {
        self.state == state && self.attempts == attempts
    }

    /// The stored id of the order or ticket that it reports: the first id in its data.
    pub fn subject(&self) -> i64 {
        let (_, data) = self.body.split_once("\"data\":{\"").expect("data");
        stored_id(data.split('"').nth(2).expect("an id"))
    }
}

/// Expands the notifications that changes have stored, as the sender would: inserts a row of the outbox for each endpoint
/// that is enabled and subscribed.
pub fn expand(database: &Database) {
    let rows = "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, state, due_at, created_at)
        SELECT (SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM webhook_outbox
                UNION ALL SELECT MAX(id) AS id FROM webhook_notifications) AS both_tables)
                + ROW_NUMBER() OVER (ORDER BY e.id),
            e.id, n.id, n.type, 'WAITING', ?2, ?2
        FROM webhook_notifications n JOIN webhook_endpoints e ON e.organization_id = n.organization_id
            AND e.enabled = 1 AND e.events LIKE '%\"' || n.type || '\"%'
        WHERE n.id = ?1";
    let expanded =
        "UPDATE webhook_notifications SET organization_id = NULL, outbox_rows = outbox_rows - 1 + ?2 WHERE id = ?1";
    let stored = "SELECT id, body FROM webhook_notifications WHERE organization_id IS NOT NULL ORDER BY id";
    if database.rows(stored, |_| ()).is_empty() {
        return;
    }
    // A sender may expand them too.
    database.run(if database.is_file() { "BEGIN IMMEDIATE" } else { "BEGIN; LOCK TABLE webhook_notifications" });
    for (id, body) in database.rows(stored, |row: &Row| (row.get::<i64>("id"), row.get::<String>("body"))) {
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        let created_at: Timestamp = body["createdAt"].as_str().expect("a time").parse().expect("a time");
        let inserted = database.execute(rows, params![id, created_at.millis()]);
        if inserted == 0 {
            database.execute("DELETE FROM webhook_notifications WHERE id = ?1", params![id]);
        } else {
            database.execute(expanded, params![id, i64::try_from(inserted).expect("a small number")]);
        }
    }
    database.run("COMMIT");
}

/// Returns the rows of the outbox, in the order in which they were queued. [Expands](expand) notifications before.
pub fn rows(database: &Database) -> Vec<OutboxRow> {
    expand(database);
    let sql = "SELECT o.*, n.body, o.claim IS NOT NULL AS claimed
        FROM webhook_outbox o JOIN webhook_notifications n ON n.id = o.event_id ORDER BY o.id";
    database.rows(sql, |row: &Row| OutboxRow {
        id: row.get("id"),
        webhook: format!("webhook_{}", id_digits(row.get("endpoint_id"))).parse().expect("an id"),
        event_id: format!("evt_{}", id_digits(row.get("event_id"))).parse().expect("an id"),
        kind: row.get("type"),
        body: row.get("body"),
        state: row.get("state"),
        attempts: row.get("attempts"),
        interruptions: row.get("cuts"),
        claimed: row.get("claimed"),
        due_at: Timestamp::from_millis(row.get("due_at")).unwrap(),
        created_at: Timestamp::from_millis(row.get("created_at")).unwrap(),
    })
}

/// Stores the numbers of rows of the notifications, after rows were inserted or deleted without the service. Those that
/// are not stored yet get this body.
pub fn store_notifications(database: &Database, body: &str) {
    database.run("DELETE FROM webhook_notifications WHERE id NOT IN (SELECT event_id FROM webhook_outbox)");
    let sql = "INSERT INTO webhook_notifications (id, body, outbox_rows)
        SELECT event_id, ?1, COUNT(*) FROM webhook_outbox WHERE id > 0 GROUP BY event_id
        ON CONFLICT (id) DO UPDATE SET outbox_rows = excluded.outbox_rows";
    database.execute(sql, params![body]);
}

/// Records that the next attempt for a row of the outbox succeeded, as the sender would. It was made at this time and
/// took 12 ms.
pub fn record_success_at(database: &Database, row: i64, at: Timestamp) {
    record_attempt_at(database, row, at, true);
}

/// Records that the next attempt for a row of the outbox failed, as the sender would. It was made at this time and took
/// 12 ms.
pub fn record_failure_at(database: &Database, row: i64, at: Timestamp) {
    record_attempt_at(database, row, at, false);
}

fn record_attempt_at(database: &Database, row: i64, at: Timestamp, success: bool) {
    let last: Option<i64> = database.value("SELECT MAX(id) FROM webhook_deliveries");
    let id = last.unwrap_or(0).max((at.millis() << 20) - 1) + 1;
    let moved = database.execute(
        "UPDATE webhook_outbox SET attempts = attempts + 1, due_at = ?2,
            state = CASE WHEN ?3 = 1 THEN 'DELIVERED' WHEN attempts = 7 THEN 'DEAD' ELSE 'WAITING' END,
            finished_at = CASE WHEN ?3 = 1 OR attempts = 7 THEN ?2 END
        WHERE id = ?1 AND state = 'WAITING'",
        params![row, at.millis(), success],
    );
    assert_eq!(moved, 1, "no such row is waiting");
    let insert = "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, response_status, duration_ms,
            error_message, created_at)
        SELECT ?2, endpoint_id, id, type, attempts, ?3, CASE WHEN ?3 = 1 THEN 204 ELSE 500 END, 12,
            CASE WHEN ?3 = 1 THEN NULL ELSE 'the answer was 500' END, ?4 FROM webhook_outbox WHERE id = ?1";
    database.execute(insert, params![row, id, success, at.millis()]);
}

/// Records an attempt for a row of the outbox, as the sender would. It was made when the row was queued, and took 40
/// ms. `status` is the status of the response, `None` if there was none.
pub fn record_attempt(database: &Database, row: i64, attempt: i64, status: Option<i64>) {
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
    assert_eq!(database.execute(insert, params![row, attempt, success, status, body, error]), 1, "no such row");
    let state = match (success, attempt) {
        (true, _) => "DELIVERED",
        (false, 8) => "DEAD",
        (false, _) => "WAITING",
    };
    let update = "UPDATE webhook_outbox SET attempts = ?2, state = ?3, due_at = created_at + 40 + 60000,
            finished_at = CASE ?3 WHEN 'WAITING' THEN NULL ELSE created_at + 40 END
        WHERE id = ?1";
    database.execute(update, params![row, attempt, state]);
}

/// Asserts that there is exactly one notification for each completed order, each cancelled order, each ticket and each
/// ticket that was checked in. There must be one endpoint, for [`SALE_NOTIFICATIONS`], and no ticket checked in twice.
#[track_caller]
pub fn assert_one_notification_each(database: &Database) {
    let changes = "SELECT 'order.completed' AS type, id FROM orders WHERE completed_at IS NOT NULL
        UNION ALL SELECT 'order.cancelled', id FROM orders WHERE status = 'CANCELLED'
        UNION ALL SELECT 'ticket.issued', id FROM tickets
        UNION ALL SELECT 'ticket.checked_in', id FROM tickets WHERE check_in_at IS NOT NULL";
    let mut expected: Vec<(String, i64)> = database.rows(changes, |row| (row.get("type"), row.get("id")));
    let mut queued: Vec<_> = rows(database).into_iter().map(|row| (row.kind.clone(), row.subject())).collect();
    expected.sort_unstable();
    queued.sort_unstable();
    assert!(queued == expected, "{} notifications of {} changes", queued.len(), expected.len());
}
