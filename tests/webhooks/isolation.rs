//! Who has to wait for whom: nobody for a receiver that hangs, however much waits for it and however many such there are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::webhook::{FailureKind, SenderOptions, WebhookSender};
use ticketing::{
    Clock, CreateTicketType, CreateWebhook, IssueTickets, ListWebhookDeliveries, NotificationType, SystemClock,
    WebhookId,
};

/// Has a healthy endpoint show that it is one, while nobody else wants anything.
fn proven(fixture: &Fixture, url: &str) -> WebhookId {
    let endpoint = fixture.ticket_webhook(url).endpoint.id;
    fixture.queue_notifications(1);
    wait_until("the healthy one has had its first", || fixture.delivery_history(endpoint).len() == 1);
    endpoint
}

/// One common queue: everybody may hold every worker.
fn common_queue(workers: usize) -> SenderOptions {
    SenderOptions::default().workers(workers).workers_per_endpoint(workers).throttled_workers(workers)
}

/// A healthy endpoint, and one that hangs for which many rows wait.
struct Behind {
    fixture: Fixture,
    transport: FakeTransport,
    healthy: WebhookId,
    /// How many attempts at the one that hangs had ended, at each attempt at the healthy one.
    ended: Arc<Mutex<Vec<usize>>>,
}

