//! Processes that are killed while they send: whatever the instant, nothing is lost, and what was written down is not sent
//! again. The children are this same test binary, run again for one test with a part to play.

mod common;
#[path = "common/load.rs"]
mod load;
#[path = "common/receiver.rs"]
mod receiver;
#[path = "common/sending.rs"]
mod sending;

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use load::{Running, child, role, say, wait_for_a_word};
use receiver::{Answer, Receiver};
use sending::*;
use ticketing::webhook::{
    EVENT_ID_HEADER, HttpsTransport, SenderOptions, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};
use ticketing::{
    CheckInTicket, Clock, CreateWebhook, IssueTickets, ManualClock, NotificationType, SeededEntropy, SystemClock,
    TicketingService, Timestamp, WebhookEndpoint, WebhookId,
};

const CHILD: &str = "a_child_process_plays_its_part";
const MILLISECOND: Duration = Duration::from_millis(1);

/// What the history says of an attempt that was given up.
const CUT_OFF: &str = "the attempt was cut off three times by the end of the program that made it";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

#[test]
fn a_child_process_plays_its_part() {
    match role().as_deref() {
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
                say("poison");
                wait_for_a_word();
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
    wait_for_a_word();
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
    let service = TicketingService::open(PathBuf::from(variable("TICKETING_TEST_FILE"))).unwrap();
    let caller = service.act_for(variable("TICKETING_TEST_ORGANIZATION").parse().unwrap()).unwrap();
    let ticket_type_id = variable("TICKETING_TEST_SEATS").parse().unwrap();
    let request = IssueTickets { ticket_type_id, customer: common::ada(), quantity: 10 };
    service.issue_tickets(&caller, request).unwrap();
    say("queued");
    wait_for_the_end();
}

/// Sends until it is killed.
fn send_with(
    deed: impl Fn(&Carrier, &WebhookRequest, Duration) -> Result<WebhookResponse, WebhookFailure> + Send + Sync + 'static,
) {
    let now = Timestamp::from_millis(variable("TICKETING_TEST_NOW").parse().unwrap());
    let builder = TicketingService::builder(variable("TICKETING_TEST_FILE"));
    let builder = match variable("TICKETING_TEST_CLOCK").as_str() {
        "stands" => builder.clock(ManualClock::at(now)),
        _ => builder.clock(Going { from: now, since: SystemClock.monotonic() }),
    };
    let _service = builder
        .entropy(SeededEntropy::new(now.millis().unsigned_abs()))
        .webhook_transport(Carrier::new(deed))
        .webhook_sender(SenderOptions::default().workers(8).workers_per_endpoint(4))
        .open()
        .unwrap();
    wait_for_the_end();
}

/// A child that plays this part with the office's file, and for which the office's time stands still.
fn start(office: &Office, part: &str) -> Running {
    start_with(office, part, "stands")
}

/// The same, for which time goes on.
fn start_going(office: &Office, part: &str) -> Running {
    start_with(office, part, "goes")
}

fn start_with(office: &Office, part: &str, clock: &str) -> Running {
    let mut command = child(CHILD, part);
    command
        .env("TICKETING_TEST_CLOCK", clock)
        .env("TICKETING_TEST_FILE", office.file())
        .env("TICKETING_TEST_NOW", office.clock.now().millis().to_string())
        .env("TICKETING_TEST_ORGANIZATION", office.caller.organization().to_string())
        .env("TICKETING_TEST_SEATS", office.seat.id.to_string());
    Running::start(command)
}

fn kill(mut running: Running) {
    running.child.kill().unwrap();
    assert!(!running.rest().0.success(), "it was killed");
}

/// The number, the success and the error message of each attempt.
fn told(office: &Office, id: WebhookId) -> Vec<(i64, bool, Option<String>)> {
    let history = office.history(id).into_iter();
    history.map(|delivery| (delivery.attempt, delivery.success, delivery.error_message)).collect()
}

#[test]
fn what_was_queued_is_sent_by_the_next_process_at_once() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    let endpoint = office.endpoint(receiver.url("/hook")).endpoint;
    let mut seller = start(&office, "queue");
    assert_eq!(seller.next().as_deref(), Some("queued"));
    kill(seller);
    // The child had the machine's clock, and this process has one that stands still.
    office.clock.set(SystemClock.now());
    let _sender = office.start(SenderOptions::default());
    office.wait_for(10, "DELIVERED");
    assert_eq!(told(&office, endpoint.id), vec![(1, true, None); 10]);
    assert_eq!(receiver.requests().len(), 10);
}

