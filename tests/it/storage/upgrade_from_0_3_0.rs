//! Upgrades from 0.3.0 and later versions: the current version opens their databases, finds everything in them, and works
//! with them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use ticketing::error::Reason;
use ticketing::event::{EventSettings, ListEvents};
use ticketing::notification::NotificationTopic;
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::organization::{ListOrganizations, Organization, UpdateOrganization};
use ticketing::payment::{ListLedgerEntries, ListPayments, ManualMethod};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::ListTicketTypes;
use ticketing::{Caller, Error};

use crate::common::skipped::skipped;
use crate::common::transport::{FakeTransport, respond};
use crate::common::*;
use crate::storage::upgrade::{answers, assert_contains, assert_current_schema, assert_rows_are_kept};

/// A database of `tests/fixtures`, with the SHA-256 of its files: a fixture is never changed.
#[derive(Clone, Copy)]
struct Written {
    folder: &'static str,
    file: Stored,
    /// The same database on PostgreSQL, as the program of that version has copied it.
    on_postgres: Stored,
    answers: &'static str,
}

/// A stored database: the SHA-256, and the version of the schema.
#[derive(Clone, Copy)]
struct Stored {
    sha256: &'static str,
    schema: i64,
}

const OF_0_3_0: Written = Written {
    folder: "0.3.0",
    file: Stored { sha256: "f303484946dd1416fde683c13258669809cb5ecd71c4a2b1cf5ed44a00541d85", schema: 39 },
    on_postgres: Stored { sha256: "830a72baea357d1f1d61c5132c4c56d572c3af73ee740478a92e4a488388530e", schema: 8 },
    answers: "5f9862ca958a979292b8d62fc24296f5c1cb3a257bbc02141a8b9a0d2a6ccd9f",
};

const ALL: [Written; 1] = [OF_0_3_0];

/// The database on PostgreSQL, as the SQL of `pg_dump`.
const DUMP: &str = "ticketing.postgres.sql.gz";

impl Written {
    /// A file of the fixture, compressed.
    fn bytes(self, name: &str) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(self.folder).join(name);
        std::fs::read(path).expect("the fixture")
    }

    fn content(self, name: &str) -> Vec<u8> {
        let mut content = Vec::new();
        GzDecoder::new(&*self.bytes(name)).read_to_end(&mut content).expect("gzip");
        content
    }

    /// What the program returned about everything in its database.
    fn recorded(self) -> Value {
        serde_json::from_slice(&self.content("answers.json.gz")).expect("JSON")
    }

    /// The database for the engine on which the tests run.
    fn stored(self) -> Stored {
        if database::is_file() { self.file } else { self.on_postgres }
    }

    /// Writes the database to a new folder, or to a new database of the PostgreSQL server.
    fn old_database(self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(database::FILE);
        if database::is_file() {
            std::fs::write(&path, self.content("ticketing.sqlite.gz")).expect("written");
        } else {
            database::create_empty(&path);
            let statements = String::from_utf8(self.content(DUMP)).expect("text");
            Database::open(&path).run(&statements);
        }
        (folder, path)
    }

    /// A service on the database, which acts for its organization "first" at the time when it was written.
    fn upgraded(self) -> Fixture {
        let (folder, _) = self.old_database();
        let gateway = FakeGateway::new();
        let mut fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(gateway));
        fixture.set_clock(self.recorded()["now"].as_str().expect("a time"));
        fixture.caller = self.caller_for(&fixture, "first");
        fixture
    }

    /// A caller for one of the organizations: "first" or "other".
    fn caller_for(self, fixture: &Fixture, organization: &str) -> Caller {
        let id = &self.recorded()[organization]["organization"]["id"];
        fixture.service.act_for(id.as_str().expect("an id").parse().expect("an id")).expect("the organization")
    }
}

#[test]
fn a_fixture_is_the_one_that_was_written_and_has_the_schema_of_its_time() {
    for written in ALL {
        let files = [("ticketing.sqlite.gz", written.file.sha256), ("answers.json.gz", written.answers)];
        for (name, expected) in files.into_iter().chain([(DUMP, written.on_postgres.sha256)]) {
            assert_eq!(hex::encode(Sha256::digest(written.bytes(name))), expected, "{}/{name}", written.folder);
        }
        let (_folder, path) = written.old_database();
        let database = Database::open(&path);
        let schema: i64 = match database.is_file() {
            true => database.value("PRAGMA user_version"),
            false => database.value("SELECT version FROM schema_version"),
        };
        assert_eq!(schema, written.stored().schema, "{}", written.folder);
    }
}

