//! Upgrades from 0.2.0: the current version opens the database of 0.2.0, finds everything in it, and works with it.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use ticketing::error::Reason;
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::{Caller, Error};

use crate::common::*;
use crate::upgrade::{answers, assert_contains, assert_current_schema, assert_rows_are_kept};

/// The content of a file that 0.2.0 wrote.
fn content(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.2.0").join(name);
    let mut content = Vec::new();
    GzDecoder::new(std::fs::File::open(path).expect("the fixture")).read_to_end(&mut content).expect("gzip");
    content
}

/// What 0.2.0 returned about everything in its database.
fn recorded() -> Value {
    serde_json::from_slice(&content("answers.json.gz")).expect("JSON")
}

/// Writes the database of 0.2.0 to a new folder.
fn old_database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(database::FILE);
    std::fs::write(&path, content("ticketing.sqlite.gz")).expect("written");
    (folder, path)
}

/// A service on the database of 0.2.0, which acts for its organization "first" at the time when it was written.
fn upgraded() -> Fixture {
    let (folder, _) = old_database();
    let gateway = FakeGateway::new();
    let mut fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(gateway));
    fixture.set_clock(recorded()["now"].as_str().expect("a time"));
    fixture.caller = caller_for(&fixture, "first");
    fixture
}

/// A caller for one of the organizations: "first" or "other".
fn caller_for(fixture: &Fixture, organization: &str) -> Caller {
    let id = &recorded()[organization]["organization"]["id"];
    fixture.service.act_for(id.as_str().expect("an id").parse().expect("an id")).expect("the organization")
}

#[test]
fn a_database_of_0_2_0_is_found_to_be_sound() {
    let fixture = upgraded();
    let report = fixture.service.check().expect("a check");
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn a_database_of_0_2_0_gets_the_tables_and_checks_of_a_new_one() {
    assert_current_schema(&upgraded());
}

#[test]
fn everything_that_0_2_0_stored_is_returned_as_it_returned_it() {
    let fixture = upgraded();
    let expected = recorded();
    for organization in ["first", "other"] {
        let caller = caller_for(&fixture, organization);
        assert_contains(&answers(&fixture, &caller), &expected[organization], organization);
    }
}

#[test]
fn the_migration_of_0_2_0_keeps_every_value_of_every_row() {
    let (_folder, path) = old_database();
    let fixture = upgraded();
    let rows = assert_rows_are_kept(&Database::open(&path), &fixture.database(), |_, row| row.to_owned());
    assert!(rows > 100, "{rows}");
}

#[test]
fn checkouts_of_0_2_0_have_no_gateway_unless_the_sandbox_has_them() {
    let (folder, path) = old_database();
    let of_sandbox = "UPDATE orders SET payment_reference = 'sandbox_' || id WHERE id IN
        (SELECT order_id FROM checkouts ORDER BY order_id LIMIT 2)";
    Database::open(&path).run(of_sandbox);
    Database::open(&path).run(
        "UPDATE orders SET payment_reference = 'sandboxes' WHERE id IN (SELECT order_id FROM checkouts ORDER BY order_id
            LIMIT 1 OFFSET 2)",
    );
    let fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(FakeGateway::new()));
    let recorded: Vec<String> = fixture.database().column(
        "SELECT COALESCE(gateway || ',' || account || ',' || mode, 'unknown') FROM checkouts ORDER BY order_id",
    );
    assert!(recorded.len() > 3, "{recorded:?}");
    let (of_sandbox, others) = recorded.split_at(2);
    assert_eq!(of_sandbox, ["sandbox,,TEST", "sandbox,,TEST"]);
    assert!(others.iter().all(|recorded| recorded == "unknown"), "{others:?}");
}

#[test]
fn api_keys_of_0_2_0_authenticate_unless_they_are_revoked() {
    let fixture = upgraded();
    let keys = &recorded()["keys"];
    let authenticate = |name: &str| fixture.service.authenticate(keys[name].as_str().expect("a key"));
    assert_eq!(authenticate("active").expect("active").organization(), fixture.caller.organization());
    assert_eq!(authenticate("revoked"), Err(Error::Unauthenticated));
    assert_eq!(authenticate("suspended"), Err(Error::OrganizationSuspended));
}

#[test]
fn a_database_of_0_2_0_pays_its_pending_orders_and_admits_its_tickets() {
    let fixture = upgraded();
    let pending = ListOrders::default().status(OrderStatus::Pending).reference("basket");
    let pending = fixture.service.list_orders(&fixture.caller, pending).expect("orders").data;
    assert_eq!(pending.len(), 1);
    let paid = fixture.service.payment_completed(&fixture.caller, pending[0].id).expect("a payment");
    assert_eq!((paid.status, paid.items[0].issued_tickets.len()), (OrderStatus::Completed, 2));

    let tickets =
        fixture.service.list_tickets(&fixture.caller, ListTickets::default().limit(100)).expect("tickets").data;
    assert!(tickets.len() > 20, "{}", tickets.len());
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
fn an_idempotency_key_of_0_2_0_returns_its_order_again() {
    let fixture = upgraded();
    let finished = recorded()["keys"]["finishedOrder"].as_str().expect("an id").parse().expect("an id");
    let order = fixture.read_order(finished);
    let request = crate::make_fixture::basket(order.event_id, order.items[0].ticket_type_id);
    let retried = fixture.service.create_order(&fixture.caller_with_key("finished"), request).expect("the order");
    assert!(retried.replayed);
    assert_eq!(retried.value.order.id, finished);
}
