//! Rows that cannot be read: they affect only their own endpoint, and the sender does not retry them all the time.

use std::thread::sleep;
use std::time::Duration;

use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::webhook::SenderOptions;

#[test]
fn an_endpoint_with_unreadable_rows_delays_no_other_and_is_retried_after_a_minute() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    fixture.ticket_webhook("https://example.com/damaged");
    fixture.queue_notifications(1);
    let write = |sql: &str| Database::open_without_constraints(&fixture.path()).execute(sql, []);
    // Not UTF-8.
    write("UPDATE webhook_outbox SET body = CAST(x'ff' || body AS TEXT)");
    let _sender = fixture.start_sender(SenderOptions::default().workers(2));
    fixture.ticket_webhook("https://example.com/fine");
    fixture.queue_notifications(5);
    wait_until("the other endpoint has all of its notifications", || transport.sent_to("/fine") == 5);
    sleep(POLL_TIME);
    let commits = || fixture.service.statistics().commits.done;
    let before = commits();
    sleep(Duration::from_secs(2));
    assert!(commits() - before <= 2, "{} needless commits", commits() - before);
    assert_eq!(transport.sent_to("/damaged"), 0);
    write(
        "UPDATE webhook_outbox SET body = CAST(SUBSTR(CAST(body AS BLOB), 2) AS TEXT) WHERE SUBSTR(CAST(body AS BLOB), 1, 1) = x'ff'",
    );
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(11, "DELIVERED");
}

#[test]
fn a_row_of_an_unknown_type_delays_no_other_rows_of_its_endpoint() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    fixture.ticket_webhook("https://example.com/hook");
    fixture.queue_notifications(1);
    Database::open_without_constraints(&fixture.path()).execute("UPDATE webhook_outbox SET type = 'ticket.eaten'", []);
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(5);
    fixture.wait_for_outbox(5, "DELIVERED");
    assert_eq!((fixture.outbox_count("WAITING"), transport.sent().len()), (1, 5));
    assert!(!fixture.service.check().expect("a check").is_clean());
}
