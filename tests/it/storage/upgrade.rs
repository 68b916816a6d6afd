//! Upgrades: what is asked of every migration, copies from before it, and databases that are too old or too new.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use ticketing::discount::ListDiscounts;
use ticketing::door::ListScans;
use ticketing::error::StoreErrorKind;
use ticketing::event::ListEvents;
use ticketing::order::ListOrders;
use ticketing::organization::ListOrganizations;
use ticketing::payment::{ListLedgerEntries, ListPayments, ListRefunds};
use ticketing::ticket::ListTickets;
use ticketing::ticket_type::ListTicketTypes;
use ticketing::webhook::{ListWebhookDeliveries, ListWebhooks};
use ticketing::{Caller, DatabaseFile, Error, TicketingService};

use crate::common::webhooks::wait_until;
use crate::common::*;

/// Asserts that `new` has every value of `old` at the same place. It may have other fields too.
pub fn assert_contains(new: &Value, old: &Value, path: &str) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (name, value) in old {
                assert_contains(new.get(name).unwrap_or(&Value::Null), value, &format!("{path}.{name}"));
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            assert_eq!(new.len(), old.len(), "{path}");
            for (index, (new, old)) in new.iter().zip(old).enumerate() {
                assert_contains(new, old, &format!("{path}[{index}]"));
            }
        }
        _ => assert_eq!(new, old, "{path}"),
    }
}

/// What the current version returns about an organization, in the form of `answers.json`.
pub fn answers(fixture: &Fixture, caller: &Caller) -> Value {
    let service = &fixture.service;
    let organization = caller.organization();
    let events = ListEvents::default().limit(100);
    let events = service.list_events(caller, events).expect("events").data;
    let orders = ListOrders::default().limit(100);
    let orders = service.list_orders(caller, orders).expect("orders").data;
    let tickets = ListTickets::default().limit(100);
    let webhooks = service.list_webhooks(caller, ListWebhooks::default()).expect("webhooks").data;
    let types = |event| service.list_ticket_types(caller, event, ListTicketTypes::default()).expect("types").data;
    let deliveries = |webhook| {
        let request = ListWebhookDeliveries::default().limit(100);
        service.list_webhook_deliveries(caller, webhook, request).expect("deliveries").data
    };
    let organizations = service.list_organizations(ListOrganizations::default()).expect("organizations").data;
    json!({
        "organization": organizations.iter().find(|found| found.id == organization),
        "apiKeys": service.list_api_keys(organization).expect("keys"),
        "discounts": service.list_discounts(caller, ListDiscounts::default()).expect("discounts").data,
        "refunds": service.list_refunds(caller, ListRefunds::default()).expect("refunds").data,
        "ticketTypes": events.iter().map(|event| types(event.id)).collect::<Vec<_>>(),
        "summaries": events.iter().map(|event| service.get_event_summary(caller, event.id).expect("a summary"))
            .collect::<Vec<_>>(),
        "orderDetails": orders.iter().map(|order| service.get_order_details(caller, order.id).expect("details"))
            .collect::<Vec<_>>(),
        "tickets": service.list_tickets(caller, tickets).expect("tickets").data,
        "payments": service.list_payments(caller, ListPayments::default().limit(100)).expect("payments").data,
        "ledger": service.list_ledger_entries(caller, ListLedgerEntries::default().limit(100)).expect("entries").data,
        "scans": events.iter().map(|event| {
            let log = ListScans::new().limit(100);
            service.list_scans(caller, event.id, log).expect("scans").data
        }).collect::<Vec<_>>(),
        "deliveries": webhooks.iter().map(|webhook| deliveries(webhook.id)).collect::<Vec<_>>(),
        "events": events,
        "orders": orders,
        "webhooks": webhooks,
    })
}

