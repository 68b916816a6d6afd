//! The migration that stores what webhooks send once, and no longer in the row of each endpoint.

use std::path::Path;

use crate::common::*;
use crate::storage::upgrade_of_money::create_old_schema;

/// The number of migrations before, of database files and of PostgreSQL.
const OLD_SCHEMAS: (usize, usize) = (37, 6);

/// 2026-06-01T12:00:00Z.
const CREATED: i64 = 1_780_315_200_000;

/// What an earlier version has sent about the ticket type 3 of the event 2.
fn body(id: i64) -> String {
    format!(
        r#"{{"id":"evt_{}","type":"ticket.issued","createdAt":"2026-06-01T12:00:00.000Z","data":{{"ticketId":"x"}}}}"#,
        database::id_digits(id)
    )
}

/// Writes a database of an earlier version, with rows of the outbox in every state: of two endpoints, one that was
/// deleted, and a notification that was sent again.
fn write_old_database(path: &Path) {
    let database = create_old_schema(path, OLD_SCHEMAS);
    database.run(&format!(
        "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'Old', 'EUR', 'UTC', {CREATED});
        INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
            VALUES (5, 1, 'https://receiver.example/', '[\"ticket.issued\"]', 1,
                'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 0, 0)"
    ));
    let first = CREATED << 20;
    // The number of the row, the endpoint, the number of the notification, the state and the attempts.
    for (row, endpoint, notification, state, attempts) in [
        (1, 5, 1, "DELIVERED", 1),
        (2, 6, 1, "DEAD", 8),
        (3, 5, 3, "WAITING", 2),
        (4, 6, 3, "REMOVED", 0),
        (5, 5, 1, "WAITING", 0),
        (6, 5, 6, "DEAD", 8),
    ] {
        let id = first + notification;
        let finished = if state == "WAITING" { "NULL".to_owned() } else { CREATED.to_string() };
        database.run(&format!(
            "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, attempts, due_at, finished_at, created_at)
                VALUES ({}, {endpoint}, {id}, 'ticket.issued', '{}', '{state}', {attempts}, {CREATED}, {finished}, {CREATED})",
            first + row,
            body(id)
        ));
    }
}

#[test]
fn what_earlier_versions_stored_for_each_endpoint_is_stored_once() {
    let folder = tempfile::tempdir().expect("a folder");
    write_old_database(&folder.path().join(database::FILE));
    let fixture = Fixture::in_folder(folder, |builder| builder);
    fixture.skip_final_check();
    let database = fixture.database();
    let stored = database.rows("SELECT id, body, outbox_rows FROM webhook_notifications ORDER BY id", |row| {
        (row.get::<i64>("id"), row.get::<String>("body"), row.get::<i64>("outbox_rows"))
    });
    let expected = [(1, 3), (3, 2), (6, 1)].map(|(number, rows)| {
        let id = (CREATED << 20) + number;
        (id, body(id), rows)
    });
    assert_eq!(stored, expected);
    assert_eq!(database.value::<i64>("SELECT COUNT(*) FROM webhook_outbox"), 6);
    let counts = fixture.service.check().expect("a check").counts;
    let of_rows = ["webhook-notification", "webhook-notification-rows", "webhook-event"];
    assert!(of_rows.iter().all(|name| !counts.contains_key(*name)), "{counts:?}");
}