#[test]
fn a_database_of_each_version_is_found_to_be_sound() {
    for written in ALL {
        let fixture = written.upgraded();
        let report = fixture.service.check().expect("a check");
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
}

/// The fixtures have a fan-out that names an endpoint that is not subscribed: SQL of a test has written it.
#[test]
fn a_database_of_each_version_is_sound_after_its_due_work_was_done() {
    for written in ALL {
        let (folder, _) = written.old_database();
        let (gateway, failing) = (FakeGateway::new(), FakeTransport::new(|_, _, _| respond(500)));
        let fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(gateway).webhook_transport(failing));
        fixture.set_clock(written.recorded()["now"].as_str().expect("a time"));
        for _ in 0..3 {
            fixture.service.run_maintenance().expect("a run");
            fixture.service.deliver_due_webhooks().expect("attempts");
            let report = fixture.service.check().expect("a check");
            assert!(report.is_clean(), "{}: {:#?}", written.folder, report.findings);
            fixture.clock.advance(Duration::from_hours(25));
        }
    }
}

#[test]
fn a_database_of_each_version_gets_the_tables_and_checks_of_a_new_one() {
    if !database::is_file() {
        return skipped("it reads the schema of a database file");
    }
    for written in ALL {
        assert_current_schema(&written.upgraded());
    }
}

#[test]
fn everything_that_a_version_stored_is_returned_as_it_returned_it() {
    for written in ALL {
        let fixture = written.upgraded();
        let expected = written.recorded();
        for organization in ["first", "other"] {
            let caller = written.caller_for(&fixture, organization);
            assert_contains(&answers(&fixture, &caller), &expected[organization], organization);
        }
    }
}

#[test]
fn migrations_keep_every_value_of_every_row() {
    if !database::is_file() {
        return skipped("it reads the schema of a database file");
    }
    for written in ALL {
        let (_folder, path) = written.old_database();
        let fixture = written.upgraded();
        let rows = assert_rows_are_kept(&Database::open(&path), &fixture.database());
        assert!(rows > 100, "{rows}");
    }
}

#[test]
fn ticket_types_of_each_version_keep_their_logos() {
    for written in ALL {
        let (folder, path) = written.old_database();
        let old = Database::open(&path);
        // The first one has none.
        old.run(
            "UPDATE ticket_types SET ticket_logo = 'https://example.com/' || id || '.png'
            WHERE id <> (SELECT MIN(id) FROM ticket_types)",
        );
        let stored: Vec<Option<String>> = old.column("SELECT ticket_logo FROM ticket_types ORDER BY id");
        assert!(stored.len() > 3 && stored[0].is_none(), "{stored:?}");
        drop(old);
        let fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(FakeGateway::new()));
        let logos =
            "SELECT l.logo FROM ticket_types t LEFT JOIN ticket_logos l ON l.ticket_type_id = t.id ORDER BY t.id";
        assert_eq!(fixture.database().column::<Option<String>>(logos), stored, "{}", written.folder);
        let caller = written.caller_for(&fixture, "first");
        let mut listed = Vec::new();
        for event in fixture.service.list_events(&caller, ListEvents::default()).expect("events").data {
            let types = fixture.service.list_ticket_types(&caller, event.id, ListTicketTypes::default());
            listed.extend(types.expect("ticket types").data.into_iter().map(|ticket_type| ticket_type.ticket_logo));
        }
        assert!(listed.len() > 3 && listed.iter().all(|logo| stored.contains(logo)), "{listed:?}");
    }
}

#[test]
fn days_of_the_events_of_each_version_begin_at_midnight_until_that_is_set() {
    for written in ALL {
        let fixture = written.upgraded();
        let events = fixture.service.list_events(&fixture.caller, ListEvents::default()).expect("events").data;
        assert!(events.len() > 1 && events.iter().all(|event| event.day_starts_at.is_none()), "{events:?}");
        let settings = EventSettings::default().day_starts_at("06:00");
        let set = fixture.service.update_event_settings(&fixture.caller, events[0].id, settings).expect("settings");
        assert_eq!(set.day_starts_at.as_deref(), Some("06:00"));
        assert!(fixture.service.check().expect("a check").is_clean());
    }
}

