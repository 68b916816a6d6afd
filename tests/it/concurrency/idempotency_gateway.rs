//! Idempotency keys and the payment gateway. A failure or a kill between an order and its checkout link leaves one
//! order for each key, and the gateway sees one payment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use ticketing::environment::{Clock, Entropy, ManualClock, SystemEntropy};
use ticketing::order::{CreateOrder, CreateOrderResponse, OrderStatus};
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::request::{KeyedCaller, Replayable};
use ticketing::ticket_type::TicketType;
use ticketing::{Error, Result, TicketingService, Timestamp};

use crate::common::invariants::assert_consistent;
use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, send_to_parent};
use crate::common::*;

fn order(service: &TicketingService, by: &KeyedCaller, ticket_type: &TicketType) -> Result<CreateOrderResponse> {
    replayable_order(service, by, ticket_type).map(|result| result.value)
}

fn replayable_order(
    service: &TicketingService,
    by: &KeyedCaller,
    ticket_type: &TicketType,
) -> Result<Replayable<CreateOrderResponse>> {
    service.create_order(by, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1))
}

fn orders(fixture: &Fixture, status: &str) -> i64 {
    fixture.stored(&format!("SELECT COUNT(*) FROM orders WHERE status = '{status}'"))
}

#[track_caller]
fn assert_gateway_failed(result: Result<CreateOrderResponse>) {
    let error = result.expect_err("expected the gateway to fail");
    assert!(matches!(error, Error::PaymentGatewayFailed(_)), "{error:?}");
}

/// Asserts that the key is in use, and for how long.
#[track_caller]
pub fn assert_in_progress<T: std::fmt::Debug>(result: Result<T>, expected: Duration) {
    match result {
        Err(Error::IdempotencyInProgress { retry_after, .. }) => assert_eq!(retry_after, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_retried_order_calls_the_gateway_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let created = order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type).expect("an order");
    for service in [fixture.service.clone(), fixture.second_service()] {
        assert_eq!(order(&service, &fixture.caller_with_key("key"), &ticket_type), Ok(created.clone()));
    }
    // The stored response stays the same, even if the order has changed since.
    fixture.service.payment_completed(&fixture.caller, created.order.id).expect("paid");
    assert_eq!(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type), Ok(created));
    assert_eq!(fixture.gateway.checkouts().len(), 1);
}

#[test]
fn after_a_failure_of_the_gateway_the_same_key_tries_again() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    for behavior in [GatewayBehavior::Refuse, GatewayBehavior::Unavailable] {
        fixture.gateway.on_checkout(behavior);
        assert_gateway_failed(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type));
    }
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    let created =
        order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type).expect("the key can be used again");
    assert_eq!((orders(&fixture, "CANCELLED"), orders(&fixture, "PENDING")), (2, 1));
    assert_eq!(order(&fixture.second_service(), &fixture.caller_with_key("key"), &ticket_type), Ok(created));
    let mut keys: Vec<_> = fixture.gateway.checkouts().into_iter().map(|checkout| checkout.idempotency_key).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3, "each order is a separate payment");
}

#[test]
fn a_retried_cancellation_requests_its_refund_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let paid = fixture.paid_order(&ticket_type, 1);
    for _ in 0..3 {
        let cancelled =
            fixture.service.cancel_order(&fixture.caller_with_key("key"), paid.id).expect("cancelled").value;
        assert!(cancelled.success && !cancelled.requires_manual_refund);
    }
    assert_eq!(fixture.gateway.refunds().len(), 1);
}

/// A gateway whose calls wait until the test answers them.
struct ControlledGateway(Mutex<Sender<Call>>);

struct Call {
    request: CheckoutRequest,
    answer: Sender<bool>,
}

impl Call {
    fn answer(self, succeeds: bool) {
        self.answer.send(succeeds).expect("it waits");
    }
}

