//! The history of webhook deliveries, written into the file as the sender would.

use std::path::Path;

/// The outbox's rows, the oldest first, by their numbers in the file.
pub fn outbox(file: &Path) -> Vec<i64> {
    let connection = rusqlite::Connection::open(file).expect("the file");
    let mut query = connection.prepare("SELECT id FROM webhook_outbox ORDER BY id").expect("the outbox");
    query.query_map([], |row| row.get(0)).expect("rows").map(|id| id.expect("a number")).collect()
}

/// Writes down an attempt at a row of the outbox, which took 40 ms: the status of its answer, or `None` where none came.
pub fn record(file: &Path, outbox: i64, attempt: i64, status: Option<i64>) {
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
    let connection = rusqlite::Connection::open(file).expect("the file");
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