/// Each fixture has a call of the function "mail" that is due.
#[test]
fn functions_of_a_program_are_called_with_the_notifications_of_each_version() {
    for written in ALL {
        let (folder, _) = written.old_database();
        let (calls, called) = std::sync::mpsc::channel();
        let fixture = Fixture::in_folder(folder, |builder| {
            builder.handler_threads(false).on_notification("mail", move |_, notification| {
                Ok(calls.send((notification.attempt, notification.details.topic()))?)
            })
        });
        fixture.set_clock(written.recorded()["now"].as_str().expect("a time"));
        let _ = fixture.service.deliver_due_notifications();
        assert_eq!(called.try_recv(), Ok((1, NotificationTopic::OrderExpired)));
        assert!(called.try_recv().is_err(), "there is one");
        assert_eq!(fixture.stored("SELECT COUNT(*) FROM work WHERE kind LIKE 'call %'"), 0);
    }
}

/// What of the database of a version is work after its migration, with this SQL run before it: kind, key, organization,
/// event, body and due time of each row.
fn work_after(written: Written, before: &str, kinds: &str) -> (Fixture, Vec<String>) {
    let (folder, path) = written.old_database();
    let old = Database::open(&path);
    old.run(before);
    let fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(FakeGateway::new()));
    fixture.skip_final_check();
    let work = fixture.database().column(&format!(
        "SELECT kind || ',' || key || ',' || organization_id || ',' || event_id || ',' || body || ',' || due_at FROM work
        WHERE kind LIKE '{kinds} %' AND claim IS NULL AND attempts = 0 ORDER BY key"
    ));
    (fixture, work)
}

/// In SQL of a test, a question mark is a parameter.
fn without_gateway(rows: &[String]) -> Vec<String> {
    rows.iter().map(|row| row.replacen("unknown", "?", 1)).collect()
}

/// A payment of 0.2 or earlier has no gateway.
#[test]
fn checks_of_payments_of_each_version_are_due_when_they_were() {
    for written in ALL {
        let before = "UPDATE payments SET check_at = 1000 + id % 1000, checks = id % 3 WHERE manual_method IS NULL;
            UPDATE payments SET gateway = NULL, account = NULL WHERE id = (SELECT MIN(id) FROM payments WHERE manual_method IS NULL);
            UPDATE payments SET check_at = NULL WHERE id = (SELECT MAX(id) FROM payments WHERE manual_method IS NULL)";
        let (fixture, work) = work_after(written, before, "check");
        let expected: Vec<String> = fixture.database().column(
            "SELECT 'check ' || COALESCE(gateway || ' ' || mode, 'unknown') || ',' || id || ',' || organization_id || ',' || event_id
                || ',' || (id % 3) || ',' || (1000 + id % 1000) FROM payments WHERE manual_method IS NULL
                AND id <> (SELECT MAX(id) FROM payments WHERE manual_method IS NULL) ORDER BY id",
        );
        assert_eq!(work, without_gateway(&expected));
        assert!(work.len() > 1 && work[0].starts_with("check ?,"), "{work:?}");
    }
}

/// One is to be closed, one is to be looked up, and about one the gateway is asked no more.
#[test]
fn checkouts_of_each_version_are_asked_about_when_they_were() {
    for written in ALL {
        let before = "UPDATE checkouts SET status = 'OPEN', next_attempt_at = 1000 + order_id % 1000, attempts = 0;
            UPDATE checkouts SET status = 'CLOSING', gateway = NULL, account = NULL, mode = NULL
                WHERE order_id = (SELECT MIN(order_id) FROM checkouts);
            UPDATE checkouts SET next_attempt_at = NULL WHERE order_id = (SELECT MAX(order_id) FROM checkouts)";
        let (fixture, work) = work_after(written, before, "checkout");
        let expected: Vec<String> = fixture.database().column(
            "SELECT 'checkout ' || COALESCE(c.gateway || ' ' || c.mode, 'unknown') || ',' || c.order_id || ','
                || o.organization_id || ',' || o.event_id || ',,' || (1000 + c.order_id % 1000)
            FROM checkouts c JOIN orders o ON o.id = c.order_id
            WHERE c.order_id < (SELECT MAX(order_id) FROM checkouts) ORDER BY c.order_id",
        );
        assert_eq!(work, without_gateway(&expected));
        assert!(work.len() > 1 && work[0].starts_with("checkout ?,"), "{work:?}");
    }
}