impl PaymentGateway for ControlledGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (answer, answered) = channel();
        self.0.lock().expect("no panic").send(Call { request: request.clone(), answer }).expect("the test receives");
        let succeeds = answered.recv_timeout(Duration::from_secs(15)).expect("an answer");
        let reference = format!("pay-{}", request.order_id);
        let checkout = Checkout::new(format!("https://pay.example/{reference}"), reference);
        if succeeds { Ok(checkout) } else { Err(GatewayError::Unavailable("no answer in time".to_owned())) }
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

/// How long a request that waits for its gateway keeps others with the same key away, if it does not renew its lease.
pub const LEASE: Duration = Duration::from_secs(2);

/// Two services on one file, each with a [`ControlledGateway`] of its own.
struct TwoServices {
    fixture: Fixture,
    ticket_type: TicketType,
    services: [TicketingService; 2],
    calls: [Receiver<Call>; 2],
}

impl TwoServices {
    fn new() -> Self {
        let ((first, first_calls), (second, second_calls)) = (channel(), channel());
        let fixture = Fixture::with(|builder| builder.payment_gateway(ControlledGateway(Mutex::new(first))));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let builder = database::builder(fixture.path()).payment_gateway(ControlledGateway(Mutex::new(second)));
        let other = builder.clock(fixture.clock.clone()).open().expect("the file");
        let services = [fixture.service.clone(), other];
        Self { fixture, ticket_type, services, calls: [first_calls, second_calls] }
    }

    /// Ends the leases, as if the machine of the services that wait for their gateway had stood still for longer.
    fn end_lease(&self) {
        self.fixture.database().execute("UPDATE checkouts SET lease_ends_at = NULL", []);
    }

    /// Starts to create an order at one of the services, and waits until the gateway is called.
    fn order<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        at: usize,
    ) -> (ScopedJoinHandle<'s, Result<CreateOrderResponse>>, Call) {
        let service = &self.services[at];
        let caller = self.fixture.caller_with_key("key");
        let ticket_type = &self.ticket_type;
        let running = scope.spawn(move || order(service, &caller, ticket_type));
        (running, self.calls[at].recv_timeout(Duration::from_secs(15)).expect("the gateway is called"))
    }
}

#[test]
fn a_call_that_fails_after_another_service_got_the_link_cancels_nothing() {
    let two = TwoServices::new();
    std::thread::scope(|scope| {
        let (slow, slow_call) = two.order(scope, 0);
        two.end_lease();
        let (fast, fast_call) = two.order(scope, 1);
        assert_eq!(slow_call.request.idempotency_key, fast_call.request.idempotency_key);
        fast_call.answer(true);
        let created = fast.join().expect("no panic").expect("an order");
        slow_call.answer(false);
        assert_eq!(slow.join().expect("no panic"), Ok(created));
    });
    assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (1, 0));
}

#[test]
fn while_a_service_waits_for_its_gateway_another_one_does_not_ask_for_a_second_link() {
    let two = TwoServices::new();
    std::thread::scope(|scope| {
        let (first, call) = two.order(scope, 0);
        let at_other = || order(&two.services[1], &two.fixture.caller_with_key("key"), &two.ticket_type);
        assert_in_progress(at_other(), LEASE);
        two.fixture.clock.advance(LEASE - Duration::from_millis(1));
        assert_in_progress(at_other(), Duration::from_millis(1));
        call.answer(true);
        let created = first.join().expect("no panic").expect("an order");
        assert_eq!(at_other(), Ok(created));
    });
    assert!(two.calls[1].try_recv().is_err(), "one link was asked for");
}

#[test]
fn after_the_clock_was_put_back_far_a_pending_order_is_continued_at_once() {
    let two = TwoServices::new();
    std::thread::scope(|scope| {
        let (_, call) = two.order(scope, 0);
        two.fixture.clock.set(at("2026-05-01T12:00:00Z"));
        let (second, second_call) = two.order(scope, 1);
        second_call.answer(true);
        let created = second.join().expect("no panic").expect("an order");
        assert!(created.checkout_url.is_some());
        call.answer(true);
    });
}

