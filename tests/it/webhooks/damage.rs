//! Rows that cannot be read: they affect only their own endpoint, and the sender does not retry them all the time.

use std::thread::sleep;
use std::time::Duration;

use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::webhook::SenderOptions;

#[test]
fn a_row_that_cannot_be_read_delays_no_other_and_is_tried_again_after_a_minute() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    fixture.ticket_webhook("https://example.com/damaged");
    fixture.queue_notifications(1);
    fixture.expand();
    let database = fixture.database();
    let body: String = database.value("SELECT body FROM webhook_notifications");
    database.make_unreadable("webhook_notifications", "body");
    let _sender = fixture.start_sender(SenderOptions::default().workers(2));
    fixture.ticket_webhook("https://example.com/fine");
    fixture.queue_notifications(5);
    wait_until("the others are sent", || (transport.sent_to("/fine"), transport.sent_to("/damaged")) == (5, 5));
    sleep(POLL_TIME);
    let commits = || fixture.service.statistics().commits.done;
    let before = commits();
    sleep(Duration::from_secs(2));
    assert!(commits() - before <= 2, "{} needless commits", commits() - before);
    assert_eq!(transport.sent_to("/damaged"), 5, "the other rows of its endpoint");
    assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 1);
    let first = "SELECT MIN(id) FROM webhook_notifications";
    database.execute(&format!("UPDATE webhook_notifications SET body = ?1 WHERE id = ({first})"), [body]);
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(11, "DELIVERED");
}

#[test]
fn while_the_disk_is_full_nothing_is_skipped_and_no_result_is_lost() {
    // Inserting the rows of notifications, claiming attempts, and recording their results.
    for (statement, condition) in [
        ("INSERT", "1 = 1"),
        ("UPDATE", "old.claim IS NULL AND new.claim IS NOT NULL"),
        ("UPDATE", "new.state = 'DELIVERED'"),
    ] {
        let transport = FakeTransport::succeeding();
        let fixture = Fixture::with_transport(&transport);
        fixture.insert_ticket_webhooks(60, "https://example.com/");
        fixture.queue_notifications(10);
        fixture.database().refuse_as_if_full("full_disk", &format!("BEFORE {statement} ON webhook_outbox"), condition);
        let tries = || match database::is_file() {
            // The transaction goes on without the row.
            true => i64::try_from(fixture.commits()).expect("few commits"),
            false => fixture.database().value("SELECT last_value FROM full_disk_uses"),
        };
        let before = tries();
        let _sender = fixture.start_sender(SenderOptions::default());
        wait_until(&format!("{statement} if {condition} was tried several times"), || tries() >= before + 4);
        let delivered = fixture.stored("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'DELIVERED'");
        assert_eq!(delivered, 0, "{statement} if {condition}");
        fixture.database().end_trigger("full_disk");
        // At once: a row that is skipped would wait for a minute, and an attempt whose result is lost for its lease.
        fixture.wait_for_outbox(600, "DELIVERED");
        assert_eq!(transport.sent().len(), 600, "{statement} if {condition}");
        assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 0, "{statement} if {condition}");
    }
}

#[test]
fn a_row_of_an_unknown_type_delays_no_other_rows_of_its_endpoint() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    fixture.ticket_webhook("https://example.com/hook");
    fixture.queue_notifications(1);
    fixture.expand();
    Database::open_without_constraints(&fixture.path()).execute("UPDATE webhook_outbox SET type = 'ticket.eaten'", []);
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(5);
    fixture.wait_for_outbox(5, "DELIVERED");
    assert_eq!((fixture.outbox_count("WAITING"), transport.sent().len()), (1, 5));
    assert!(!fixture.service.check().expect("a check").is_clean());
}

#[test]
fn more_rows_that_cannot_be_read_than_are_claimed_at_once_delay_no_other_of_their_endpoint() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    fixture.ticket_webhook("https://example.com/hook");
    fixture.queue_notifications(300);
    fixture.database().make_unreadable("webhook_notifications", "body");
    fixture.queue_notifications(1);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
    assert_eq!(fixture.service.statistics().maintenance.skipped_rows, 300);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 0);
    assert_eq!(fixture.service.check().unwrap().counts["webhook-body"], 300);
}

#[test]
fn a_due_time_that_no_clock_shows_is_due_and_stops_no_endpoint() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    for path in ["first", "second", "third"] {
        fixture.ticket_webhook(format!("https://example.com/{path}"));
    }
    fixture.queue_notifications(2);
    let database = fixture.database();
    let endpoints: Vec<i64> = database.column("SELECT id FROM webhook_endpoints ORDER BY id");
    for (endpoint, due_at) in endpoints.iter().zip([i64::MIN, i64::MAX]) {
        database.execute("UPDATE webhook_outbox SET due_at = ?2 WHERE endpoint_id = ?1", [*endpoint, due_at]);
    }
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(6, "DELIVERED");
}

#[test]
fn an_endpoint_that_cannot_be_read_stops_neither_the_sales_nor_the_other_endpoints() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    let damaged = fixture.ticket_webhook("https://example.com/damaged").endpoint.id;
    fixture.ticket_webhook("https://example.com/fine");
    fixture.queue_notifications(1);
    fixture.expand();
    let write = |events: &str| {
        let id = database::stored_id(damaged);
        fixture.database().run(&format!("UPDATE webhook_endpoints SET events = '{events}' WHERE id = {id}"));
    };
    write("no JSON");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(2);
    fixture.wait_for_outbox(3, "DELIVERED");
    assert_eq!((transport.sent_to("/fine"), transport.sent_to("/damaged")), (3, 0));
    wait_until("it is counted", || fixture.service.statistics().maintenance.skipped_rows >= 1);
    assert!(fixture.service.check().unwrap().counts.contains_key("webhook-settings"));
    write("[\"ticket.issued\"]");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(4, "DELIVERED");
    assert_eq!(transport.sent_to("/damaged"), 1, "what was queued before the damage");
}
