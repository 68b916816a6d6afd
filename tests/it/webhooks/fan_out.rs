//! Many notifications for many endpoints: the sender inserts their rows in batches, and sends them.

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

fn fan_outs(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_fan_outs")
}

#[test]
fn the_senders_of_two_services_send_every_notification_once() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 60);
    let other = fixture.second_service_with(|builder| builder.webhook_transport(transport.clone()));
    // The first ones were queued before the senders start, and the others while they run.
    fixture.issue(fixture.default_ticket_type(), 10);
    assert_eq!(fan_outs(&fixture), 1);
    let _senders =
        [&fixture.service, &other].map(|service| service.start_webhook_sender(SenderOptions::default()).unwrap());
    for _ in 0..4 {
        fixture.issue(fixture.default_ticket_type(), 10);
    }
    fixture.wait_for_outbox(60 * 50, "DELIVERED");
    assert_eq!((sent(&transport).len(), transport.sent().len()), (60 * 50, 60 * 50));
    assert_eq!((fan_outs(&fixture), fixture.outbox_count("WAITING")), (0, 0));
}

#[test]
fn a_sender_that_always_has_results_to_record_inserts_the_rows_of_a_fan_out() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 20);
    fixture.queue_notifications(500);
    assert_eq!((fan_outs(&fixture), fixture.outbox_count("WAITING")), (0, 20 * 500));
    create_endpoints(&fixture, 60);
    fixture.issue(fixture.default_ticket_type(), 10);
    assert_eq!(fan_outs(&fixture), 1);
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("the rows of the fan-out are inserted", || fan_outs(&fixture) == 0);
    let waiting = fixture.outbox_count("WAITING");
    assert!(waiting > 20 * 500 / 2, "{waiting} wait");
}

#[test]
fn a_fan_out_that_cannot_be_continued_delays_no_other_notifications() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    create_endpoints(&fixture, 60);
    fixture.issue(fixture.default_ticket_type(), 10);
    fixture.issue(fixture.default_ticket_type(), 5);
    // The rows of the first one violate a constraint.
    let is_of_first = "new.event_id = (SELECT MIN(event_id) FROM webhook_outbox)";
    fixture.database().refuse("damage", "BEFORE INSERT ON webhook_outbox", is_of_first);
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(10 + 60 * 5, "DELIVERED");
    assert_eq!(fan_outs(&fixture), 1);
    fixture.database().end_trigger("damage");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(60 * 15, "DELIVERED");
    assert_eq!((sent(&transport).len(), transport.sent().len()), (60 * 15, 60 * 15));
}

#[test]
fn fan_outs_that_cannot_be_found_delay_no_other_notifications() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.skip_final_check();
    create_endpoints(&fixture, 1);
    fixture.queue_notifications(3);
    fixture.database().run("DROP TABLE webhook_fan_outs");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(3, "DELIVERED");
    fixture.queue_notifications(2);
    fixture.wait_for_outbox(5, "DELIVERED");
}

#[test]
fn an_endpoint_that_cannot_be_read_delays_no_other_endpoint_of_its_organization() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    create_endpoints(&fixture, 60);
    fixture.queue_notifications(10);
    let set = |generations: &str| {
        let sql = "UPDATE webhook_endpoints SET generations = ?1 WHERE url = 'https://example.com/30/'";
        assert_eq!(fixture.database().execute(sql, [generations]), 1);
    };
    set("damaged");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(59 * 10, "DELIVERED");
    assert_eq!(transport.sent_to("/30/"), 0);
    set("{}");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.wait_for_outbox(60 * 10, "DELIVERED");
    assert_eq!((sent(&transport).len(), transport.sent().len()), (60 * 10, 60 * 10));
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
    let set_enabled = |enabled: i64| fixture.database().execute("UPDATE webhook_endpoints SET enabled = ?1", [enabled]);
    set_enabled(0);
    let rows = || fixture.outbox_count("WAITING");
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
        if fan_outs(&fixture) > 0 {
            unfinished += 1;
        }
        if unfinished == 4 {
            break;
        }
        set_enabled(1);
        queue(100);
        set_enabled(0);
    }
    assert!(unfinished >= 2, "all rows were inserted before nearly every kill");
    let expected = queue(0);
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("all rows are inserted", || fan_outs(&fixture) == 0);
    let different = "SELECT COUNT(*) FROM (SELECT DISTINCT endpoint_id, event_id FROM webhook_outbox) rows";
    assert_eq!((rows(), fixture.stored(different)), (expected, expected));
}
