//! Upgrades: the current version opens the database of a released version, finds everything in it, and works with it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ticketing::discount::ListDiscounts;
use ticketing::door::ListScans;
use ticketing::error::{Reason, StoreErrorKind};
use ticketing::event::ListEvents;
use ticketing::order::{CreateOrder, ListOrders, OrderStatus};
use ticketing::organization::ListOrganizations;
use ticketing::payment::{ListLedgerEntries, ListPayments, ListRefunds, RefundStatus};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::{ListTicketTypes, TicketType};
use ticketing::webhook::{ListWebhookDeliveries, ListWebhooks, SenderOptions};
use ticketing::{Caller, DatabaseFile, Error, TicketingService};

use crate::common::transport::FakeTransport;
use crate::common::webhooks::wait_until;
use crate::common::*;

/// The time at which the fixture of 0.1.0 was written.
const WRITTEN_AT: &str = "2026-06-01T13:00:00Z";

fn file_of_0_1_0(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1.0").join(name)
}

/// What 0.1.0 returned about everything in its database. Keys with `orders:write` have got the scope `payments:write`.
fn answers_of_0_1_0() -> Value {
    let text = std::fs::read_to_string(file_of_0_1_0("answers.json")).expect("the answers");
    let mut answers: Value = serde_json::from_str(&text).expect("JSON");
    for organization in ["first", "other"] {
        for key in answers[organization]["apiKeys"].as_array_mut().expect("the keys") {
            let scopes = key["scopes"].as_array_mut().expect("the scopes");
            if let Some(index) = scopes.iter().position(|scope| scope == "orders:write") {
                scopes.insert(index + 1, json!("payments:write"));
            }
        }
    }
    answers
}

/// A service on a copy of the database that 0.1.0 wrote, which acts for its organization "first".
fn upgraded() -> (Fixture, FakeGateway, FakeTransport) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(file_of_0_1_0("ticketing.sqlite"), folder.path().join(database::FILE)).expect("a copy");
    let gateway = FakeGateway::new();
    let transport = FakeTransport::succeeding();
    let (by, over) = (gateway.clone(), transport.clone());
    let mut fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(by).webhook_transport(over));
    fixture.set_clock(WRITTEN_AT);
    fixture.caller = caller_for(&fixture, "first");
    (fixture, gateway, transport)
}

/// A caller for one of the two organizations: "first" or "other".
fn caller_for(fixture: &Fixture, organization: &str) -> Caller {
    let id = &answers_of_0_1_0()[organization]["organization"]["id"];
    fixture.service.act_for(id.as_str().expect("an id").parse().expect("an id")).expect("the organization")
}

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
    let schema = |fixture: &Fixture| -> Vec<String> {
        fixture
            .database()
            .column("SELECT name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
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
        ("webhook_fan_outs", "type TEXT NOT NULL"),
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

#[test]
fn a_database_of_0_1_0_gets_the_tables_and_checks_of_a_new_one() {
    let (fixture, _, _) = upgraded();
    assert_current_schema(&fixture);
}

fn ticket_type(fixture: &Fixture, name: &str) -> TicketType {
    let events = fixture.service.list_events(&fixture.caller, ListEvents::default()).expect("events").data;
    let event = events.iter().find(|event| event.slug == "summer-night").expect("the event");
    let types = fixture.service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default());
    types.expect("types").data.into_iter().find(|found| found.name == name).expect(name)
}

/// A copy of the database that 0.1.0 wrote, in a folder of its own.
fn old_database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(database::FILE);
    std::fs::copy(file_of_0_1_0("ticketing.sqlite"), &path).expect("a copy");
    (folder, path)
}

/// The version of the schema of 0.1.0: the number of its migrations.
const SCHEMA_OF_0_1_0: i64 = 5;

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
    assert!(schema_version(&path) > SCHEMA_OF_0_1_0);
    let copy = folder.path().join("ticketing.db.schema-5");
    assert_eq!(names(&folder), ["ticketing.db", "ticketing.db.schema-5"]);
    assert_eq!(schema_version(&copy), SCHEMA_OF_0_1_0);
    assert_eq!(Database::open(&copy).all_rows(), rows);

    // Going back, and migrating again, keeps the first copy.
    TicketingService::restore(&copy, &path).expect("a restore");
    assert_eq!(schema_version(&path), SCHEMA_OF_0_1_0);
    assert_eq!(Database::open(&path).all_rows(), rows);
    drop(TicketingService::open(&path).expect("a service"));
    assert_eq!(names(&folder), ["ticketing.db", "ticketing.db.schema-5", "ticketing.db.schema-5-2"]);
}