/// One refund was just being asked for, one is due, and one waits for a bank.
#[test]
fn refunds_of_each_version_are_due_when_they_were() {
    for written in ALL {
        let ids = "(SELECT id FROM refunds WHERE to_ask > 0)";
        let before = format!(
            "UPDATE refunds SET status = 'DUE', by_gateway = 1, to_ask = 1, next_attempt_at = 1000 + id % 1000;
            UPDATE refunds SET is_asking = 1 WHERE id = (SELECT MIN(id) FROM refunds);
            UPDATE refunds SET next_attempt_at = NULL WHERE id = (SELECT MAX(id) FROM refunds);
            UPDATE payments SET gateway = NULL, account = NULL WHERE manual_method IS NULL
                AND id IN (SELECT payment_id FROM refunds WHERE id IN {ids})"
        );
        let (fixture, _) = work_after(written, &before, "refund");
        let database = fixture.database();
        let work: Vec<String> = database.column(
            "SELECT kind || ',' || key || ',' || organization_id || ',' || event_id || ',' || COALESCE(claim, 0) || ','
                || due_at FROM work WHERE kind LIKE 'refund %' ORDER BY key",
        );
        let expected: Vec<String> = database.column(
            "SELECT 'refund unknown,' || id || ',' || organization_id || ',' || event_id
                || ',' || CASE id WHEN (SELECT MIN(id) FROM refunds) THEN 1 ELSE 0 END || ',' || (1000 + id % 1000)
            FROM refunds WHERE id < (SELECT MAX(id) FROM refunds) ORDER BY id",
        );
        assert_eq!(work, without_gateway(&expected));
        assert!(work.len() > 1, "{work:?}");
    }
}

/// Each fixture has a cancelled event with a pending order, and a deleted endpoint.
#[test]
fn cancellations_and_removals_that_a_version_did_not_finish_are_finished() {
    for written in ALL {
        let (fixture, work) = work_after(written, "", "cancel");
        let expected: Vec<String> = fixture.database().column(
            "SELECT 'cancel orders,' || id || ',' || organization_id || ',' || id || ',,' || updated_at FROM events e
            WHERE status = 'CANCELLED' AND EXISTS (SELECT 1 FROM orders o WHERE o.event_id = e.id AND o.status = 'PENDING')",
        );
        assert_eq!((work.len(), work), (1, expected));
        let left = "SELECT COUNT(*) FROM work WHERE kind = 'cancel orders' OR kind = 'remove notifications'";
        assert_eq!(fixture.stored(left), 2);
        fixture.set_clock(written.recorded()["now"].as_str().expect("a time"));
        assert_eq!(fixture.service.run_maintenance().expect("a run").cancelled_orders, 1);
        assert_eq!(fixture.stored(left), 0);
    }
}

/// Each fixture has a fan-out of one notification for an endpoint.
#[test]
fn notifications_whose_rows_a_version_had_not_inserted_are_sent() {
    for written in ALL {
        for (is_subscribed, is_done) in [(true, false), (false, false), (true, true)] {
            let (folder, path) = written.old_database();
            let old = Database::open(&path);
            if is_subscribed {
                old.run(
                    "UPDATE webhook_endpoints SET events = '[\"order.completed\",\"order.cancelled\"]' WHERE id = 2",
                );
            }
            if is_done {
                // As if there were a second endpoint, whose row is the only one that is left.
                old.run(
                    "UPDATE webhook_fan_outs SET total = 2, done = 1, endpoints =
                    '[[\"webhook_0000000000002\",0],[\"webhook_0000000000009\",0]]'",
                );
            }
            let body: String = old.value("SELECT notifications FROM webhook_fan_outs");
            drop(old);
            let transport = FakeTransport::succeeding();
            let fixture = Fixture::in_folder(folder, |builder| {
                builder.payment_gateway(FakeGateway::new()).webhook_transport(transport.clone())
            });
            fixture.set_clock(written.recorded()["now"].as_str().expect("a time"));
            assert!(fixture.service.check().expect("a check").is_clean());
            let rows = fixture.outbox();
            let added: Vec<_> = rows.iter().filter(|row| body.contains(&row.event_id.to_string())).collect();
            // The first endpoint has its row since the change.
            assert_eq!(added.len(), if is_subscribed && !is_done { 2 } else { 1 });
            assert!(added.iter().all(|row| row.body == added[0].body && row.due_at == added[0].due_at));
            fixture.service.deliver_due_webhooks().expect("sent");
            let id = added[0].event_id.to_string();
            assert_eq!(transport.sent().iter().filter(|sent| sent.body.contains(&id)).count(), added.len());
        }
    }
}

