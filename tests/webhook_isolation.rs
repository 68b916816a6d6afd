//! Who has to wait for whom: nobody for a receiver that hangs, however much waits for it and however many such there are.

mod common;
#[path = "common/receiver.rs"]
mod receiver;
#[path = "common/sending.rs"]
mod sending;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use receiver::{Answer, Receiver};
use sending::*;
use ticketing::webhook::{FailureKind, SenderOptions, WebhookSender};
use ticketing::{
    Clock, CreateTicketType, CreateWebhook, IssueTickets, ListWebhookDeliveries, NotificationType, SystemClock,
    WebhookId,
};

/// Has a healthy endpoint show that it is one, while nobody else wants anything.
fn proven(office: &Office, url: &str) -> WebhookId {
    let endpoint = office.endpoint(url).endpoint.id;
    office.queue(1);
    until("the healthy one has had its first", || office.history(endpoint).len() == 1);
    endpoint
}

/// One common queue: everybody may hold every worker.
fn common_queue(workers: usize) -> SenderOptions {
    SenderOptions::default().workers(workers).workers_per_endpoint(workers).throttled_workers(workers)
}

/// A healthy endpoint, and one that hangs for which many rows wait.
struct Behind {
    office: Office,
    carrier: Carrier,
    healthy: WebhookId,
    /// How many attempts at the one that hangs had ended, at each attempt at the healthy one.
    ended: Arc<Mutex<Vec<usize>>>,
}