/// Asserts that the tables are those of a new database, and have the checks of the last migration that changed them.
#[track_caller]
pub fn assert_current_schema(fixture: &Fixture) {
    // Without comments, and with one space between words: columns that were added later stand in one line.
    let plain = |sql: String| {
        let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        let text = lines.collect::<Vec<_>>().join(" ").replace('"', "").replace(',', " , ").replace(')', " ) ");
        text.replace('(', " ( ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let schema = |fixture: &Fixture| -> Vec<String> {
        let sql = "SELECT name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name";
        fixture.database().column::<String>(sql).into_iter().map(plain).collect()
    };
    assert_eq!(schema(fixture), schema(&Fixture::new()));
    let columns = |table: &str| -> Vec<String> {
        let sql: String = fixture.database().value(&format!("SELECT sql FROM sqlite_schema WHERE name = '{table}'"));
        sql.lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect()
    };
    let outbox_state =
        "state TEXT NOT NULL CHECK (state = 'WAITING' OR state = 'DELIVERED' OR state = 'DEAD' OR state = 'REMOVED')";
    for (table, column) in [
        ("webhook_outbox", "type TEXT NOT NULL"),
        ("webhook_outbox", outbox_state),
        ("webhook_deliveries", "type TEXT NOT NULL"),
        ("checkouts", "status TEXT NOT NULL CHECK (status = 'OPEN' OR status = 'CLOSING' OR status = 'CLOSED')"),
    ] {
        let columns = columns(table);
        assert!(columns.iter().any(|found| found == column), "{table}: {column}: {columns:#?}");
    }
    for (table, check) in [
        ("orders", "CHECK (status = 'PENDING' OR status = 'COMPLETED' OR status = 'CANCELLED' OR status = 'EXPIRED')"),
        ("orders", "CHECK (payment_status = 'WAITING' OR payment_status = 'COMPLETED' OR payment_status = 'FAILED' OR"),
        ("tickets", "CHECK (status = 'CHECKED_IN' OR status = 'NOT_CHECKED_IN' OR status = 'CANCELLED')"),
    ] {
        let columns = columns(table);
        assert!(columns.iter().any(|found| found.contains(check)), "{table}: {check}: {columns:#?}");
    }
}

/// The database file that 0.3.0 wrote.
pub fn file_of_0_3_0() -> Vec<u8> {
    let stored = include_bytes!("../../fixtures/0.3.0/ticketing.sqlite.gz");
    let mut bytes = Vec::new();
    GzDecoder::new(&stored[..]).read_to_end(&mut bytes).expect("gzip");
    bytes
}

/// A copy of it, in a folder of its own.
fn old_database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(database::FILE);
    std::fs::write(&path, file_of_0_3_0()).expect("a copy");
    (folder, path)
}

/// The version of its schema.
const SCHEMA_OF_0_3_0: i64 = 39;

fn schema_version(path: &Path) -> i64 {
    Database::open(path).value("PRAGMA user_version")
}

/// The names in a folder.
fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

