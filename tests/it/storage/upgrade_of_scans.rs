//! The migration that limits the scans without a ticket which an API key adds to the log.

use std::path::Path;

use sha2::{Digest, Sha256};
use ticketing::door::ListDoorLinks;

use crate::common::door::let_in;
use crate::common::*;
use crate::storage::upgrade::create_old_schema;

/// The versions of the schema before, of database files and of PostgreSQL.
const OLD_SCHEMAS: (i64, i64) = (40, 9);

/// 2026-06-01T12:00:00Z.
const CREATED: i64 = 1_780_315_200_000;

/// A key with a correct checksum.
const KEY: &str = "tk_0000000000000000000000000000002C8GjS";

/// Writes a database of an earlier version, with an event and the key of its entrance, which has reported more scans
/// without a ticket than it may now.
fn write_old_database(path: &Path) {
    let database = create_old_schema(path, OLD_SCHEMAS);
    let hash = hex::encode_upper(Sha256::digest(KEY));
    let hash = if database::is_file() { format!("X'{hash}'") } else { format!("'\\x{hash}'") };
    database.run(&format!(
        "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'Old', 'EUR', 'UTC', {CREATED});
        INSERT INTO events (id, organization_id, title, currency, timezone, start_at, over_at, slug, is_public, status,
                delivery_method, shipping_countries, accepts_company, search_text, created_at, updated_at, has_scan_log)
            VALUES (2, 1, 'Night', 'EUR', 'UTC', 4102444800000, 4102531200000, 'night', 1, 'PUBLISHED', 'DIGITAL', '[]', 0,
                'night\nnight', {CREATED}, {CREATED}, 1);
        INSERT INTO api_keys (id, organization_id, key_hash, name, scopes, created_at, event_id)
            VALUES (3, 1, {hash}, 'Gate A', 'tickets:check-in', {CREATED}, 2)"
    ));
    for number in 0..1001 {
        let id = (CREATED << 20) + number;
        database.run(&format!(
            "INSERT INTO scans (id, organization_id, event_id, client_id, api_key_id, device, kind, scanned_at, received_at,
                    verdict, outcome)
                VALUES ({id}, 1, 2, '{}', 3, 'Phone', 'IN', {CREATED}, {CREATED}, 'ADMITTED', 'UNKNOWN_CODE')",
            door::scan_id(number.unsigned_abs())
        ));
    }
}

#[test]
fn scans_without_a_ticket_of_earlier_versions_stay_and_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    write_old_database(&folder.path().join(database::FILE));
    let fixture = Fixture::in_folder(folder, |builder| builder);
    let gate = fixture.service.authenticate(KEY).expect("the key");
    let event = fixture.service.get_event(&fixture.caller, gate.event().expect("its event")).expect("the event");
    let links = fixture.service.list_door_links(&fixture.caller, event.id, ListDoorLinks::new()).expect("a page");
    assert_eq!(links.data.iter().map(|link| &*link.name).collect::<Vec<_>>(), ["Gate A"]);
    let results = fixture.report(&gate, "Phone", [let_in(1000, "0000", NOW), let_in(1001, "0000", NOW)]);
    assert!(results.iter().all(|result| !result.log_full));
    assert_eq!(fixture.scan_log(&event).len(), 1002);
    assert_eq!(fixture.stored("SELECT scans_without_ticket FROM api_keys"), 1);
}