#[test]
fn a_link_is_ignored_after_another_service_has_cancelled_the_order() {
    let two = TwoServices::new();
    std::thread::scope(|scope| {
        let (first, first_call) = two.order(scope, 0);
        two.end_lease();
        let (second, second_call) = two.order(scope, 1);
        first_call.answer(false);
        assert_gateway_failed(first.join().expect("no panic"));
        second_call.answer(true);
        assert_gateway_failed(second.join().expect("no panic"));
        assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (0, 1));
        let (retry, call) = two.order(scope, 0);
        call.answer(true);
        let created = retry.join().expect("no panic").expect("the key is free");
        assert_eq!(created.order.status, OrderStatus::Pending);
    });
}

#[test]
fn a_cancelled_order_does_not_take_the_key_from_the_next_one() {
    for late_link in [false, true] {
        let two = TwoServices::new();
        std::thread::scope(|scope| {
            let (late, late_call) = two.order(scope, 0);
            two.end_lease();
            let (failed, call) = two.order(scope, 1);
            call.answer(false);
            assert_gateway_failed(failed.join().expect("no panic"));
            let (next, next_call) = two.order(scope, 1);
            assert_ne!(next_call.request.order_id, late_call.request.order_id);
            late_call.answer(late_link);
            assert_gateway_failed(late.join().expect("no panic"));
            // The key still belongs to the pending order: another request with the key continues that one.
            two.end_lease();
            let (again, again_call) = two.order(scope, 0);
            assert_eq!(again_call.request.idempotency_key, next_call.request.idempotency_key);
            next_call.answer(true);
            let created = next.join().expect("no panic").expect("an order");
            again_call.answer(true);
            assert_eq!(again.join().expect("no panic"), Ok(created));
        });
        assert_eq!((orders(&two.fixture, "PENDING"), orders(&two.fixture, "CANCELLED")), (1, 1));
    }
}