fn store_error<T: std::fmt::Debug>(result: ticketing::Result<T>) -> StoreErrorKind {
    match result {
        Err(Error::Store(error)) => error.kind().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_copy_from_before_the_migration_is_kept_and_brings_everything_back() {
    let (folder, path) = old_database();
    let rows = Database::open(&path).all_rows();
    drop(TicketingService::open(&path).expect("a service"));
    assert!(schema_version(&path) > SCHEMA_OF_0_3_0);
    let copy = folder.path().join("ticketing.db.schema-39");
    assert_eq!(names(&folder), ["ticketing.db", "ticketing.db.schema-39"]);
    assert_eq!(schema_version(&copy), SCHEMA_OF_0_3_0);
    assert_eq!(Database::open(&copy).all_rows(), rows);

    // Going back, and migrating again, keeps the first copy.
    TicketingService::restore(&copy, &path).expect("a restore");
    assert_eq!(schema_version(&path), SCHEMA_OF_0_3_0);
    assert_eq!(Database::open(&path).all_rows(), rows);
    drop(TicketingService::open(&path).expect("a service"));
    assert_eq!(names(&folder), ["ticketing.db", "ticketing.db.schema-39", "ticketing.db.schema-39-2"]);
}

#[test]
fn copies_that_a_killed_program_has_left_unfinished_are_deleted_before_the_next() {
    let (folder, path) = old_database();
    let others = ["ticketing.db.schema-39.notes", "other.db.schema-39.0A1B2C3D.partial"];
    let left = ["ticketing.db.schema-39.0A1B2C3D.partial", "ticketing.db.schema-39.4E5F6G7H.partial"];
    for name in others.iter().chain(&left) {
        std::fs::write(folder.path().join(name), "").expect("a file");
    }
    drop(TicketingService::open(&path).expect("a service"));
    let expected = [others[1], "ticketing.db", "ticketing.db.schema-39", others[0]];
    assert_eq!(names(&folder), expected);
}

#[test]
fn no_copy_is_made_if_it_is_turned_off_or_nothing_is_migrated() {
    let (folder, path) = old_database();
    for _ in 0..2 {
        drop(
            TicketingService::builder(DatabaseFile::new(&path).copy_before_migration(false)).open().expect("a service"),
        );
    }
    drop(TicketingService::open(&path).expect("a service"));
    drop(TicketingService::open(folder.path().join("new.db")).expect("a service"));
    assert_eq!(names(&folder), ["new.db", "ticketing.db"]);
}

#[test]
fn an_older_database_is_refused_if_it_must_not_be_migrated() {
    let (folder, path) = old_database();
    let refused = TicketingService::builder(&path).migrate(false).open();
    let StoreErrorKind::SchemaTooOld { found, known } = store_error(refused.map(drop)) else { panic!("another") };
    assert!(found == SCHEMA_OF_0_3_0 && known > found);
    assert_eq!(schema_version(&path), SCHEMA_OF_0_3_0);
    // A new database is created all the same.
    let new = TicketingService::builder(folder.path().join("new.db")).migrate(false).open().expect("a service");
    assert!(new.list_organizations(ListOrganizations::default()).expect("organizations").data.is_empty());
}

#[cfg(unix)]
#[test]
fn without_the_copy_nothing_is_migrated() {
    // The name of the copy is too long for the file system, that of the database is not.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t".repeat(245));
    std::fs::write(&path, file_of_0_3_0()).expect("a copy");
    let kind = store_error(TicketingService::open(&path).map(drop));
    let StoreErrorKind::NoCopyBeforeMigration { found, copy, .. } = kind else { panic!("{kind:?}") };
    assert!(found == SCHEMA_OF_0_3_0 && copy.ends_with(".schema-39"), "{copy}");
    assert_eq!(schema_version(&path), SCHEMA_OF_0_3_0);
}

#[test]
fn a_database_older_than_0_3_0_is_refused_with_the_version_that_upgrades_it() {
    for version in [1, 5, 23, 38] {
        let (folder, path) = old_database();
        Database::open(&path).run(&format!("PRAGMA user_version = {version}"));
        for migrates in [true, false] {
            let refused = TicketingService::builder(&path).migrate(migrates).open();
            let kind = store_error(refused.map(drop));
            let StoreErrorKind::CannotOpen(problem) = &kind else { panic!("{kind:?}") };
            assert!(problem.contains("version 0.3, which upgrades it"), "{problem}");
        }
        assert_eq!(schema_version(&path), version);
        assert_eq!(names(&folder), ["ticketing.db"]);
    }
}

#[test]
fn a_program_stops_writing_when_a_newer_one_has_migrated_its_database() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 100);
    fixture.order(&ticket_type, 1);
    // A stopped service checks nothing.
    fixture.skip_final_check();
    let newer = fixture.stored("PRAGMA user_version") + 1;
    fixture.database().run(&format!("PRAGMA user_version = {newer}"));
    for _ in 0..2 {
        let kind = store_error(fixture.try_order(&ticket_type, 1));
        assert_eq!(kind, StoreErrorKind::SchemaTooNew { found: newer, known: newer - 1 });
    }
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM tickets"), 1);
    assert!(fixture.service.ready().is_err());
    assert!(fixture.service.stopped().is_some());
}

