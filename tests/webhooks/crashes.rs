//! Processes that are killed while they send: whatever the instant, nothing is lost, and what was written down is not sent
//! again. The children are this same test binary, run again for one test with a part to play.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use crate::common::outbox::OutboxRow;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, wait_for_parent,
};
use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::webhook::{
    EVENT_ID_HEADER, HttpsTransport, SenderOptions, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};
use ticketing::{
    CheckInTicket, Clock, CreateWebhook, IssueTickets, ManualClock, NotificationType, SeededEntropy, SystemClock,
    TicketingService, Timestamp, WebhookEndpoint, WebhookId,
};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_part");
const MILLISECOND: Duration = Duration::from_millis(1);

/// What the history says of an attempt that was given up.
const CUT_OFF: &str = "the sending process ended during this attempt three times";

#[test]
fn a_child_process_plays_its_part() {
    match child_role().as_deref() {
        None => {}
        Some("queue") => queue(),
        Some("send") => send_with(|_, request, timeout| local().send(request, timeout)),
        Some("die after the answer") => send_with(|_, request, timeout| {
            local().send(request, timeout).expect("an answer");
            std::process::abort()
        }),
        Some("die of poison at once") => send_with(|_, request, timeout| {
            if request.url.ends_with("/poison") {
                std::process::abort()
            }
            local().send(request, timeout)
        }),
        Some("die of poison") => send_with(|_, request, timeout| {
            if request.url.ends_with("/poison") {
                send_to_parent("poison");
                wait_for_parent();
                std::process::abort()
            }
            local().send(request, timeout)
        }),
        Some(other) => panic!("{other}"),
    }
}

fn local() -> HttpsTransport {
    HttpsTransport::builder().allow_local(true).build()
}

/// Waits to be killed; where the parent went away, this process goes too.
fn wait_for_the_end() {
    wait_for_parent();
    std::process::abort();
}

/// A clock that shows this at first, and goes on from there.
#[derive(Debug)]
struct Going {
    from: Timestamp,
    since: Duration,
}

impl Clock for Going {
    fn now(&self) -> Timestamp {
        let gone = i64::try_from((self.monotonic() - self.since).as_millis()).unwrap();
        Timestamp::from_millis(self.from.millis() + gone)
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

fn queue() {
    let service = TicketingService::open(PathBuf::from(child_variable("TICKETING_TEST_FILE"))).unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let ticket_type_id = child_variable("TICKETING_TEST_SEATS").parse().unwrap();
    let request = IssueTickets { ticket_type_id, customer: crate::common::new_customer(), quantity: 10 };
    service.issue_tickets(&caller, request).unwrap();
    send_to_parent("queued");
    wait_for_the_end();
}

/// Sends until it is killed.
fn send_with(
    deed: impl Fn(&FakeTransport, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure>
    + Send
    + Sync
    + 'static,
) {
    let now = Timestamp::from_millis(child_variable("TICKETING_TEST_NOW").parse().unwrap());
    let builder = TicketingService::builder(child_variable("TICKETING_TEST_FILE"));
    let builder = match child_variable("TICKETING_TEST_CLOCK").as_str() {
        "stands" => builder.clock(ManualClock::at(now)),
        _ => builder.clock(Going { from: now, since: SystemClock.monotonic() }),
    };
    let _service = builder
        .entropy(SeededEntropy::new(now.millis().unsigned_abs()))
        .webhook_transport(FakeTransport::new(deed))
        .webhook_sender(SenderOptions::default().workers(8).workers_per_endpoint(4))
        .open()
        .unwrap();
    wait_for_the_end();
}

/// A child that plays this part with the office's file, and for which the office's time stands still.
fn start(fixture: &Fixture, part: &str) -> ChildProcess {
    start_with(fixture, part, "stands")
}

/// The same, for which time goes on.
fn start_going(fixture: &Fixture, part: &str) -> ChildProcess {
    start_with(fixture, part, "goes")
}

fn start_with(fixture: &Fixture, part: &str, clock: &str) -> ChildProcess {
    let mut command = child_process(CHILD, part);
    command
        .env("TICKETING_TEST_CLOCK", clock)
        .env("TICKETING_TEST_FILE", fixture.path())
        .env("TICKETING_TEST_NOW", fixture.clock.now().millis().to_string())
        .env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string())
        .env("TICKETING_TEST_SEATS", fixture.default_ticket_type().id.to_string());
    ChildProcess::start(command)
}

fn kill(mut running: ChildProcess) {
    running.child.kill().unwrap();
    assert!(!running.finish().0.success(), "it was killed");
}

/// The number, the success and the error message of each attempt.
fn told(fixture: &Fixture, id: WebhookId) -> Vec<(i64, bool, Option<String>)> {
    let history = fixture.delivery_history(id).into_iter();
    history.map(|delivery| (delivery.attempt, delivery.success, delivery.error_message)).collect()
}

#[test]
fn what_was_queued_is_sent_by_the_next_process_at_once() {
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    let mut seller = start(&fixture, "queue");
    assert_eq!(seller.next_message().as_deref(), Some("queued"));
    kill(seller);
    // The child had the machine's clock, and this process has one that stands still.
    fixture.clock.set(SystemClock.now());
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(10, "DELIVERED");
    assert_eq!(told(&fixture, endpoint.id), vec![(1, true, None); 10]);
    assert_eq!(receiver.requests().len(), 10);
}

/// What was cut off is made again within 19.5 seconds, but not while its lease lasts, and under the same number.
#[track_caller]
fn assert_made_again(fixture: &Fixture, receiver: &WebhookReceiver, endpoint: WebhookId) {
    let [row] = <[OutboxRow; 1]>::try_from(fixture.outbox()).unwrap();
    assert!(row.is("WAITING", 0) && row.claimed, "{row:?}");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.clock.advance(LEASE - MILLISECOND);
    sleep(POLL_TIME);
    assert_eq!(receiver.requests().len(), 1);
    fixture.clock.advance(MILLISECOND);
    wait_until("it counts as cut off", || fixture.outbox()[0].interruptions == 1);
    let again = fixture.outbox()[0].due_at.millis() - fixture.clock.now().millis();
    assert!((0..1500).contains(&again), "{again}");
    fixture.clock.advance(LEASE_SPREAD);
    let row = fixture.wait_for_attempt(1);
    assert!(row.is("DELIVERED", 1), "{row:?}");
    let requests = receiver.requests();
    assert_eq!((requests.len(), row.interruptions), (2, 0));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].header(EVENT_ID_HEADER), requests[1].header(EVENT_ID_HEADER));
    assert_eq!(told(fixture, endpoint), [(1, true, None)]);
}