#[test]
fn organizations_of_each_version_have_no_page_name_until_one_is_set() {
    for written in ALL {
        let fixture = written.upgraded();
        let earlier = fixture.service.list_organizations(ListOrganizations::default()).expect("organizations").data;
        let shown = |one: &Organization| {
            [&one.page_name, &one.website, &one.imprint_url, &one.privacy_url].into_iter().any(Option::is_some)
        };
        assert!(earlier.len() > 1 && !earlier.iter().any(shown), "{earlier:?}");
        let named = |id| fixture.service.update_organization(id, UpdateOrganization::default().page_name("cellar"));
        assert_eq!(named(earlier[0].id).expect("a name").page_name.as_deref(), Some("cellar"));
        assert_eq!(named(earlier[1].id).expect_err("taken").reason(), Some(Reason::PageNameTaken));
        assert!(fixture.service.check().expect("a check").is_clean());
    }
}

#[test]
fn an_order_of_each_version_can_be_paid_by_card_at_a_till_with_a_name() {
    for written in ALL {
        let fixture = written.upgraded();
        let earlier = fixture.service.list_payments(&fixture.caller, ListPayments::default()).expect("payments").data;
        assert!(!earlier.is_empty() && earlier.iter().all(|payment| payment.recorded_by_name.is_none()), "{earlier:?}");
        let pending = ListOrders::default().status(OrderStatus::Pending).reference("basket");
        let pending = fixture.service.list_orders(&fixture.caller, pending).expect("orders").data.remove(0);
        let till = fixture.caller.named("till-1").expect("a name");
        fixture.service.mark_order_paid(&till, pending.id, ManualMethod::Card).expect("paid");
        let of_order = ListLedgerEntries::default().order(pending.id);
        let entry = fixture.service.list_ledger_entries(&fixture.caller, of_order).expect("entries").data.remove(0);
        assert_eq!(
            (entry.manual_method, entry.recorded_by_name.as_deref()),
            (Some(ManualMethod::Card), Some("till-1"))
        );
        assert!(fixture.service.check().expect("a check").is_clean());
    }
}

#[test]
fn api_keys_of_each_version_authenticate_unless_they_are_revoked() {
    for written in ALL {
        let fixture = written.upgraded();
        let keys = &written.recorded()["keys"];
        let authenticate = |name: &str| fixture.service.authenticate(keys[name].as_str().expect("a key"));
        assert_eq!(authenticate("active").expect("active").organization(), fixture.caller.organization());
        assert_eq!(authenticate("revoked"), Err(Error::Unauthenticated));
        assert_eq!(authenticate("suspended"), Err(Error::OrganizationSuspended));
    }
}

#[test]
fn a_database_of_each_version_pays_its_pending_orders_and_admits_its_tickets() {
    for written in ALL {
        let fixture = written.upgraded();
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
}

#[test]
fn an_idempotency_key_of_each_version_returns_its_order_again() {
    for written in ALL {
        let fixture = written.upgraded();
        let finished = written.recorded()["keys"]["finishedOrder"].as_str().expect("an id").parse().expect("an id");
        let order = fixture.read_order(finished);
        let request = crate::storage::make_fixture::basket(order.event_id, order.items[0].ticket_type_id);
        let retried = fixture.service.create_order(&fixture.caller_with_key("finished"), request).expect("the order");
        assert!(retried.replayed);
        assert_eq!(retried.value.order.id, finished);
    }
}