#[test]
fn a_program_that_writes_nothing_notices_a_newer_schema_too() {
    let fixture = Fixture::new();
    // A stopped service checks nothing.
    fixture.skip_final_check();
    let newer = fixture.stored("PRAGMA user_version") + 1;
    fixture.database().run(&format!("PRAGMA user_version = {newer}"));
    wait_until("the service has stopped", || fixture.service.stopped().is_some());
    assert!(fixture.service.ready().is_err());
}

/// Columns that no version has read, or whose values are work since 0.4.
const GONE: [&str; 9] = [
    "checkouts.attempts",
    "checkouts.next_attempt_at",
    "idempotency_records.lease_ends_at",
    "payments.check_at",
    "payments.checks",
    "refunds.next_attempt_at",
    "refunds.is_asking",
    "webhook_endpoints.generations",
    "webhook_outbox.generation",
];

/// Asserts that every table of `before` has rows, and that `after` has their values. Returns the number of rows.
pub fn assert_rows_are_kept(before: &Database, after: &Database) -> usize {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut rows = 0;
    for table in before.column::<String>(tables) {
        let columns: Vec<String> = before.column(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let is_kept = |column: &&String| !GONE.contains(&&*format!("{table}.{column}"));
        let values: Vec<_> = columns.iter().filter(is_kept).map(|column| format!("quote({column})")).collect();
        let sql = format!("SELECT {} FROM {table} ORDER BY 1", values.join(" || ',' || "));
        let stored: Vec<String> = before.column(&sql);
        let logo = "quote((SELECT l.logo FROM ticket_logos l WHERE l.ticket_type_id = id))";
        let sql = match &*table {
            "ticket_types" => sql.replace("quote(ticket_logo)", logo),
            // Since 0.4, calls of functions are work of a kind for each.
            "handler_queue" => {
                sql.replace("handler_queue", "work WHERE kind LIKE 'call %'").replace("(handler)", "(SUBSTR(kind, 6))")
            }
            // So are cancelled events and endpoints with notifications to be removed.
            "event_cancellations" => {
                sql.replace(&*table, "work WHERE kind = 'cancel orders'").replace("(event_id)", "(key)")
            }
            "webhook_removals" => {
                sql.replace(&*table, "work WHERE kind = 'remove notifications'").replace("(endpoint_id)", "(key)")
            }
            // What a fan-out would have inserted is in the outbox, and another test looks for it.
            "webhook_fan_outs" => continue,
            _ => sql,
        };
        assert_eq!(after.column::<String>(&sql), stored, "{table}");
        assert!(!stored.is_empty(), "the fixture has rows in {table}");
        rows += stored.len();
    }
    rows
}

/// Creates a database with the schema of this version, of files or of PostgreSQL.
pub fn create_old_schema(path: &Path, (of_files, of_postgres): (i64, i64)) -> Database {
    database::create_empty(path);
    let database = Database::open(path);
    let (engine, schema) = if database.is_file() { ("sqlite", of_files) } else { ("postgres", of_postgres) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/migrations").join(engine);
    let mut migrations: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    migrations.sort();
    // The name of a migration begins with the version of its schema.
    let version_of = |path: &Path| path.file_name()?.to_str()?.split('_').next()?.parse::<i64>().ok();
    for migration in migrations.iter().filter(|path| version_of(path).expect("a version") <= schema) {
        database.run(&std::fs::read_to_string(migration).expect("SQL"));
    }
    database.run(&if database.is_file() {
        format!("PRAGMA user_version = {schema}; PRAGMA application_id = {}", 0x5443_4b54)
    } else {
        format!(
            "CREATE TABLE schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
            INSERT INTO schema_version (id, version) VALUES (1, {schema})"
        )
    });
    database
}