/// As many attempts hang as may; what is queued now has to do with the workers that are left.
fn behind_one_that_hangs(options: SenderOptions, rows: i64, hanging: usize) -> (Behind, WebhookSender) {
    let (through, ended) = (AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    let transport = FakeTransport::new({
        let ended = Arc::clone(&ended);
        move |transport, request, timeout| {
            if request.url.ends_with("/hanging") {
                let result = transport.block(timeout);
                through.fetch_add(1, Ordering::SeqCst);
                return result;
            }
            ended.lock().expect("no panic").push(through.load(Ordering::SeqCst));
            respond(204)
        }
    });
    let fixture = Fixture::with_transport(&transport);
    let sender = fixture.start_sender(options);
    let healthy = proven(&fixture, "https://example.com/healthy");
    fixture.ticket_webhook("https://example.com/hanging");
    fixture.set_webhook_enabled(healthy, false);
    fixture.queue_notifications(rows);
    fixture.set_webhook_enabled(healthy, true);
    wait_until("the hanging one holds its share", || transport.sent_to("/hanging") == hanging);
    (Behind { fixture, transport, healthy, ended }, sender)
}

#[test]
fn a_healthy_endpoint_does_not_wait_for_two_thousand_rows_of_one_that_hangs() {
    let options = SenderOptions::default().workers(8).workers_per_endpoint(2);
    let (Behind { fixture, transport, healthy, ended }, sender) = behind_one_that_hangs(options, 2000, 2);
    fixture.queue_notifications(50);
    wait_until("the healthy one has got all", || fixture.delivery_history(healthy).len() == 51);
    // Not one of the attempts that hang had ended.
    assert_eq!(*ended.lock().expect("no panic"), [0; 51]);
    assert_eq!((transport.sent_to("/hanging"), fixture.outbox_count("DELIVERED")), (2, 51));
    transport.release();
    wait_until("the other one gets some of its own", || transport.sent_to("/hanging") > 100);
    drop(sender);
}

#[test]
fn control_in_one_common_queue_a_healthy_endpoint_waits_for_a_timeout_of_the_one_that_hangs() {
    // Long enough for all of them to hang before the first one ends.
    let options = common_queue(8).attempt_timeout(Duration::from_secs(4));
    let (Behind { fixture, healthy, ended, .. }, _sender) = behind_one_that_hangs(options, 40, 8);
    fixture.queue_notifications(1);
    wait_until("the healthy one has got it", || fixture.delivery_history(healthy).len() == 2);
    // A worker was free for it only after one of those that hung had used up its time.
    let ended = ended.lock().expect("no panic").clone();
    assert!(ended[0] == 0 && ended[1] > 0, "{ended:?}");
}

/// How long each of `number` notifications took to reach a healthy receiver beside `dribbling` that answer byte by byte
/// and hold `share` workers.
fn beside_dribbling(options: SenderOptions, dribbling: usize, share: usize, number: usize) -> Vec<Duration> {
    let (healthy, slow) = (WebhookReceiver::start(), WebhookReceiver::start());
    let head = format!("HTTP/1.1 200 OK\r\nX-Filler: {}\r\n\r\n", "x".repeat(1000)).into_bytes();
    slow.set_default_response(MockResponse::Dribble(head, Duration::from_millis(20)));
    let fixture = Fixture::with_local_webhooks();
    let _sender = fixture.start_sender(options);
    let endpoint = proven(&fixture, &healthy.url("/hook"));
    fixture.insert_ticket_webhooks(dribbling, &slow.url("/"));
    fixture.queue_notifications(1);
    slow.wait_for(share);
    (0..number)
        .map(|number| {
            let began = SystemClock.monotonic();
            // Only the healthy one hears of this.
            let delivery = fixture.delivery_history(endpoint)[0].id;
            fixture.service.resend_webhook_delivery(&fixture.caller, endpoint, delivery).expect("resent");
            healthy.wait_for(3 + number);
            let took = SystemClock.monotonic() - began;
            std::thread::sleep(Duration::from_millis(100));
            took
        })
        .collect()
}

#[test]
fn a_healthy_endpoint_does_not_wait_for_seven_hundred_that_answer_byte_by_byte() {
    // The eight workers that they may hold have work for a minute and a half.
    let options = SenderOptions::default().workers(16).attempt_timeout(Duration::from_secs(1));
    let mut waits = beside_dribbling(options, 700, 8, 20);
    waits.sort();
    eprintln!("beside 700 that dribble: median {:?}, longest {:?}", waits[10], waits[19]);
    assert!(waits[10] < Duration::from_secs(1), "{waits:?}");
}

#[test]
fn control_in_one_common_queue_a_healthy_endpoint_waits_for_those_that_answer_byte_by_byte() {
    const TIMEOUT: Duration = Duration::from_secs(3);
    let waits = beside_dribbling(common_queue(4).attempt_timeout(TIMEOUT), 100, 4, 1);
    // All four workers had just been taken.
    assert!(waits[0] > TIMEOUT / 2, "{waits:?}");
}

#[test]
fn a_new_endpoint_does_not_wait_for_a_hundred_that_are_known_to_hang() {
    let hang = Arc::new(AtomicUsize::new(0));
    let transport = FakeTransport::new({
        let hang = Arc::clone(&hang);
        move |transport, request, timeout| match request.url.contains("/hanging") {
            true if hang.fetch_add(1, Ordering::SeqCst) < 100 => Err(failure(FailureKind::TimedOut, "timed out")),
            true => transport.block(timeout),
            false => respond(204),
        }
    });
    let fixture = Fixture::with_transport(&transport);
    fixture.insert_ticket_webhooks(100, "https://example.com/hanging/");
    let sender = fixture.start_sender(SenderOptions::default().workers(16));
    fixture.queue_notifications(1);
    wait_until("each is known to hang", || fixture.stored("SELECT COUNT(*) FROM webhook_deliveries") == 100);
    fixture.clock.advance(Duration::from_mins(1));
    // Of the eight that are held back, six at most are for those that are known to hang.
    wait_until("they hold their share", || transport.sent_to("/hanging") == 106);
    let new = [1, 2, 3].map(|number| fixture.ticket_webhook(format!("https://example.com/new/{number}")).endpoint.id);
    fixture.queue_notifications(1);
    wait_until("the new ones have got theirs", || new.iter().all(|id| fixture.delivery_history(*id).len() == 1));
    assert_eq!(transport.sent_to("/hanging"), 106, "none that hangs has ended");
    wait_until("the statistics tell of the hundred", || fixture.service.statistics().webhooks.throttled == 100);
    drop(sender);
}

/// How many attempts at `crowd` new endpoints that hang were begun before a new one that answers had its first, where that
/// is another organization's, or the same one's.
fn begun_before_the_first(crowd: usize, of_another: bool) -> usize {
    let (begun, before) = (AtomicUsize::new(0), Arc::new(Mutex::new(None)));
    let transport = FakeTransport::new({
        let before = Arc::clone(&before);
        move |transport, request, timeout| {
            if request.url.contains("/hanging") {
                begun.fetch_add(1, Ordering::SeqCst);
                return transport.block(timeout);
            }
            before.lock().expect("no panic").get_or_insert(begun.load(Ordering::SeqCst));
            respond(204)
        }
    });
    let fixture = Fixture::with_transport(&transport);
    fixture.insert_ticket_webhooks(crowd, "https://example.com/hanging/");
    let caller = if of_another { fixture.other_organization() } else { fixture.caller.clone() };
    let url = CreateWebhook::new("https://example.com/new", [NotificationType::TicketIssued]);
    let new = fixture.service.create_webhook(&caller, url).expect("an endpoint").endpoint.id;
    fixture.queue_notifications(1);
    if of_another {
        let event = fixture.service.create_event(&caller, crate::common::new_event(|_| {})).expect("an event");
        let seat = CreateTicketType::new("Seat", crate::common::eur(0), 1);
        let seat = fixture.service.create_ticket_type(&caller, event.id, seat).expect("a ticket type");
        let issue = IssueTickets { ticket_type_id: seat.id, customer: crate::common::new_customer(), quantity: 1 };
        fixture.service.issue_tickets(&caller, issue).expect("issued");
    }
    // Four of the workers are for those that nobody knows.
    let sender = fixture.start_sender(SenderOptions::default().workers(8).attempt_timeout(Duration::from_millis(200)));
    let told = || {
        let history = fixture.service.list_webhook_deliveries(&caller, new, ListWebhookDeliveries::default());
        !history.expect("a history").data.is_empty()
    };
    wait_until("the new one has had its first", told);
    drop(sender);
    before.lock().expect("no panic").expect("it was sent")
}

#[test]
fn a_hundred_new_endpoints_that_hang_keep_nobody_waiting_in_another_organization() {
    let begun = begun_before_the_first(100, true);
    assert!(begun <= 8, "{begun}: more than two rounds of the four workers");
}

#[test]
fn control_within_one_organization_a_new_endpoint_waits_for_those_that_came_before_it() {
    let begun = begun_before_the_first(100, false);
    assert!(begun >= 96, "{begun}");
}