/// What was cut off is made again within 19.5 seconds, but not while its lease lasts, and under the same number.
#[track_caller]
fn assert_made_again(office: &Office, receiver: &Receiver, endpoint: WebhookId) {
    let [row] = <[Row; 1]>::try_from(office.outbox()).unwrap();
    assert!(row.is("WAITING", 0) && row.claimed, "{row:?}");
    let _sender = office.start(SenderOptions::default());
    office.clock.advance(LEASE - MILLISECOND);
    sleep(NOTICE);
    assert_eq!(receiver.requests().len(), 1);
    office.clock.advance(MILLISECOND);
    until("it counts as cut off", || office.outbox()[0].cuts == 1);
    let again = office.outbox()[0].due_at - office.clock.now().millis();
    assert!((0..1500).contains(&again), "{again}");
    office.clock.advance(SPREAD);
    let row = office.wait_for_attempt(1);
    assert!(row.is("DELIVERED", 1), "{row:?}");
    let requests = receiver.requests();
    assert_eq!((requests.len(), row.cuts), (2, 0));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].header(EVENT_ID_HEADER), requests[1].header(EVENT_ID_HEADER));
    assert_eq!(told(office, endpoint), [(1, true, None)]);
}

#[test]
fn an_attempt_that_is_cut_off_while_the_receiver_has_it_is_made_again_under_the_same_number() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.then(Answer::Hang);
    let endpoint = office.endpoint(receiver.url("/hook")).endpoint;
    office.queue(1);
    let sender = start(&office, "send");
    receiver.wait_for(1);
    kill(sender);
    assert_made_again(&office, &receiver, endpoint.id);
}

#[test]
fn an_attempt_that_is_cut_off_between_the_answer_and_the_history_is_made_again_under_the_same_number() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    let endpoint = office.endpoint(receiver.url("/hook")).endpoint;
    office.queue(1);
    let mut sender = start(&office, "die after the answer");
    // It says nothing, and then it is gone.
    assert_eq!(sender.next(), None);
    assert!(!sender.rest().0.success());
    assert_made_again(&office, &receiver, endpoint.id);
}

#[test]
fn what_is_in_the_history_is_not_sent_again() {
    let (office, receiver) = (Office::over_http(), Receiver::start());
    receiver.then(Answer::Status(500));
    office.endpoint(receiver.url("/hook"));
    office.queue(20);
    let sender = start(&office, "send");
    office.wait_for(19, "DELIVERED");
    until("the failure is in the history", || office.stored("SELECT COUNT(*) FROM webhook_deliveries") == 20);
    kill(sender);
    let _sender = office.start(SenderOptions::default());
    office.clock.advance(Duration::from_secs(59));
    sleep(NOTICE);
    assert_eq!(receiver.requests().len(), 20);
    office.clock.advance(Duration::from_secs(1));
    office.wait_for(20, "DELIVERED");
    assert_eq!(receiver.requests().len(), 21);
}

