//! Several senders on one file: each notification is sent by one of them, and late results change nothing.

use std::collections::HashSet;
use std::time::Duration;

use crate::common::outbox::OutboxRow;
use crate::common::processes::{ChildProcess, child_process, child_role, send_to_parent, wait_for_parent};
use crate::common::receiver::WebhookReceiver;
use crate::common::transport::*;
use crate::common::webhooks::*;
use crate::common::*;
use ticketing::Builder;
use ticketing::environment::Entropy;
use ticketing::id::WebhookId;
use ticketing::webhook::{EVENT_ID_HEADER, SenderOptions};

const CHILD: &str = concat!(module_path!(), "::a_child_process_plays_its_role");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_plays_its_role() {
    child_role();
    let builder = database::builder(std::env::var("TICKETING_TEST_FILE").unwrap());
    let service = builder.allow_local_webhooks(true).webhook_sender(SenderOptions::default().workers(8)).open();
    send_to_parent("ready");
    wait_for_parent();
    drop(service);
}

#[test]
fn three_processes_deliver_five_hundred_notifications_once_each() {
    const ROWS: i64 = 500;
    let fixture =
        Fixture::for_sender(|builder| builder.allow_local_webhooks(true).clock(ticketing::environment::SystemClock));
    let receiver = WebhookReceiver::start();
    let endpoints =
        [1, 2, 3, 4, 5].map(|number| fixture.ticket_webhook(receiver.url(&format!("/{number}"))).endpoint.id);
    let start = || {
        let mut command = child_process(CHILD, "send");
        command.env("TICKETING_TEST_FILE", fixture.path());
        let mut process = ChildProcess::start(command);
        assert_eq!(process.next_message().as_deref(), Some("ready"));
        process
    };
    let others = [start(), start()];
    let sender = fixture.start_sender(SenderOptions::default().workers(8));
    fixture.queue_notifications(ROWS / 5);
    fixture.wait_for_outbox(ROWS, "DELIVERED");
    drop(sender);
    for other in others {
        assert!(other.finish().status.success());
    }
    let by_this_process: u64 = fixture.service.statistics().webhooks.attempts.iter().map(|(_, number)| number).sum();
    eprintln!("{by_this_process} of {ROWS} were sent by the process that queued them");
    let requests = receiver.requests();
    let path = |head: &str| head.lines().next().expect("a line").to_owned();
    let different: HashSet<_> = requests
        .iter()
        .map(|request| (path(&request.head), request.header(EVENT_ID_HEADER).expect("an id").to_owned()))
        .collect();
    assert_eq!((requests.len(), different.len()), (500, 500));
    for endpoint in endpoints {
        let history = fixture.delivery_history(endpoint);
        assert_eq!(history.len(), 100);
        assert!(history.iter().all(|delivery| (delivery.attempt, delivery.success) == (1, true)));
    }
}

#[test]
fn two_senders_of_one_service_share_its_work() {
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_transport(&transport);
    fixture.ticket_webhook("https://example.com/hook");
    let first = fixture.start_sender(SenderOptions::default());
    let second = fixture.start_sender(SenderOptions::default());
    fixture.queue_notifications(200);
    fixture.wait_for_outbox(200, "DELIVERED");
    drop(first);
    fixture.queue_notifications(100);
    fixture.wait_for_outbox(300, "DELIVERED");
    drop(second);
    let different: HashSet<_> = transport.sent().iter().map(|sent| header(sent, EVENT_ID_HEADER).to_owned()).collect();
    assert_eq!((transport.sent().len(), different.len()), (300, 300));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM webhook_deliveries"), 300);
}

/// A slow sender makes an attempt for longer than the lease, and the attempt fails. Meanwhile a fast sender repeats it.
struct Race {
    fixture: Fixture,
    endpoint: WebhookId,
    /// The transport of the fast sender.
    fast: FakeTransport,
    /// The row after the slow sender has ended, while the fast one still makes its attempt.
    between: OutboxRow,
    end: OutboxRow,
}

fn race(configure: impl Fn(Builder) -> Builder) -> Race {
    let slow = FakeTransport::new(|transport, _, _| {
        transport.block(TIMEOUT)?;
        respond(500)
    });
    let fast = FakeTransport::new(|transport, _, _| transport.block(TIMEOUT));
    let fixture = Fixture::for_sender(|builder| configure(builder.webhook_transport(slow.clone())));
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    // With one worker per endpoint, the slow sender does not repeat its own attempt.
    let options = || SenderOptions::default().workers(2).workers_per_endpoint(1).throttled_workers(1);
    let slow_sender = fixture.start_sender(options());
    fixture.queue_notifications(1);
    slow.wait_for(1);
    let other = fixture.second_service_with(|builder| configure(builder.webhook_transport(fast.clone())));
    let fast_sender = other.start_webhook_sender(options()).expect("a sender");
    fixture.clock.advance(LEASE);
    wait_until("the attempt counts as interrupted", || fixture.outbox()[0].interruptions == 1);
    fixture.clock.advance(LEASE_SPREAD);
    fast.wait_for(1);
    slow.release();
    // A sender records all results before it ends.
    drop(slow_sender);
    let row = || fixture.outbox().pop().expect("a row");
    let between = row();
    fast.release();
    drop(fast_sender);
    let end = row();
    Race { fixture, endpoint, fast, between, end }
}

#[test]
fn a_result_after_the_lease_does_not_affect_the_repeated_attempt() {
    let race = race(|builder| builder);
    assert!(race.between.is("WAITING", 0) && race.between.claimed, "{:?}", race.between);
    assert!(race.end.is("DELIVERED", 1), "{:?}", race.end);
    let history = race.fixture.delivery_history(race.endpoint);
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].attempt, history[0].success), (1, true));
    assert_eq!(race.fast.sent().len(), 1);
}

/// Makes all claim tokens equal.
#[derive(Debug)]
struct ConstantEntropy;

impl Entropy for ConstantEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

#[test]
fn control_with_equal_claim_tokens_a_late_result_overwrites_the_repeated_attempt() {
    let race = race(|builder| builder.entropy(ConstantEntropy));
    // The notification was delivered, but still waits to be sent again.
    assert!(race.between.is("WAITING", 1) && !race.between.claimed, "{:?}", race.between);
    assert!(race.end.is("WAITING", 1), "{:?}", race.end);
    assert!(!race.fixture.delivery_history(race.endpoint)[0].success);
}

#[test]
fn a_success_after_the_lease_counts_if_the_attempt_was_not_repeated() {
    let transport = FakeTransport::blocking("/hook");
    let fixture = Fixture::with_transport(&transport);
    let endpoint = fixture.ticket_webhook("https://example.com/hook").endpoint.id;
    let sender = fixture.start_sender(SenderOptions::default().workers(2).workers_per_endpoint(1).throttled_workers(1));
    fixture.queue_notifications(1);
    transport.wait_for(1);
    fixture.clock.advance(LEASE + Duration::from_mins(5));
    std::thread::sleep(POLL_TIME);
    transport.release();
    assert!(fixture.wait_for_attempt(1).is("DELIVERED", 1));
    drop(sender);
    assert_eq!((transport.sent().len(), fixture.delivery_history(endpoint).len()), (1, 1));
}