#[test]
fn copies_that_a_killed_program_has_left_unfinished_are_deleted_before_the_next() {
    let (folder, path) = old_database();
    let others = ["ticketing.db.schema-5.notes", "other.db.schema-5.0A1B2C3D.partial"];
    let left = ["ticketing.db.schema-5.0A1B2C3D.partial", "ticketing.db.schema-5.4E5F6G7H.partial"];
    for name in others.iter().chain(&left) {
        std::fs::write(folder.path().join(name), "").expect("a file");
    }
    drop(TicketingService::open(&path).expect("a service"));
    let expected = [others[1], "ticketing.db", "ticketing.db.schema-5", others[0]];
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
    assert!(found == SCHEMA_OF_0_1_0 && known > found);
    assert_eq!(schema_version(&path), SCHEMA_OF_0_1_0);
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
    std::fs::copy(file_of_0_1_0("ticketing.sqlite"), &path).expect("a copy");
    let kind = store_error(TicketingService::open(&path).map(drop));
    let StoreErrorKind::NoCopyBeforeMigration { found, copy, .. } = kind else { panic!("{kind:?}") };
    assert!(found == SCHEMA_OF_0_1_0 && copy.ends_with(".schema-5"), "{copy}");
    assert_eq!(schema_version(&path), SCHEMA_OF_0_1_0);
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

#[test]
fn a_database_of_0_1_0_is_found_to_be_sound() {
    let (fixture, ..) = upgraded();
    let report = fixture.service.check().expect("a check");
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn everything_that_0_1_0_stored_is_returned_as_it_returned_it() {
    let (fixture, ..) = upgraded();
    let expected = answers_of_0_1_0();
    assert_contains(&answers(&fixture, &fixture.caller), &expected["first"], "first");
    let other = answers(&fixture, &caller_for(&fixture, "other"));
    assert_contains(&other, &expected["other"], "other");
    assert_eq!(fixture.service.list_organizations(ListOrganizations::default()).expect("organizations").data.len(), 2);
}

/// The columns from which the migration to the ledger has made payments, refunds and entries: `upgrade_of_money` tests
/// these.
const GONE: &[&str] = &[
    "orders.refunded",
    "orders.manual_refund_due",
    "checkouts.payment_reference",
    "refunds.payment_reference",
    "refunds.settled_by",
    "refunds.check_at",
    "refunds.checks",
    // No version has read it.
    "idempotency_records.lease_ends_at",
];

/// Asserts that every table of `before` has rows, and that `after` has their values, with the changes that `migrate`
/// makes. Returns the number of rows.
pub fn assert_rows_are_kept(before: &Database, after: &Database, migrate: impl Fn(&str, &str) -> String) -> usize {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut rows = 0;
    for table in before.column::<String>(tables) {
        let columns: Vec<String> = before.column(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let is_kept = |column: &&String| !GONE.contains(&format!("{table}.{column}").as_str());
        let value = |column: &String| match (table.as_str(), column.as_str()) {
            // Only a refund that is due has a next attempt.
            ("refunds", "next_attempt_at") => "quote(CASE status WHEN 'DUE' THEN next_attempt_at END)".to_owned(),
            _ => format!("quote({column})"),
        };
        let values: Vec<_> = columns.iter().filter(is_kept).map(value).collect();
        let sql = format!("SELECT {} FROM {table} ORDER BY 1", values.join(" || ',' || "));
        let stored: Vec<String> = before.column(&sql);
        let migrated: Vec<_> = stored.iter().map(|row| migrate(&table, row)).collect();
        // What is sent is stored once, for all endpoints.
        let body = "quote((SELECT n.body FROM webhook_notifications n WHERE n.id = event_id))";
        let logo = "quote((SELECT l.logo FROM ticket_logos l WHERE l.ticket_type_id = id))";
        let sql = match table.as_str() {
            "webhook_outbox" => sql.replace("quote(body)", body),
            "ticket_types" => sql.replace("quote(ticket_logo)", logo),
            _ => sql,
        };
        assert_eq!(after.column::<String>(&sql), migrated, "{table}");
        assert!(!stored.is_empty(), "the fixture has rows in {table}");
        rows += stored.len();
    }
    rows
}

#[test]
fn the_migration_of_0_1_0_keeps_every_value_of_every_row() {
    let before = Database::open(&file_of_0_1_0("ticketing.sqlite"));
    let (fixture, ..) = upgraded();
    let rows = assert_rows_are_kept(&before, &fixture.database(), |table, row| match table {
        "api_keys" => row.replace("orders:write", "orders:write payments:write"),
        _ => row.to_owned(),
    });
    assert!(rows > 200, "{rows}");
}

#[test]
fn api_keys_of_0_1_0_authenticate_unless_they_are_revoked_or_expired() {
    let (fixture, ..) = upgraded();
    let keys = &answers_of_0_1_0()["keys"];
    let authenticate = |name: &str| fixture.service.authenticate(keys[name].as_str().expect("a key"));
    assert_eq!(authenticate("active").expect("active").organization(), fixture.caller.organization());
    assert_ne!(authenticate("other").expect("other").organization(), fixture.caller.organization());
    let scanner = authenticate("scanner").expect("scanner");
    assert!(matches!(fixture.service.list_orders(&scanner, ListOrders::default()), Err(Error::Forbidden { .. })));
    for name in ["revoked", "expired"] {
        assert!(matches!(authenticate(name), Err(Error::Unauthenticated)), "{name}");
    }
}

#[test]
fn a_database_of_0_1_0_sells_pays_and_admits() {
    let (fixture, ..) = upgraded();
    let seat = ticket_type(&fixture, "Seat");
    // Nine are sold and two are held in the fixture; three go to the order with the code, at 20 % off 12.50.
    assert_eq!(seat.sold, 9);
    let order = fixture.order_with_code(&seat, 3, "SUMMER20");
    assert_eq!(order.total, eur(3000));
    let order = fixture.service.payment_completed(&fixture.caller, order.id).expect("a payment");
    assert_eq!(fixture.sold(&seat), 12);
    let code = &order.items[0].issued_tickets[0].code;
    let ticket = fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("admitted");
    assert_eq!(ticket.status, TicketStatus::CheckedIn);

    // The orders that 0.1.0 left pending.
    let pending = ListOrders::default().status(OrderStatus::Pending);
    let pending = fixture.service.list_orders(&fixture.caller, pending).expect("orders").data;
    assert_eq!(pending.len(), 3);
    for order in pending {
        let paid = fixture.service.payment_completed(&fixture.caller, order.id).expect("a payment");
        assert_eq!(paid.status, OrderStatus::Completed);
    }

    // The tickets that 0.1.0 issued: each is admitted unless it is inside or cancelled.
    let of_type = ListTickets::default().ticket_type(seat.id).limit(100);
    let tickets = fixture.service.list_tickets(&fixture.caller, of_type).expect("tickets").data;
    for ticket in tickets {
        let scan = fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code));
        match ticket.status {
            TicketStatus::NotCheckedIn => assert_eq!(scan.expect("admitted").status, TicketStatus::CheckedIn),
            TicketStatus::CheckedIn => assert_eq!(reason(scan), Reason::AlreadyCheckedIn),
            _ => assert_eq!(reason(scan), Reason::TicketCancelled),
        }
    }
}

#[test]
fn a_refund_that_is_due_in_a_database_of_0_1_0_is_made() {
    let (fixture, gateway, _) = upgraded();
    let due = ListRefunds::default().status(RefundStatus::Due);
    let due = fixture.service.list_refunds(&fixture.caller, due).expect("refunds").data;
    assert_eq!(due.len(), 1);
    fixture.clock.advance(std::time::Duration::from_hours(24));
    fixture.service.run_maintenance().expect("maintenance");
    let asked = gateway.refunds();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].order_id, asked[0].amount), (due[0].order_id, eur(3750)));
    assert_eq!(asked[0].reference, Some(format!("pay-{}", due[0].order_id)));
    // The key that 0.1.0 may have sent already.
    assert_eq!(asked[0].idempotency_key, format!("refund-{}", due[0].order_id));
    let done = ListRefunds::default().status(RefundStatus::Done);
    let done = fixture.service.list_refunds(&fixture.caller, done).expect("refunds").data;
    assert!(done.iter().any(|refund| refund.order_id == due[0].order_id));
}

#[test]
fn notifications_that_0_1_0_queued_are_sent() {
    let (fixture, _, transport) = upgraded();
    let waiting = "SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING'";
    let queued = fixture.stored(waiting);
    assert!(queued > 20, "{queued}");
    // The next attempts of those that failed once are due by then.
    fixture.clock.advance(std::time::Duration::from_hours(24));
    let sender = fixture.service.start_webhook_sender(SenderOptions::default()).expect("a sender");
    wait_until("everything was sent", || fixture.stored(waiting) == 0);
    drop(sender);
    assert_eq!(transport.sent().len(), usize::try_from(queued).expect("few"));
}

#[test]
fn idempotency_keys_of_0_1_0_are_refused_and_sell_nothing_twice() {
    let (fixture, ..) = upgraded();
    let seat = ticket_type(&fixture, "Seat");
    for key in ["finished", "unfinished"] {
        let request = CreateOrder::new(seat.event_id, new_customer(), seat.id, 1);
        let retried = fixture.service.create_order(&fixture.caller_with_key(key), request);
        assert!(matches!(retried, Err(Error::IdempotencyKeyReused)), "{key}: {retried:?}");
    }
}
