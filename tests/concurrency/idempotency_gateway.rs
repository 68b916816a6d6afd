//! Idempotency keys and the payment gateway: whatever fails, ends or is killed between an order and its link, a key stands
//! for one order, and the gateway is asked for one payment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::common::invariants::assert_consistent;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, send_to_parent};
use crate::common::*;
use ticketing::{
    Caller, Checkout, CheckoutRequest, Clock, CreateOrder, CreateOrderResponse, Entropy, Error, GatewayError,
    ManualClock, OrderStatus, PaymentGateway, RefundRequest, Result, SystemEntropy, TicketType, TicketingService,
    Timestamp,
};

fn order(service: &TicketingService, by: &Caller, of: &TicketType) -> Result<CreateOrderResponse> {
    service.create_order(by, CreateOrder::new(of.event_id, new_customer(), of.id, 1))
}

fn orders(fixture: &Fixture, status: &str) -> i64 {
    fixture.stored(&format!("SELECT COUNT(*) FROM orders WHERE status = '{status}'"))
}

#[track_caller]
fn is_without_link(result: Result<CreateOrderResponse>) {
    let error = result.expect_err("the order came to nothing");
    assert!(matches!(error, Error::PaymentGatewayFailed(_)), "{error:?}");
}

#[test]
fn the_gateway_is_asked_once_for_an_order_however_often_it_is_retried() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let placed = order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type).expect("an order");
    for service in [fixture.service.clone(), fixture.second_service()] {
        assert_eq!(order(&service, &fixture.caller_with_key("key"), &ticket_type), Ok(placed.clone()));
    }
    // The answer is that of the time, whatever has become of the order since.
    fixture.service.payment_completed(&fixture.caller, placed.order.id).expect("paid");
    assert_eq!(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type), Ok(placed));
    assert_eq!(fixture.gateway.checkouts().len(), 1);
}

#[test]
fn after_a_gateway_failed_the_same_key_tries_anew() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    for mood in [GatewayBehavior::Refuse, GatewayBehavior::Unavailable] {
        fixture.gateway.on_checkout(mood);
        is_without_link(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type));
    }
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    let placed =
        order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type).expect("the key and the place are free");
    assert_eq!((orders(&fixture, "CANCELLED"), orders(&fixture, "PENDING")), (2, 1));
    assert_eq!(order(&fixture.second_service(), &fixture.caller_with_key("key"), &ticket_type), Ok(placed));
    let mut keys: Vec<_> = fixture.gateway.checkouts().into_iter().map(|asked| asked.idempotency_key).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3, "each order is a payment of its own");
}

#[test]
fn a_refund_of_a_cancellation_that_is_retried_is_asked_for_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let paid = fixture.paid_order(&ticket_type, 1);
    for _ in 0..3 {
        let left = fixture.service.cancel_order(&fixture.caller_with_key("key"), paid.id).expect("cancelled");
        assert!(left.success && !left.requires_manual_refund);
    }
    assert_eq!(fixture.gateway.refunds().len(), 1);
}

/// A gateway each of whose calls waits until the test answers it.
struct Told(Mutex<Sender<Call>>);

struct Call {
    request: CheckoutRequest,
    answer: Sender<bool>,
}

impl Call {
    fn answer(self, helpful: bool) {
        self.answer.send(helpful).expect("it waits");
    }
}

impl PaymentGateway for Told {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (answer, answered) = channel();
        self.0.lock().expect("no panic").send(Call { request: request.clone(), answer }).expect("the test listens");
        let helpful = answered.recv_timeout(Duration::from_secs(15)).expect("an answer");
        let reference = format!("pay-{}", request.order_id);
        let checkout = Checkout { link: format!("https://pay.example/{reference}"), reference };
        if helpful { Ok(checkout) } else { Err(GatewayError::Unavailable("no answer in time".to_owned())) }
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

/// Two services on one file, each with a gateway that waits to be told, and an order that the first one waits for.
struct Two {
    fixture: Fixture,
    ticket_type: TicketType,
    services: [TicketingService; 2],
    asked: [Receiver<Call>; 2],
}

impl Two {
    fn new() -> Self {
        let ((first, first_asked), (second, second_asked)) = (channel(), channel());
        let fixture = Fixture::with(|builder| builder.payment_gateway(Told(Mutex::new(first))));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let builder = TicketingService::builder(fixture.path()).payment_gateway(Told(Mutex::new(second)));
        let other = builder.clock(fixture.clock.clone()).open().expect("the file");
        let services = [fixture.service.clone(), other];
        Self { fixture, ticket_type, services, asked: [first_asked, second_asked] }
    }

