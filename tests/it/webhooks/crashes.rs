//! Processes that are killed while they send. Whenever that happens, no notification is lost, and none that was
//! recorded is sent again. The child processes run this test binary for a single test, in a role.

use std::collections::HashMap;
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
use ticketing::Timestamp;
use ticketing::environment::{Clock, ManualClock, SeededEntropy, SystemClock};
use ticketing::id::WebhookId;
use ticketing::ticket::{CheckInTicket, IssueTickets};
use ticketing::webhook::{CreateWebhook, EventType, WebhookEndpoint};
use ticketing::webhook::{
    EVENT_ID_HEADER, HttpsTransport, SenderOptions, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");
const MILLISECOND: Duration = Duration::from_millis(1);

/// The error message of an attempt that was interrupted three times.
const INTERRUPTED: &str = "the sending process ended during this attempt three times";

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    match child_role().as_str() {
        "queue" => queue(),
        "send" => send_with(|_, request, timeout| local().send(request, timeout)),
        "crash after the response" => send_with(|_, request, timeout| {
            local().send(request, timeout).expect("a response");
            std::process::abort()
        }),
        "crash at the poison" => send_with(|_, request, timeout| {
            if request.url.ends_with("/poison") {
                std::process::abort()
            }
            local().send(request, timeout)
        }),
        "crash at the poison when told" => send_with(|_, request, timeout| {
            if request.url.ends_with("/poison") {
                send_to_parent("poison");
                wait_for_parent();
                std::process::abort()
            }
            local().send(request, timeout)
        }),
        other => panic!("{other}"),
    }
}

fn local() -> HttpsTransport {
    HttpsTransport::builder().allow_local(true).build().unwrap()
}

/// Waits until this process is killed, or its parent has ended.
fn wait_to_be_killed() {
    wait_for_parent();
    std::process::abort();
}

/// A clock that starts at a time of the test and runs on from there.
#[derive(Debug)]
struct RunningClock {
    start: Timestamp,
    /// The monotonic time of the start.
    started: Duration,
}