#[test]
fn an_attempt_that_is_cut_off_while_the_receiver_has_it_is_made_again_under_the_same_number() {
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    receiver.enqueue(MockResponse::Hang);
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(1);
    let sender = start(&fixture, "send");
    receiver.wait_for(1);
    kill(sender);
    assert_made_again(&fixture, &receiver, endpoint.id);
}

#[test]
fn an_attempt_that_is_cut_off_between_the_answer_and_the_history_is_made_again_under_the_same_number() {
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(1);
    let mut sender = start(&fixture, "die after the answer");
    // It says nothing, and then it is gone.
    assert_eq!(sender.next_message(), None);
    assert!(!sender.finish().0.success());
    assert_made_again(&fixture, &receiver, endpoint.id);
}

#[test]
fn what_is_in_the_history_is_not_sent_again() {
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    receiver.enqueue(MockResponse::Status(500));
    fixture.ticket_webhook(receiver.url("/hook"));
    fixture.queue_notifications(20);
    let sender = start(&fixture, "send");
    fixture.wait_for_outbox(19, "DELIVERED");
    wait_until("the failure is in the history", || fixture.stored("SELECT COUNT(*) FROM webhook_deliveries") == 20);
    kill(sender);
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.clock.advance(Duration::from_secs(59));
    sleep(POLL_TIME);
    assert_eq!(receiver.requests().len(), 20);
    fixture.clock.advance(Duration::from_secs(1));
    fixture.wait_for_outbox(20, "DELIVERED");
    assert_eq!(receiver.requests().len(), 21);
}

#[test]
fn under_one_kill_after_another_everything_is_delivered_and_little_of_it_twice() {
    const ROWS: i64 = 400;
    const KILLS: u64 = 8;
    let (fixture, receiver) = (Fixture::with_local_webhooks(), WebhookReceiver::start());
    // Slow enough for all of the kills to come before the end.
    receiver.set_default_response(MockResponse::After(Duration::from_millis(5), Box::new(MockResponse::Status(204))));
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(ROWS);
    let mut delivered = 0;
    for round in 0..KILLS {
        let before = receiver.requests().len();
        let sender = start_going(&fixture, "send");
        receiver.wait_for(before + 1);
        // The instant is another one each time, and comes in the middle of the same work.
        sleep(Duration::from_millis(round * 7919 % 60));
        kill(sender);
        let now = fixture.outbox_count("DELIVERED");
        assert!(now >= delivered, "what was delivered stays delivered");
        delivered = now;
        assert_eq!(now + fixture.outbox_count("WAITING"), ROWS);
        fixture.clock.advance(LEASE + Duration::from_secs(5));
    }
    assert!(delivered < ROWS, "the last kill came too late to show anything");
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("everything is delivered", || {
        // What was cut off waits for a moment of its own.
        if fixture.outbox().iter().all(|row| !row.claimed && (row.is("DELIVERED", 1) || row.interruptions > 0)) {
            fixture.clock.advance(LEASE_SPREAD);
        }
        fixture.outbox_count("DELIVERED") == ROWS
    });
    let mut attempts: HashMap<_, Vec<_>> = HashMap::new();
    for delivery in fixture.delivery_history(endpoint.id) {
        attempts.entry(delivery.outbox_id).or_default().push((delivery.attempt, delivery.success));
    }
    assert_eq!(attempts.len(), 400);
    assert!(attempts.values().all(|attempts| *attempts == [(1, true)]), "{attempts:?}");
    let mut times: HashMap<_, usize> = HashMap::new();
    for request in receiver.requests() {
        *times.entry(request.header(EVENT_ID_HEADER).expect("an id").to_owned()).or_default() += 1;
    }
    assert_eq!(times.len(), 400);
    // A kill cuts off what its process had under way, and what ended while the latest commit was on its way.
    let again: usize = times.values().map(|times| times - 1).sum();
    assert!(again <= 8 * 8, "{again} were sent again");
    eprintln!("{delivered} of {ROWS} were delivered before the last kill, {again} were sent again");
}