#[test]
fn an_order_that_ended_before_anybody_had_its_link_is_created_again_with_the_same_key() {
    let two = TwoServices::new();
    std::thread::scope(|scope| {
        // As if its process were killed, and the customer came back after the hold.
        let (dead, dead_call) = two.order(scope, 0);
        two.end_lease();
        two.fixture.clock.advance(Duration::from_mins(31));
        let (next, call) = two.order(scope, 1);
        assert_ne!(call.request.order_id, dead_call.request.order_id);
        call.answer(true);
        let created = next.join().expect("no panic").expect("an order");
        assert!(created.order.status == OrderStatus::Pending && created.checkout_url.is_some());
        dead_call.answer(true);
        assert_eq!(dead.join().expect("no panic"), Ok(created));
    });
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_stops_in_the_middle_of_an_order");

/// Sends a message to the parent, and waits to be killed.
fn stop(text: impl std::fmt::Display) -> ! {
    send_to_parent(text);
    loop {
        std::thread::park();
    }
}

/// The clock, the entropy and the gateway of a child process, which stops at its `stage`: in the transaction of the
/// order, which draws random bytes; in the gateway; in the transaction of the link, which reads the clock; or after
/// the response.
#[derive(Debug, Clone)]
struct StoppingParts {
    stage: String,
    clock: ManualClock,
    armed: Arc<AtomicBool>,
}

impl StoppingParts {
    fn stops(&self, at: &str) -> bool {
        self.armed.load(Ordering::SeqCst) && self.stage == at
    }

    fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

impl Entropy for StoppingParts {
    fn fill(&self, bytes: &mut [u8]) {
        if self.stops("before-the-order") {
            stop("stopped");
        }
        SystemEntropy.fill(bytes);
    }
}

impl Clock for StoppingParts {
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

impl PaymentGateway for StoppingParts {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        send_to_parent(&request.idempotency_key);
        if self.stage == "before-the-answer" {
            stop("stopped");
        }
        self.arm();
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_stops_in_the_middle_of_an_order() {
    let stage = child_role();
    let parts = StoppingParts { stage, clock: ManualClock::new(at(NOW)), armed: Default::default() };
    let builder = database::builder(child_variable("TICKETING_TEST_FILE")).payment_gateway(parts.clone());
    let service = builder.clock(parts.clone()).entropy(parts.clone()).open().expect("the file");
    let caller = service
        .act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().expect("an id"))
        .expect("the organization exists");
    let ticket_type =
        service.get_ticket_type(&caller, child_variable("TICKETING_TEST_TICKET_TYPE").parse().expect("an id"));
    if parts.stage == "before-the-order" {
        parts.arm();
    }
    let caller = caller.with_idempotency_key("key");
    order(&service, &caller, &ticket_type.expect("the type")).expect("an order");
    stop("stopped");
}

/// Kills a child process that has reached `stage`. Returns the idempotency keys that its gateway was called with.
fn kill_at(stage: &str, fixture: &Fixture, ticket_type: &TicketType) -> Vec<String> {
    let mut command = child_process(CHILD, stage);
    command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
    command.env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string());
    let mut running = ChildProcess::start(command);
    let keys = std::iter::from_fn(|| running.next_message()).take_while(|message| message != "stopped").collect();
    running.child.kill().expect("it runs");
    assert!(!running.finish().status.success(), "it was killed");
    keys
}

/// Where a process is killed, and what it leaves: orders, calls of the gateway, and whether the response is stored.
const STAGES: [(&str, i64, usize, bool); 4] = [
    ("before-the-order", 0, 0, false),
    ("before-the-answer", 1, 1, false),
    ("before-the-link", 1, 1, false),
    ("after-the-answer", 1, 1, true),
];

#[test]
fn after_a_kill_at_any_stage_the_same_key_leads_to_one_order_and_payment() {
    for (stage, orders_left, calls, answered) in STAGES {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let mut keys = kill_at(stage, &fixture, &ticket_type);
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), keys.len()), (orders_left, calls), "{stage}");
        let links = fixture.stored("SELECT COUNT(payment_link) FROM orders");
        assert_eq!(links, i64::from(answered), "{stage}");

        if orders_left == 1 && !answered {
            // Nobody knows yet that the process does not wait for its gateway any more.
            assert_in_progress(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type), LEASE);
            fixture.clock.advance(LEASE);
        }
        let created = replayable_order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type);
        let Replayable { value: created, replayed, .. } = created.expect("an order");
        assert_eq!(replayed, answered, "{stage}");
        assert_eq!(created.order.status, OrderStatus::Pending);
        assert!(created.checkout_url.is_some());
        assert_eq!(
            order(&fixture.second_service(), &fixture.caller_with_key("key"), &ticket_type),
            Ok(created.clone()),
            "{stage}"
        );
        assert_eq!(fixture.read_order(created.order.id), created.order);

        keys.extend(fixture.gateway.checkouts().into_iter().map(|checkout| checkout.idempotency_key));
        assert_eq!(
            keys.len(),
            if stage == "before-the-answer" || stage == "before-the-link" { 2 } else { 1 },
            "{stage}"
        );
        keys.dedup();
        assert_eq!(keys, [format!("checkout-{}", created.order.id)], "{stage}");
        let held = fixture.stored("SELECT held FROM ticket_types");
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), held), (1, 1), "{stage}");
        assert_consistent(&fixture.database());
    }
}

#[test]
fn control_without_the_key_a_retry_after_a_kill_is_a_second_order() {
    for stage in ["before-the-answer", "before-the-link", "after-the-answer"] {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        kill_at(stage, &fixture, &ticket_type);
        fixture.order(&ticket_type, 1);
        let held = fixture.stored("SELECT held FROM ticket_types");
        assert_eq!((fixture.stored("SELECT COUNT(*) FROM orders"), held), (2, 2), "{stage}");
    }
}
