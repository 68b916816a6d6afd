//! Notifications for many endpoints: the sender inserts their rows in batches, and sends them.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, wait_for_parent};
use crate::common::transport::*;
use crate::common::webhooks::wait_until;
use crate::common::*;
use ticketing::webhook::{EVENT_ID_HEADER, SenderOptions};

fn create_endpoints(fixture: &Fixture, number: usize) {
    for name in 0..number {
        fixture.ticket_webhook(format!("https://example.com/{name}/"));
    }
}

/// The URL and the id of every notification that was sent.
fn sent(transport: &FakeTransport) -> BTreeSet<(String, String)> {
    let key = |sent: &ticketing::webhook::WebhookRequest| (sent.url.clone(), header(sent, EVENT_ID_HEADER).to_owned());
    transport.sent().iter().map(key).collect()
}

#[test]
fn the_senders_of_two_services_send_every_notification_once() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 60);
    let other = fixture.second_service_with(|builder| builder.webhook_transport(transport.clone()));
    // The first ones were queued before the senders start, and the others while they run.
    fixture.issue(fixture.default_ticket_type(), 10);
    assert_eq!(fixture.stored_notifications(), 10);
    let _senders =
        [&fixture.service, &other].map(|service| service.start_webhook_sender(SenderOptions::default()).unwrap());
    for _ in 0..4 {
        fixture.issue(fixture.default_ticket_type(), 10);
    }
    fixture.wait_for_outbox(60 * 50, "DELIVERED");
    assert_eq!((sent(&transport).len(), transport.sent().len()), (60 * 50, 60 * 50));
    assert_eq!((fixture.stored_notifications(), fixture.outbox_count("WAITING")), (0, 0));
}

#[test]
fn a_sender_that_always_has_results_to_record_expands_notifications() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 20);
    fixture.queue_notifications(500);
    fixture.expand();
    create_endpoints(&fixture, 60);
    fixture.issue(fixture.default_ticket_type(), 10);
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("they are expanded", || fixture.stored_notifications() == 0);
    let waiting = fixture.outbox_count("WAITING");
    assert!(waiting > 20 * 500 / 2, "{waiting} wait");
}

#[test]
fn very_many_notifications_of_one_organization_do_not_delay_those_of_another() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 20);
    fixture.issue(fixture.default_ticket_type(), 1);
    // 200,000 rows are to be inserted for copies of it.
    let copy = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO webhook_notifications (id, body, outbox_rows, organization_id, type)
        SELECT w.id - i, body, 1, organization_id, type FROM n, webhook_notifications w";
    fixture.database().execute(copy, [10_000]);
    fixture.skip_final_check();
    let other = fixture.other_organization();
    let new =
        ticketing::webhook::CreateWebhook::new("https://other.example/", [ticketing::webhook::EventType::TicketIssued]);
    fixture.service.create_webhook(&other, new).expect("an endpoint");
    let event = fixture.service.create_event(&other, new_event(|_| {})).expect("an event");
    let seat = ticketing::ticket_type::CreateTicketType::new("Seat", eur(0), 10);
    let seat = fixture.service.create_ticket_type(&other, event.id, seat).expect("a ticket type");
    let _sender = fixture.start_sender(SenderOptions::default());
    for tickets in 1..4 {
        let request = ticketing::ticket::IssueTickets::new(seat.id, new_customer(), 1);
        fixture.service.issue_tickets(&other, request).expect("a ticket");
        wait_until("it is sent", || transport.sent_to("//other.example/") == tickets);
    }
    let left = fixture.stored_notifications();
    assert!(left > 1000, "{left} are left: the others went first");
}

#[test]
fn notifications_that_cannot_be_expanded_delay_no_others() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 60);
    fixture.issue(fixture.default_ticket_type(), 10);
    let rows = "new.type = 'ticket.issued'";
    fixture.database().refuse("damage", "BEFORE INSERT ON webhook_outbox", rows);
    fixture.webhook([ticketing::webhook::EventType::OrderCancelled]);
    let order = fixture.order(&fixture.new_ticket_type(1250, 10), 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(1, "DELIVERED");
    wait_until("they are skipped", || fixture.service.statistics().maintenance.skipped_rows == 1);
    assert_eq!(fixture.stored_notifications(), 10);
    fixture.database().end_trigger("damage");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(60 * 10 + 1, "DELIVERED");
    assert_eq!((sent(&transport).len(), transport.sent().len()), (60 * 10 + 1, 60 * 10 + 1));
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_inserts_rows_until_it_is_killed");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_inserts_rows_until_it_is_killed() {
    child_role();
    let builder = database::builder(child_variable("TICKETING_TEST_FILE"));
    let builder = builder.webhook_transport(FakeTransport::succeeding()).webhook_sender(SenderOptions::default());
    let _service = builder.open().expect("a service");
    wait_for_parent();
    std::process::abort();
}

#[test]
fn with_repeated_kills_of_two_processes_every_row_is_inserted_once() {
    const ENDPOINTS: usize = 90;
    let fixture = Fixture::with_transport(&FakeTransport::succeeding());
    create_endpoints(&fixture, ENDPOINTS);
    let mut expected = 0;
    let mut queue = |notifications| {
        fixture.queue_notifications(notifications);
        expected += 90 * notifications;
        expected
    };
    queue(200);
    // Their rows are inserted all the same, and nothing is sent.
    fixture.database().refuse("no_attempt", "BEFORE UPDATE ON webhook_outbox", "new.claim IS NOT NULL");
    let rows = || fixture.stored("SELECT COUNT(*) FROM webhook_outbox");
    let mut unfinished = 0;
    // On a fast machine, more than one process may insert everything before it is killed.
    for round in 0..50 {
        let before = rows();
        let children = [(); 2].map(|()| {
            let mut command = child_process(CHILD, "insert");
            command.env("TICKETING_TEST_FILE", fixture.path());
            ChildProcess::start(command)
        });
        wait_until("rows are inserted", || rows() > before);
        // Each kill happens at another time.
        sleep(Duration::from_millis(round * 7919 % 60));
        for mut child in children {
            child.child.kill().expect("killed");
            assert!(!child.finish().status.success(), "the process was killed");
        }
        if fixture.stored_notifications() > 0 {
            unfinished += 1;
        }
        if unfinished == 4 {
            break;
        }
        queue(100);
    }
    assert!(unfinished >= 2, "all rows were inserted before nearly every kill");
    let expected = queue(0);
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("all rows are inserted", || fixture.stored_notifications() == 0);
    let different = "SELECT COUNT(*) FROM (SELECT DISTINCT endpoint_id, event_id FROM webhook_outbox) rows";
    assert_eq!((rows(), fixture.stored(different)), (expected, expected));
    fixture.database().end_trigger("no_attempt");
}