impl Clock for RunningClock {
    fn now(&self) -> Timestamp {
        self.start.saturating_add(self.monotonic() - self.started)
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

fn queue() {
    let service = database::builder(child_variable("TICKETING_TEST_FILE")).open().unwrap();
    let caller = service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let ticket_type_id = child_variable("TICKETING_TEST_TICKET_TYPE").parse().unwrap();
    let request = IssueTickets::new(ticket_type_id, crate::common::new_customer(), 10);
    service.issue_tickets(&caller, request).unwrap();
    send_to_parent("queued");
    wait_to_be_killed();
}

/// Sends with this function until it is killed.
fn send_with(
    send: impl Fn(&FakeTransport, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure>
    + Send
    + Sync
    + 'static,
) {
    let now = Timestamp::from_millis(child_variable("TICKETING_TEST_NOW").parse().unwrap()).unwrap();
    let builder = database::builder(child_variable("TICKETING_TEST_FILE"));
    let builder = match child_variable("TICKETING_TEST_CLOCK").as_str() {
        "stopped" => builder.clock(ManualClock::new(now)),
        _ => builder.clock(RunningClock { start: now, started: SystemClock.monotonic() }),
    };
    let _service = builder
        .entropy(SeededEntropy::new(now.millis().unsigned_abs()))
        .webhook_transport(FakeTransport::new(send))
        .webhook_sender(SenderOptions::default().workers(8).workers_per_endpoint(4))
        .open()
        .unwrap();
    wait_to_be_killed();
}

/// Starts a child process on the fixture's file, with a clock that stands still.
fn start(fixture: &Fixture, role: &str) -> ChildProcess {
    start_with(fixture, role, "stopped")
}

/// Starts a child process on the fixture's file, with a running clock.
fn start_with_running_clock(fixture: &Fixture, role: &str) -> ChildProcess {
    start_with(fixture, role, "running")
}

fn start_with(fixture: &Fixture, role: &str, clock: &str) -> ChildProcess {
    let mut command = child_process(CHILD, role);
    command
        .env("TICKETING_TEST_CLOCK", clock)
        .env("TICKETING_TEST_FILE", fixture.path())
        .env("TICKETING_TEST_NOW", fixture.clock.now().millis().to_string())
        .env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string())
        .env("TICKETING_TEST_TICKET_TYPE", fixture.default_ticket_type().id.to_string());
    ChildProcess::start(command)
}

fn kill(mut process: ChildProcess) {
    process.child.kill().unwrap();
    assert!(!process.finish().status.success(), "the process was killed");
}

/// Returns the number, success and error message of each attempt.
fn attempts(fixture: &Fixture, id: WebhookId) -> Vec<(i64, bool, Option<String>)> {
    let history = fixture.delivery_history(id).into_iter();
    history.map(|delivery| (delivery.attempt, delivery.success, delivery.error_message)).collect()
}

#[test]
fn rows_of_a_killed_process_are_sent_by_the_next_one_at_once() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    let mut seller = start(&fixture, "queue");
    assert_eq!(seller.next_message().as_deref(), Some("queued"));
    kill(seller);
    // The child used the system clock.
    fixture.clock.set(SystemClock.now());
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.wait_for_outbox(10, "DELIVERED");
    assert_eq!(attempts(&fixture, endpoint.id), vec![(1, true, None); 10]);
    assert_eq!(receiver.requests().len(), 10);
}

/// Asserts that the interrupted attempt is made again after its lease, within 19.5 seconds and with the same number.
#[track_caller]
fn assert_repeated(fixture: &Fixture, receiver: &WebhookReceiver, endpoint: WebhookId) {
    let [row] = <[OutboxRow; 1]>::try_from(fixture.outbox()).unwrap();
    assert!(row.is("WAITING", 0) && row.claimed, "{row:?}");
    let _sender = fixture.start_sender(SenderOptions::default());
    fixture.clock.advance(LEASE - MILLISECOND);
    sleep(POLL_TIME);
    assert_eq!(receiver.requests().len(), 1);
    fixture.clock.advance(MILLISECOND);
    wait_until("the attempt counts as interrupted", || fixture.outbox()[0].interruptions == 1);
    let delay = fixture.outbox()[0].due_at.millis() - fixture.clock.now().millis();
    assert!((0..1500).contains(&delay), "{delay}");
    fixture.clock.advance(LEASE_SPREAD);
    let row = fixture.wait_for_attempt(1);
    assert!(row.is("DELIVERED", 1), "{row:?}");
    let requests = receiver.requests();
    assert_eq!((requests.len(), row.interruptions), (2, 0));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].header(EVENT_ID_HEADER), requests[1].header(EVENT_ID_HEADER));
    assert_eq!(attempts(fixture, endpoint), [(1, true, None)]);
}

#[test]
fn an_attempt_interrupted_before_the_response_is_repeated_with_the_same_number() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Hang);
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(1);
    let sender = start(&fixture, "send");
    receiver.wait_for(1);
    kill(sender);
    assert_repeated(&fixture, &receiver, endpoint.id);
}

#[test]
fn an_attempt_interrupted_before_it_is_recorded_is_repeated_with_the_same_number() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(1);
    let mut sender = start(&fixture, "crash after the response");
    // The process ends without a message.
    assert_eq!(sender.next_message(), None);
    assert!(!sender.finish().status.success());
    assert_repeated(&fixture, &receiver, endpoint.id);
}