#[test]
fn under_one_kill_after_another_everything_is_delivered_and_little_of_it_twice() {
    const ROWS: i64 = 400;
    const KILLS: u64 = 8;
    let (office, receiver) = (Office::over_http(), Receiver::start());
    // Slow enough for all of the kills to come before the end.
    receiver.otherwise(Answer::After(Duration::from_millis(5), Box::new(Answer::Status(204))));
    let endpoint = office.endpoint(receiver.url("/hook")).endpoint;
    office.queue(ROWS);
    let mut delivered = 0;
    for round in 0..KILLS {
        let before = receiver.requests().len();
        let sender = start_going(&office, "send");
        receiver.wait_for(before + 1);
        // The instant is another one each time, and comes in the middle of the same work.
        sleep(Duration::from_millis(round * 7919 % 60));
        kill(sender);
        let now = office.number("DELIVERED");
        assert!(now >= delivered, "what was delivered stays delivered");
        delivered = now;
        assert_eq!(now + office.number("WAITING"), ROWS);
        office.clock.advance(LEASE + Duration::from_secs(5));
    }
    assert!(delivered < ROWS, "the last kill came too late to show anything");
    let _sender = office.start(SenderOptions::default());
    until("everything is delivered", || {
        // What was cut off waits for a moment of its own.
        if office.outbox().iter().all(|row| !row.claimed && (row.is("DELIVERED", 1) || row.cuts > 0)) {
            office.clock.advance(SPREAD);
        }
        office.number("DELIVERED") == ROWS
    });
    let mut attempts: HashMap<_, Vec<_>> = HashMap::new();
    for delivery in office.history(endpoint.id) {
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
fn poisoned(office: &Office, fine: &Receiver, poison: &Receiver) -> (WebhookEndpoint, WebhookEndpoint) {
    let healthy = office.endpoint(fine.url("/fine")).endpoint;
    let new = CreateWebhook::new(poison.url("/poison"), [NotificationType::TicketCheckedIn]);
    let poisonous = office.service.create_webhook(&office.caller, new).expect("an endpoint").endpoint;
    let ticket = office.issue(&office.seat, 1).pop().expect("a ticket");
    office.service.check_in_ticket(&office.caller, CheckInTicket::new(ticket.code)).expect("inside");
    (healthy, poisonous)
}

#[test]
fn a_notification_that_ends_its_process_each_time_has_failed_after_the_third_and_the_others_go_on() {
    let office = Office::over_http();
    let (fine, poison) = (Receiver::start(), Receiver::start());
    let (healthy, poisonous) = poisoned(&office, &fine, &poison);
    for cut in 1..=3 {
        let mut sender = start_going(&office, "die of poison");
        assert_eq!(sender.next().as_deref(), Some("poison"));
        office.queue(1);
        office.wait_for(cut + 1, "DELIVERED");
        sender.tell("now");
        assert!(!sender.rest().0.success());
        assert_eq!(told(&office, poisonous.id), []);
        office.clock.advance(LEASE + PATIENCE);
    }
    // It is not tried for a fourth time, but counts as failed.
    let _sender = office.start(SenderOptions::default());
    until("it is in the history", || told(&office, poisonous.id).len() == 1);
    let failed = &office.history(poisonous.id)[0];
    assert_eq!((failed.attempt, failed.success, failed.error_message.as_deref()), (1, false, Some(CUT_OFF)));
    assert_eq!((failed.response_status, &failed.response_body, failed.duration_ms), (None, &None, None));
    assert_eq!(failed.created_at, office.clock.now());
    office.clock.advance(Duration::from_mins(1) - MILLISECOND);
    sleep(NOTICE);
    assert_eq!(poison.connections(), 0);
    office.clock.advance(MILLISECOND);
    poison.wait_for(1);
    office.wait_for(5, "DELIVERED");
    assert_eq!(told(&office, poisonous.id), [(1, false, Some(CUT_OFF.to_owned())), (2, true, None)]);
    assert_eq!(told(&office, healthy.id), vec![(1, true, None); 4]);
}

#[test]
fn what_was_on_its_way_beside_a_notification_that_ends_its_process_does_not_share_its_fate() {
    let office = Office::over_http();
    let (fine, poison) = (Receiver::start(), Receiver::start());
    fine.otherwise(Answer::After(Duration::from_millis(20), Box::new(Answer::Status(204))));
    let (healthy, poisonous) = poisoned(&office, &fine, &poison);
    office.queue(2);
    for round in 1..=3 {
        let mut sender = start_going(&office, "die of poison at once");
        assert_eq!(sender.next(), None);
        assert!(!sender.rest().0.success());
        if round == 1 {
            let claimed = office.outbox().iter().filter(|row| row.claimed).count();
            assert!(claimed > 1 && office.number("DELIVERED") == 0, "{claimed} were cut off together");
        }
        // Longer than any lease that began meanwhile: the next process finds everything due at once.
        office.clock.advance(LEASE + PATIENCE);
    }
    let _sender = office.start(SenderOptions::default());
    until("the notification has failed", || told(&office, poisonous.id).len() == 1);
    sleep(NOTICE);
    office.clock.advance(SPREAD);
    office.wait_for(3, "DELIVERED");
    assert_eq!(told(&office, healthy.id), vec![(1, true, None); 3]);
}