    /// Orders at one of the services, and waits until the gateway is asked.
    fn order<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        at: usize,
    ) -> (ScopedJoinHandle<'s, Result<CreateOrderResponse>>, Call) {
        let (service, once, ticket_type) = (&self.services[at], self.fixture.caller_with_key("key"), &self.ticket_type);
        let running = scope.spawn(move || order(service, &once, ticket_type));
        (running, self.asked[at].recv_timeout(Duration::from_secs(15)).expect("the gateway is asked"))
    }
}

#[test]
fn a_call_that_fails_after_another_process_had_the_link_cancels_nothing() {
    let two = Two::new();
    std::thread::scope(|scope| {
        let (slow, slow_call) = two.order(scope, 0);
        let (fast, fast_call) = two.order(scope, 1);
        assert_eq!(slow_call.request.idempotency_key, fast_call.request.idempotency_key);
        fast_call.answer(true);
        let placed = fast.join().expect("no panic").expect("an order");
        slow_call.answer(false);
        assert_eq!(slow.join().expect("no panic"), Ok(placed));
    });
    assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (1, 0));
}

#[test]
fn a_link_that_comes_after_another_process_gave_the_order_up_is_no_answer() {
    let two = Two::new();
    std::thread::scope(|scope| {
        let (first, first_call) = two.order(scope, 0);
        let (second, second_call) = two.order(scope, 1);
        first_call.answer(false);
        is_without_link(first.join().expect("no panic"));
        second_call.answer(true);
        is_without_link(second.join().expect("no panic"));
        assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (0, 1));
        let (anew, call) = two.order(scope, 0);
        call.answer(true);
        let placed = anew.join().expect("no panic").expect("the key is free");
        assert_eq!(placed.order.status, OrderStatus::Pending);
    });
}

#[test]
fn an_order_that_was_given_up_takes_no_key_from_the_next_one() {
    for late_link in [false, true] {
        let two = Two::new();
        std::thread::scope(|scope| {
            let (late, late_call) = two.order(scope, 0);
            let (given_up, call) = two.order(scope, 1);
            call.answer(false);
            is_without_link(given_up.join().expect("no panic"));
            let (next, next_call) = two.order(scope, 1);
            assert_ne!(next_call.request.order_id, late_call.request.order_id);
            late_call.answer(late_link);
            is_without_link(late.join().expect("no panic"));
            // The key still stands for the order that waits: who comes now takes that one up.
            let (again, again_call) = two.order(scope, 0);
            assert_eq!(again_call.request.idempotency_key, next_call.request.idempotency_key);
            next_call.answer(true);
            let placed = next.join().expect("no panic").expect("an order");
            again_call.answer(true);
            assert_eq!(again.join().expect("no panic"), Ok(placed));
        });
        assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (1, 1));
    }
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_stops_in_the_middle_of_an_order");

/// Says what it does, and waits for its end.
fn stop(text: impl std::fmt::Display) -> ! {
    send_to_parent(text);
    loop {
        std::thread::park();
    }
}

/// What a child is made of. It stops where its part says: in the transaction of the order, which asks for randomness;
/// while the gateway is asked; in the transaction of the link, which asks for the time; or when it has the answer.
#[derive(Debug, Clone)]
struct Stopping {
    part: String,
    clock: ManualClock,
    armed: Arc<AtomicBool>,
}

impl Stopping {
    fn stops(&self, at: &str) -> bool {
        self.armed.load(Ordering::SeqCst) && self.part == at
    }

    fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

impl Entropy for Stopping {
    fn fill(&self, bytes: &mut [u8]) {
        if self.stops("before-the-order") {
            stop("stopped");
        }
        SystemEntropy.fill(bytes);
    }
}

impl Clock for Stopping {
    fn now(&self) -> Timestamp {
        if self.stops("before-the-link") {
            stop("stopped");
        }
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

impl PaymentGateway for Stopping {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        send_to_parent(&request.idempotency_key);
        if self.part == "before-the-answer" {
            stop("stopped");
        }
        self.arm();
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout { link: format!("https://pay.example/{reference}"), reference })
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

#[test]
fn a_child_process_stops_in_the_middle_of_an_order() {
    let Some(part) = child_role() else { return };
    let stopping = Stopping { part, clock: ManualClock::at(at(NOW)), armed: Default::default() };
    let builder = TicketingService::builder(child_variable("TICKETING_TEST_FILE")).payment_gateway(stopping.clone());
    let service = builder.clock(stopping.clone()).entropy(stopping.clone()).open().expect("the file");
    let caller =
        service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().expect("an id")).expect("it is there");
    let ticket_type =
        service.get_ticket_type(&caller, child_variable("TICKETING_TEST_TICKET_TYPE").parse().expect("an id"));
    if stopping.part == "before-the-order" {
        stopping.arm();
    }
    let once = caller.with_idempotency_key("key".parse().expect("a key"));
    order(&service, &once, &ticket_type.expect("the type")).expect("an order");
    stop("stopped");
}

/// Kills a child that got as far as `part`; gives what the gateway was asked with until then.
fn kill_at(part: &str, fixture: &Fixture, ticket_type: &TicketType) -> Vec<String> {
    let mut command = child_process(CHILD, part);
    command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
    command.env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string());
    let mut running = ChildProcess::start(command);
    let said = std::iter::from_fn(|| running.next_message()).take_while(|said| said != "stopped").collect();
    running.child.kill().expect("it runs");
    assert!(!running.finish().0.success(), "it was killed");
    said
}

/// Where a process ends, how many orders it leaves, how often it had asked the gateway, and whether it had the answer.
const PARTS: [(&str, i64, usize, bool); 4] = [
    ("before-the-order", 0, 0, false),
    ("before-the-answer", 1, 1, false),
    ("before-the-link", 1, 1, false),
    ("after-the-answer", 1, 1, true),
];

#[test]
fn wherever_a_process_is_killed_the_same_key_ends_with_one_order_and_one_payment() {
    for (part, left, asked_before, answered) in PARTS {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let mut asked = kill_at(part, &fixture, &ticket_type);
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), asked.len()), (left, asked_before), "{part}");
        let links = fixture.stored("SELECT COUNT(payment_link) FROM orders");
        assert_eq!(links, i64::from(answered), "{part}");

        let once = fixture.caller_with_key("key");
        let placed = order(&fixture.service, &once, &ticket_type).expect("an order");
        assert_eq!(once.was_replayed(), answered, "{part}");
        assert_eq!(placed.order.status, OrderStatus::Pending);
        assert!(placed.checkout_url.is_some());
        assert_eq!(
            order(&fixture.second_service(), &fixture.caller_with_key("key"), &ticket_type),
            Ok(placed.clone()),
            "{part}"
        );
        assert_eq!(fixture.read_order(placed.order.id), placed.order);

        asked.extend(fixture.gateway.checkouts().into_iter().map(|asked| asked.idempotency_key));
        assert_eq!(asked.len(), if part == "before-the-answer" || part == "before-the-link" { 2 } else { 1 }, "{part}");
        asked.dedup();
        assert_eq!(asked, [format!("checkout-{}", placed.order.id)], "{part}");
        let held = fixture.stored("SELECT held FROM ticket_types");
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), held), (1, 1), "{part}");
        assert_consistent(&fixture.database());
    }
}

#[test]
fn control_without_its_key_the_retry_of_a_killed_process_is_a_second_order() {
    for part in ["before-the-answer", "before-the-link", "after-the-answer"] {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        kill_at(part, &fixture, &ticket_type);
        order(&fixture.service, &fixture.caller, &ticket_type).expect("an order");
        let held = fixture.stored("SELECT held FROM ticket_types");
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), held), (2, 2), "{part}");
    }
}
