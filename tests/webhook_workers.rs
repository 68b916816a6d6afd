//! Several senders on one file: each notification is the work of one of them, and who comes late changes nothing.

mod common;
#[path = "common/load.rs"]
mod load;
#[path = "common/receiver.rs"]
mod receiver;
#[path = "common/sending.rs"]
mod sending;

use std::collections::HashSet;
use std::time::Duration;

use load::{Running, child, role};
use receiver::Receiver;
use sending::*;
use ticketing::webhook::{EVENT_ID_HEADER, SenderOptions};
use ticketing::{Builder, Entropy, TicketingService, WebhookId};

const CHILD: &str = "a_child_process_sends";

#[test]
fn a_child_process_sends() {
    if role().is_none() {
        return;
    }
    let builder = TicketingService::builder(std::env::var("TICKETING_TEST_FILE").unwrap());
    let service = builder.allow_local_webhooks(true).webhook_sender(SenderOptions::default().workers(8)).open();
    load::say("ready");
    load::wait_for_a_word();
    drop(service);
}

#[test]
fn of_five_hundred_notifications_three_processes_with_a_sender_each_deliver_each_once() {
    const ROWS: i64 = 500;
    let office = Office::with(|builder| builder.allow_local_webhooks(true).clock(ticketing::SystemClock));
    let receiver = Receiver::start();
    let endpoints = [1, 2, 3, 4, 5].map(|number| office.endpoint(receiver.url(&format!("/{number}"))).endpoint.id);
    let start = || {
        let mut command = child(CHILD, "send");
        command.env("TICKETING_TEST_FILE", office.file());
        let mut running = Running::start(command);
        assert_eq!(running.next().as_deref(), Some("ready"));
        running
    };
    let others = [start(), start()];
    let sender = office.start(SenderOptions::default().workers(8));
    office.queue(ROWS / 5);
    office.wait_for(ROWS, "DELIVERED");
    drop(sender);
    for other in others {
        assert!(other.rest().0.success());
    }
    let by_this_process: u64 = office.service.statistics().webhooks.attempts.iter().map(|(_, number)| number).sum();
    eprintln!("{by_this_process} of {ROWS} were sent by the process that queued them");
    let requests = receiver.requests();
    let path = |head: &str| head.lines().next().expect("a line").to_owned();
    let different: HashSet<_> = requests
        .iter()
        .map(|request| (path(&request.head), request.header(EVENT_ID_HEADER).expect("an id").to_owned()))
        .collect();
    assert_eq!((requests.len(), different.len()), (500, 500));
    for endpoint in endpoints {
        let history = office.history(endpoint);
        assert_eq!(history.len(), 100);
        assert!(history.iter().all(|delivery| (delivery.attempt, delivery.success) == (1, true)));
    }
}

#[test]
fn two_senders_of_one_service_share_its_work() {
    let carrier = Carrier::delivering();
    let office = Office::by(&carrier);
    office.endpoint("https://example.com/hook");
    let (one, other) = (office.start(SenderOptions::default()), office.start(SenderOptions::default()));
    office.queue(200);
    office.wait_for(200, "DELIVERED");
    drop(one);
    office.queue(100);
    office.wait_for(300, "DELIVERED");
    drop(other);
    let different: HashSet<_> = carrier.sent().iter().map(|sent| header(sent, EVENT_ID_HEADER).to_owned()).collect();
    assert_eq!((carrier.sent().len(), different.len()), (300, 300));
    assert_eq!(office.stored("SELECT COUNT(*) FROM webhook_deliveries"), 300);
}

/// An attempt that a slow worker holds past its lease and that then fails, while a quick worker makes it again.
struct Race {
    office: Office,
    endpoint: WebhookId,
    /// The quick worker's carrier.
    quick: Carrier,
    /// How the row stood when the slow worker was through and the quick one still at it.
    between: Row,
    end: Row,
}

fn race(set_up: impl Fn(Builder) -> Builder) -> Race {
    let slow = Carrier::new(|carrier, _, _| {
        carrier.wait_at_the_gate(PATIENCE)?;
        answer(500)
    });
    let quick = Carrier::new(|carrier, _, _| carrier.wait_at_the_gate(PATIENCE));
    let office = Office::with(|builder| set_up(builder.webhook_transport(slow.clone())));
    let endpoint = office.endpoint("https://example.com/hook").endpoint.id;
    // One worker for one endpoint: the slow sender does not take up its own attempt again.
    let one = || SenderOptions::default().workers(2).workers_per_endpoint(1).throttled_workers(1);
    let slow_sender = office.start(one());
    office.queue(1);
    slow.wait_for(1);
    let other = office.beside(|builder| set_up(builder.webhook_transport(quick.clone())));
    let quick_sender = other.start_webhook_sender(one()).expect("a sender");
    office.clock.advance(LEASE);
    until("it counts as cut off", || office.outbox()[0].cuts == 1);
    office.clock.advance(SPREAD);
    quick.wait_for(1);
    slow.open_the_gate();
    // What a sender knows is written down when it ends.
    drop(slow_sender);
    let row = || office.outbox().pop().expect("a row");
    let between = row();
    quick.open_the_gate();
    drop(quick_sender);
    let end = row();
    Race { office, endpoint, quick, between, end }
}

#[test]
fn a_worker_that_comes_after_its_lease_does_not_touch_what_another_one_is_at() {
    let race = race(|builder| builder);
    assert!(race.between.is("WAITING", 0) && race.between.claimed, "{:?}", race.between);
    assert!(race.end.is("DELIVERED", 1), "{:?}", race.end);
    let history = race.office.history(race.endpoint);
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].attempt, history[0].success), (1, true));
    assert_eq!(race.quick.sent().len(), 1);
}

/// Gives the same claim to everybody.
#[derive(Debug)]
struct Monotonous;

impl Entropy for Monotonous {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

#[test]
fn control_where_all_claims_are_the_same_the_late_worker_overwrites_what_the_other_one_did() {
    let race = race(|builder| builder.entropy(Monotonous));
    // The notification was delivered, and is to be sent again.
    assert!(race.between.is("WAITING", 1) && !race.between.claimed, "{:?}", race.between);
    assert!(race.end.is("WAITING", 1), "{:?}", race.end);
    assert!(!race.office.history(race.endpoint)[0].success);
}

#[test]
fn a_success_that_comes_after_its_lease_counts_where_nobody_has_taken_the_attempt_up() {
    let carrier = Carrier::holding("/hook");
    let office = Office::by(&carrier);
    let endpoint = office.endpoint("https://example.com/hook").endpoint.id;
    let sender = office.start(SenderOptions::default().workers(2).workers_per_endpoint(1).throttled_workers(1));
    office.queue(1);
    carrier.wait_for(1);
    office.clock.advance(LEASE + Duration::from_mins(5));
    std::thread::sleep(NOTICE);
    carrier.open_the_gate();
    assert!(office.wait_for_attempt(1).is("DELIVERED", 1));
    drop(sender);
    assert_eq!((carrier.sent().len(), office.history(endpoint).len()), (1, 1));
}