#[test]
fn recorded_attempts_are_not_repeated() {
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Status(500));
    fixture.ticket_webhook(receiver.url("/hook"));
    fixture.queue_notifications(20);
    let sender = start(&fixture, "send");
    fixture.wait_for_outbox(19, "DELIVERED");
    wait_until("the failure is recorded", || fixture.stored("SELECT COUNT(*) FROM webhook_deliveries") == 20);
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
fn with_repeated_kills_everything_is_delivered_and_again_only_what_a_kill_interrupted() {
    const KILLS: u64 = 8;
    // How many notifications a process gets through before its attempts hang, however late it is killed.
    const RESPONSES: usize = 30;
    // More than the processes can claim: each at most 64 at a time. So no row is interrupted for a third time, which
    // would count as a failed attempt.
    const ROWS: i64 = 1000;
    let fixture = Fixture::with_local_webhooks();
    let receiver = WebhookReceiver::start();
    let response = || MockResponse::After(Duration::from_millis(5), Box::new(MockResponse::Status(204)));
    receiver.set_default_response(MockResponse::Hang);
    let endpoint = fixture.ticket_webhook(receiver.url("/hook")).endpoint;
    fixture.queue_notifications(ROWS);
    let mut delivered = 0;
    let mut claims: HashMap<_, usize> = HashMap::new();
    for round in 0..KILLS {
        let before = receiver.requests().len();
        for _ in 0..RESPONSES {
            receiver.enqueue(response());
        }
        let sender = start_with_running_clock(&fixture, "send");
        receiver.wait_for(before + 1);
        // Each kill happens at another time, while attempts are in progress.
        sleep(Duration::from_millis(round * 7919 % 60));
        kill(sender);
        let now = fixture.outbox_count("DELIVERED");
        assert!(now >= delivered, "delivered rows stay delivered");
        delivered = now;
        assert_eq!(now + fixture.outbox_count("WAITING"), ROWS);
        for row in fixture.outbox().iter().filter(|row| row.claimed && row.is("WAITING", 0)) {
            *claims.entry(row.event_id.to_string()).or_default() += 1;
        }
        // Longer than any lease.
        fixture.clock.advance(LEASE + TIMEOUT);
    }
    receiver.set_default_response(MockResponse::Status(204));
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("everything is delivered", || {
        // Interrupted attempts are repeated at random times.
        if fixture.outbox().iter().all(|row| !row.claimed && (row.is("DELIVERED", 1) || row.interruptions > 0)) {
            fixture.clock.advance(LEASE_SPREAD);
        }
        fixture.outbox_count("DELIVERED") == ROWS
    });
    let mut attempts: HashMap<_, Vec<_>> = HashMap::new();
    for delivery in fixture.delivery_history(endpoint.id) {
        attempts.entry(delivery.outbox_id).or_default().push((delivery.attempt, delivery.success));
    }
    assert_eq!(attempts.len(), 1000);
    assert!(attempts.values().all(|attempts| *attempts == [(1, true)]), "{attempts:?}");
    let mut sent: HashMap<_, usize> = HashMap::new();
    for request in receiver.requests() {
        *sent.entry(request.header(EVENT_ID_HEADER).expect("an id").to_owned()).or_default() += 1;
    }
    assert_eq!(sent.len(), 1000);
    // A kill interrupts the attempts in progress, and loses the results that were not committed yet: both are claimed.
    for (id, times) in &sent {
        let claimed = claims.get(id).copied().unwrap_or_default();
        assert!(times - 1 <= claimed, "{id} was sent {times} times, and claimed at {claimed} kills");
    }
    let repeated: usize = sent.values().map(|times| times - 1).sum();
    eprintln!("{delivered} of {ROWS} were delivered before the last kill, {repeated} were sent again");
}

/// A healthy endpoint, and one with a waiting notification that crashes the sending process.
struct Endpoints {
    healthy: WebhookEndpoint,
    poison: WebhookEndpoint,
}

fn create_endpoints(fixture: &Fixture, healthy: &WebhookReceiver, poison: &WebhookReceiver) -> Endpoints {
    let healthy = fixture.ticket_webhook(healthy.url("/healthy")).endpoint;
    let new = CreateWebhook::new(poison.url("/poison"), [EventType::TicketCheckedIn]);
    let poison = fixture.service.create_webhook(&fixture.caller, new).expect("an endpoint").endpoint;
    let ticket = fixture.issue(fixture.default_ticket_type(), 1).pop().expect("a ticket");
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(ticket.code)).expect("an accepted scan");
    Endpoints { healthy, poison }
}