/// As many attempts hang as may; what is queued now has to do with the workers that are left.
fn behind_one_that_hangs(options: SenderOptions, rows: i64, hanging: usize) -> (Behind, WebhookSender) {
    let (through, ended) = (AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    let carrier = Carrier::new({
        let ended = Arc::clone(&ended);
        move |carrier, request, timeout| {
            if request.url.ends_with("/hanging") {
                let result = carrier.wait_at_the_gate(timeout);
                through.fetch_add(1, Ordering::SeqCst);
                return result;
            }
            ended.lock().expect("no panic").push(through.load(Ordering::SeqCst));
            answer(204)
        }
    });
    let office = Office::by(&carrier);
    let sender = office.start(options);
    let healthy = proven(&office, "https://example.com/healthy");
    office.endpoint("https://example.com/hanging");
    office.enable(healthy, false);
    office.queue(rows);
    office.enable(healthy, true);
    until("the hanging one holds its share", || carrier.sent_to("/hanging") == hanging);
    (Behind { office, carrier, healthy, ended }, sender)
}

#[test]
fn a_healthy_endpoint_does_not_wait_for_two_thousand_rows_of_one_that_hangs() {
    let options = SenderOptions::default().workers(8).workers_per_endpoint(2);
    let (Behind { office, carrier, healthy, ended }, sender) = behind_one_that_hangs(options, 2000, 2);
    office.queue(50);
    until("the healthy one has got all", || office.history(healthy).len() == 51);
    // Not one of the attempts that hang had ended.
    assert_eq!(*ended.lock().expect("no panic"), [0; 51]);
    assert_eq!((carrier.sent_to("/hanging"), office.number("DELIVERED")), (2, 51));
    carrier.open_the_gate();
    until("the other one gets some of its own", || carrier.sent_to("/hanging") > 100);
    drop(sender);
}

#[test]
fn control_in_one_common_queue_a_healthy_endpoint_waits_for_a_timeout_of_the_one_that_hangs() {
    // Long enough for all of them to hang before the first one ends.
    let options = common_queue(8).attempt_timeout(Duration::from_secs(4));
    let (Behind { office, healthy, ended, .. }, _sender) = behind_one_that_hangs(options, 40, 8);
    office.queue(1);
    until("the healthy one has got it", || office.history(healthy).len() == 2);
    // A worker was free for it only after one of those that hung had used up its time.
    let ended = ended.lock().expect("no panic").clone();
    assert!(ended[0] == 0 && ended[1] > 0, "{ended:?}");
}

/// How long each of `number` notifications took to reach a healthy receiver beside `dribbling` that answer byte by byte
/// and hold `share` workers.
fn beside_dribbling(options: SenderOptions, dribbling: usize, share: usize, number: usize) -> Vec<Duration> {
    let (healthy, slow) = (Receiver::start(), Receiver::start());
    let head = format!("HTTP/1.1 200 OK\r\nX-Filler: {}\r\n\r\n", "x".repeat(1000)).into_bytes();
    slow.otherwise(Answer::Dribble(head, Duration::from_millis(20)));
    let office = Office::over_http();
    let _sender = office.start(options);
    let endpoint = proven(&office, &healthy.url("/hook"));
    office.register(dribbling, &slow.url("/"));
    office.queue(1);
    slow.wait_for(share);
    (0..number)
        .map(|number| {
            let began = SystemClock.monotonic();
            // Only the healthy one hears of this.
            let delivery = office.history(endpoint)[0].id;
            office.service.resend_webhook_delivery(&office.caller, endpoint, delivery).expect("resent");
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
    let carrier = Carrier::new({
        let hang = Arc::clone(&hang);
        move |carrier, request, timeout| match request.url.contains("/hanging") {
            true if hang.fetch_add(1, Ordering::SeqCst) < 100 => Err(failure(FailureKind::TimedOut, "timed out")),
            true => carrier.wait_at_the_gate(timeout),
            false => answer(204),
        }
    });
    let office = Office::by(&carrier);
    office.register(100, "https://example.com/hanging/");
    let sender = office.start(SenderOptions::default().workers(16));
    office.queue(1);
    until("each is known to hang", || office.stored("SELECT COUNT(*) FROM webhook_deliveries") == 100);
    office.clock.advance(Duration::from_mins(1));
    // Of the eight that are held back, six at most are for those that are known to hang.
    until("they hold their share", || carrier.sent_to("/hanging") == 106);
    let new = [1, 2, 3].map(|number| office.endpoint(format!("https://example.com/new/{number}")).endpoint.id);
    office.queue(1);
    until("the new ones have got theirs", || new.iter().all(|id| office.history(*id).len() == 1));
    assert_eq!(carrier.sent_to("/hanging"), 106, "none that hangs has ended");
    until("the statistics tell of the hundred", || office.service.statistics().webhooks.held_back == 100);
    drop(sender);
}

/// How many attempts at `crowd` new endpoints that hang were begun before a new one that answers had its first, where that
/// is another organization's, or the same one's.
fn begun_before_the_first(crowd: usize, of_another: bool) -> usize {
    let (begun, before) = (AtomicUsize::new(0), Arc::new(Mutex::new(None)));
    let carrier = Carrier::new({
        let before = Arc::clone(&before);
        move |carrier, request, timeout| {
            if request.url.contains("/hanging") {
                begun.fetch_add(1, Ordering::SeqCst);
                return carrier.wait_at_the_gate(timeout);
            }
            before.lock().expect("no panic").get_or_insert(begun.load(Ordering::SeqCst));
            answer(204)
        }
    });
    let office = Office::by(&carrier);
    office.register(crowd, "https://example.com/hanging/");
    let caller = if of_another { office.stranger() } else { office.caller.clone() };
    let url = CreateWebhook::new("https://example.com/new", [NotificationType::TicketIssued]);
    let new = office.service.create_webhook(&caller, url).expect("an endpoint").endpoint.id;
    office.queue(1);
    if of_another {
        let event = office.service.create_event(&caller, common::new_event(|_| {})).expect("an event");
        let seat = CreateTicketType::new("Seat", common::eur(0), 1);
        let seat = office.service.create_ticket_type(&caller, event.id, seat).expect("a ticket type");
        let issue = IssueTickets { ticket_type_id: seat.id, customer: common::ada(), quantity: 1 };
        office.service.issue_tickets(&caller, issue).expect("issued");
    }
    // Four of the workers are for those that nobody knows.
    let sender = office.start(SenderOptions::default().workers(8).attempt_timeout(Duration::from_millis(200)));
    let told = || {
        let history = office.service.list_webhook_deliveries(&caller, new, ListWebhookDeliveries::default());
        !history.expect("a history").data.is_empty()
    };
    until("the new one has had its first", told);
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