/// An endpoint that is fine, and one for which a single notification waits that ends its process.
fn poisoned(fixture: &Fixture, fine: &WebhookReceiver, poison: &WebhookReceiver) -> (WebhookEndpoint, WebhookEndpoint) {
    let healthy = fixture.ticket_webhook(fine.url("/fine")).endpoint;
    let new = CreateWebhook::new(poison.url("/poison"), [NotificationType::TicketCheckedIn]);
    let poisonous = fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint").endpoint;
    let ticket = fixture.issue(fixture.default_ticket_type(), 1).pop().expect("a ticket");
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(ticket.code)).expect("inside");
    (healthy, poisonous)
}

#[test]
fn a_notification_that_ends_its_process_each_time_has_failed_after_the_third_and_the_others_go_on() {
    let fixture = Fixture::with_local_webhooks();
    let (fine, poison) = (WebhookReceiver::start(), WebhookReceiver::start());
    let (healthy, poisonous) = poisoned(&fixture, &fine, &poison);
    for cut in 1..=3 {
        let mut sender = start_going(&fixture, "die of poison");
        assert_eq!(sender.next_message().as_deref(), Some("poison"));
        fixture.queue_notifications(1);
        fixture.wait_for_outbox(cut + 1, "DELIVERED");
        sender.send("now");
        assert!(!sender.finish().0.success());
        assert_eq!(told(&fixture, poisonous.id), []);
        fixture.clock.advance(LEASE + TIMEOUT);
    }
    // It is not tried for a fourth time, but counts as failed.
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("it is in the history", || told(&fixture, poisonous.id).len() == 1);
    let failed = &fixture.delivery_history(poisonous.id)[0];
    assert_eq!((failed.attempt, failed.success, failed.error_message.as_deref()), (1, false, Some(CUT_OFF)));
    assert_eq!((failed.response_status, &failed.response_body, failed.duration_ms), (None, &None, None));
    assert_eq!(failed.created_at, fixture.clock.now());
    fixture.clock.advance(Duration::from_mins(1) - MILLISECOND);
    sleep(POLL_TIME);
    assert_eq!(poison.connections(), 0);
    fixture.clock.advance(MILLISECOND);
    poison.wait_for(1);
    fixture.wait_for_outbox(5, "DELIVERED");
    assert_eq!(told(&fixture, poisonous.id), [(1, false, Some(CUT_OFF.to_owned())), (2, true, None)]);
    assert_eq!(told(&fixture, healthy.id), vec![(1, true, None); 4]);
}

#[test]
fn what_was_on_its_way_beside_a_notification_that_ends_its_process_does_not_share_its_fate() {
    let fixture = Fixture::with_local_webhooks();
    let (fine, poison) = (WebhookReceiver::start(), WebhookReceiver::start());
    fine.set_default_response(MockResponse::After(Duration::from_millis(20), Box::new(MockResponse::Status(204))));
    let (healthy, poisonous) = poisoned(&fixture, &fine, &poison);
    fixture.queue_notifications(2);
    for round in 1..=3 {
        let mut sender = start_going(&fixture, "die of poison at once");
        assert_eq!(sender.next_message(), None);
        assert!(!sender.finish().0.success());
        if round == 1 {
            let claimed = fixture.outbox().iter().filter(|row| row.claimed).count();
            assert!(claimed > 1 && fixture.outbox_count("DELIVERED") == 0, "{claimed} were cut off together");
        }
        // Longer than any lease that began meanwhile: the next process finds everything due at once.
        fixture.clock.advance(LEASE + TIMEOUT);
    }
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("the notification has failed", || told(&fixture, poisonous.id).len() == 1);
    sleep(POLL_TIME);
    fixture.clock.advance(LEASE_SPREAD);
    fixture.wait_for_outbox(3, "DELIVERED");
    assert_eq!(told(&fixture, healthy.id), vec![(1, true, None); 3]);
}