#[test]
fn a_notification_that_crashes_its_process_fails_after_the_third_time() {
    let fixture = Fixture::with_local_webhooks();
    let healthy_receiver = WebhookReceiver::start();
    let poison_receiver = WebhookReceiver::start();
    let Endpoints { healthy, poison } = create_endpoints(&fixture, &healthy_receiver, &poison_receiver);
    for crash in 1..=3 {
        let mut sender = start_with_running_clock(&fixture, "crash at the poison when told");
        assert_eq!(sender.next_message().as_deref(), Some("poison"));
        fixture.queue_notifications(1);
        fixture.wait_for_outbox(crash + 1, "DELIVERED");
        sender.send("now");
        assert!(!sender.finish().status.success());
        assert_eq!(attempts(&fixture, poison.id), []);
        fixture.clock.advance(LEASE + TIMEOUT);
    }
    // The attempt is not made for a fourth time, but counts as failed.
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("the failure is recorded", || attempts(&fixture, poison.id).len() == 1);
    let failed = &fixture.delivery_history(poison.id)[0];
    assert_eq!((failed.attempt, failed.success, failed.error_message.as_deref()), (1, false, Some(INTERRUPTED)));
    assert_eq!((failed.response_status, &failed.response_body, failed.duration_ms), (None, &None, None));
    assert_eq!(failed.created_at, fixture.clock.now());
    fixture.clock.advance(Duration::from_mins(1) - MILLISECOND);
    sleep(POLL_TIME);
    assert_eq!(poison_receiver.connections(), 0);
    fixture.clock.advance(MILLISECOND);
    poison_receiver.wait_for(1);
    fixture.wait_for_outbox(5, "DELIVERED");
    assert_eq!(attempts(&fixture, poison.id), [(1, false, Some(INTERRUPTED.to_owned())), (2, true, None)]);
    assert_eq!(attempts(&fixture, healthy.id), vec![(1, true, None); 4]);
}

#[test]
fn attempts_beside_a_notification_that_crashes_the_process_do_not_fail_with_it() {
    let fixture = Fixture::with_local_webhooks();
    let healthy_receiver = WebhookReceiver::start();
    let poison_receiver = WebhookReceiver::start();
    // The attempts of the first process are interrupted, however long it takes to reach the other notification.
    healthy_receiver.set_default_response(MockResponse::Hang);
    let Endpoints { healthy, poison } = create_endpoints(&fixture, &healthy_receiver, &poison_receiver);
    fixture.queue_notifications(2);
    for round in 1..=3 {
        let mut sender = start_with_running_clock(&fixture, "crash at the poison");
        assert_eq!(sender.next_message(), None);
        assert!(!sender.finish().status.success());
        if round == 1 {
            let claimed = fixture.outbox().iter().filter(|row| row.claimed).count();
            assert!(claimed > 1 && fixture.outbox_count("DELIVERED") == 0, "{claimed} were interrupted together");
            let slow = MockResponse::After(Duration::from_millis(20), Box::new(MockResponse::Status(204)));
            healthy_receiver.set_default_response(slow);
        }
        // Longer than any lease: the next process finds all rows due at once.
        fixture.clock.advance(LEASE + TIMEOUT);
    }
    let _sender = fixture.start_sender(SenderOptions::default());
    wait_until("the notification has failed", || attempts(&fixture, poison.id).len() == 1);
    wait_until("the interrupted attempts are postponed", || fixture.outbox().iter().all(|row| !row.claimed));
    fixture.clock.advance(LEASE_SPREAD);
    fixture.wait_for_outbox(3, "DELIVERED");
    assert_eq!(attempts(&fixture, healthy.id), vec![(1, true, None); 3]);
}
