//! What a process has claimed is free soon after it was killed, and stays its own while it waits for the gateway.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::error::Reason;
use ticketing::id::OrderId;
use ticketing::order::Order;
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, CheckoutStatus, Checkouts, CloseCheckout, GatewayError, GatewayRefund,
    LookUp, PaymentGateway, RefundRequest,
};
use ticketing::ticket_type::TicketType;
use ticketing::{Error, Result, TicketingService};

use crate::common::processes::{ChildProcess, child_process, child_role, child_variable, send_to_parent};
use crate::common::webhooks::wait_until;
use crate::common::*;
use crate::concurrency::idempotency_gateway::{LEASE, assert_in_progress};

/// How long a process keeps others from asking about the same checkout.
const ATTEMPT: Duration = Duration::from_mins(2);

const CHILD: &str = concat!(module_path!(), "::a_child_process_waits_for_its_gateway");

/// A gateway that never answers, and tells the parent of its process what it was asked.
struct SilentGateway;

impl SilentGateway {
    fn wait(question: &str) -> ! {
        send_to_parent(question);
        loop {
            std::thread::park();
        }
    }
}

impl PaymentGateway for SilentGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Self::wait(&request.idempotency_key)
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }

    fn checkouts(&self) -> Option<&dyn Checkouts> {
        Some(self)
    }
}

impl Checkouts for SilentGateway {
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        Self::wait(&request.reference)
    }

    fn look_up(&self, _: &LookUp) -> Result<CheckoutState, GatewayError> {
        Ok(CheckoutState::Unknown)
    }
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_waits_for_its_gateway() {
    let role = child_role();
    let builder = database::builder(child_variable("TICKETING_TEST_FILE")).payment_gateway(SilentGateway);
    let service = builder.clock(ManualClock::new(at(NOW))).open().expect("the file");
    if role == "close" {
        service.run_maintenance().expect("maintenance");
        return;
    }
    let organization = child_variable("TICKETING_TEST_ORGANIZATION").parse().expect("an id");
    let caller = service.act_for(organization).expect("the organization exists");
    let ticket_type = child_variable("TICKETING_TEST_TICKET_TYPE").parse().expect("an id");
    let ticket_type = service.get_ticket_type(&caller, ticket_type).expect("the type");
    let request = new_order(ticket_type.event_id, ticket_type.id, 1);
    match role.as_str() {
        "start" => drop(service.create_order(&caller, request)),
        _ => drop(service.create_order(&caller.with_idempotency_key("key"), request)),
    }
}

/// Kills a child process that waits for its gateway. Returns what it has asked.
fn kill_while_it_waits(role: &str, fixture: &Fixture, ticket_type: &TicketType) -> String {
    let mut command = child_process(CHILD, role);
    command.env("TICKETING_TEST_FILE", fixture.path()).env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
    command.env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string());
    let mut running = ChildProcess::start(command);
    let question = running.next_message().expect("it asks its gateway");
    running.child.kill().expect("it runs");
    assert!(!running.finish().status.success(), "it was killed");
    question
}

fn status(fixture: &Fixture, order: OrderId) -> CheckoutStatus {
    fixture.service.get_checkout(&fixture.caller, order).expect("a checkout").status
}

#[track_caller]
fn assert_starting<T: std::fmt::Debug>(result: Result<T>) {
    match result {
        Err(Error::Conflict(conflict)) => assert_eq!(conflict.reason, Reason::CheckoutInProgress),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_checkout_is_closed_two_minutes_after_a_kill_in_the_call_that_closes_it() {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let order = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!(kill_while_it_waits("close", &fixture, &ticket_type), format!("pay-{}", order.id));
    // Nobody knows yet that the process does not wait for its gateway any more.
    fixture.clock.advance(ATTEMPT - Duration::from_millis(1));
    fixture.service.run_maintenance().expect("maintenance");
    assert_eq!((status(&fixture, order.id), fixture.gateway.closed().len()), (CheckoutStatus::Closing, 0));
    fixture.clock.advance(Duration::from_millis(1));
    fixture.service.run_maintenance().expect("maintenance");
    assert_eq!((status(&fixture, order.id), fixture.gateway.closed().len()), (CheckoutStatus::Closed, 1));
}

#[test]
fn a_first_checkout_can_be_renewed_soon_after_a_kill_in_its_start() {
    for role in ["start", "start with a key"] {
        let fixture = Fixture::new();
        let ticket_type = fixture.new_ticket_type(1250, 10);
        let asked = kill_while_it_waits(role, &fixture, &ticket_type);
        let order: OrderId = asked.strip_prefix("checkout-").and_then(|id| id.parse().ok()).expect("an order");
        let renew = || fixture.service.renew_checkout(&fixture.caller, order);
        assert_starting(renew());
        fixture.clock.advance(LEASE - Duration::from_millis(1));
        assert_starting(renew());
        fixture.clock.advance(Duration::from_millis(1));
        let renewed = renew().expect("a checkout");
        assert_eq!(renewed.checkout_url, format!("https://pay.example/pay-{order}"));
        // The gateway returns the session that it may have made for the process that was killed.
        let keys: Vec<_> = fixture.gateway.checkouts().into_iter().map(|checkout| checkout.idempotency_key).collect();
        assert_eq!(keys, [asked]);
        if role == "start with a key" {
            let request = new_order(ticket_type.event_id, ticket_type.id, 1);
            let created = fixture.service.create_order(&fixture.caller_with_key("key"), request).expect("an order");
            assert_eq!((created.value.order.id, created.value.checkout_url), (order, Some(renewed.checkout_url)));
        }
        let paid = fixture.service.payment_completed(&fixture.caller, order).expect("paid");
        assert_eq!(paid.status, ticketing::order::OrderStatus::Completed);
    }
}

/// A gateway whose calls wait until the test lets them return.
#[derive(Clone)]
struct SlowGateway {
    asked: Arc<Mutex<Sender<()>>>,
    released: Arc<Mutex<Receiver<()>>>,
}

impl SlowGateway {
    fn new() -> (Self, Receiver<()>, Sender<()>) {
        let ((asked, is_asked), (release, released)) = (channel(), channel());
        let gateway = Self { asked: Arc::new(Mutex::new(asked)), released: Arc::new(Mutex::new(released)) };
        (gateway, is_asked, release)
    }

    fn wait(&self) {
        self.asked.lock().expect("no panic").send(()).expect("the test receives");
        self.released.lock().expect("no panic").recv_timeout(Duration::from_mins(1)).expect("the test releases it");
    }
}

impl PaymentGateway for SlowGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.wait();
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }

    fn checkouts(&self) -> Option<&dyn Checkouts> {
        Some(self)
    }
}

impl Checkouts for SlowGateway {
    fn close(&self, _: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        self.wait();
        Ok(CheckoutState::Closed)
    }

    fn look_up(&self, _: &LookUp) -> Result<CheckoutState, GatewayError> {
        Ok(CheckoutState::Unknown)
    }
}

/// Lets half of a lease pass, and waits until it is renewed.
fn pass_and_wait_for_renewal(fixture: &Fixture) {
    fixture.clock.advance(LEASE / 2);
    let until = now(fixture) + 2000;
    wait_until("the lease is renewed", || fixture.stored("SELECT lease_ends_at FROM checkouts") == until);
}

/// Ends the lease, as if it had not been renewed in time.
fn end_lease(fixture: &Fixture) {
    fixture.database().run(&format!("UPDATE checkouts SET lease_ends_at = {}", now(fixture)));
}

fn now(fixture: &Fixture) -> i64 {
    use ticketing::environment::Clock;
    fixture.clock.now().millis()
}

fn slow_fixture(first: &SlowGateway) -> (Fixture, TicketingService, TicketType) {
    let fixture = Fixture::new();
    let slow = fixture.second_service_with(|builder| builder.payment_gateway(first.clone()));
    let ticket_type = fixture.new_ticket_type(1250, 10);
    (fixture, slow, ticket_type)
}

#[test]
fn a_process_that_waits_to_close_a_checkout_keeps_its_claim_for_two_minutes() {
    let (gateway, is_asked, release) = SlowGateway::new();
    let (fixture, slow, ticket_type) = slow_fixture(&gateway);
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let order: Order = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| slow.run_maintenance());
        is_asked.recv_timeout(Duration::from_secs(15)).expect("it asks its gateway");
        fixture.clock.advance(ATTEMPT - Duration::from_millis(1));
        fixture.service.run_maintenance().expect("maintenance");
        assert_eq!(fixture.gateway.closed().len(), 0);
        // Control: then the claim is lost.
        fixture.clock.advance(Duration::from_millis(1));
        fixture.service.run_maintenance().expect("maintenance");
        assert_eq!((status(&fixture, order.id), fixture.gateway.closed().len()), (CheckoutStatus::Closed, 1));
        release.send(()).expect("it waits");
        run.join().expect("no panic").expect("maintenance");
    });
    // What the slow process did later changes nothing, and is not asked again.
    fixture.clock.advance(Duration::from_hours(1));
    fixture.service.run_maintenance().expect("maintenance");
    assert_eq!((status(&fixture, order.id), fixture.gateway.closed().len()), (CheckoutStatus::Closed, 1));
}

#[test]
fn a_process_that_waits_for_a_first_checkout_keeps_its_lease() {
    let (gateway, is_asked, release) = SlowGateway::new();
    let (fixture, slow, ticket_type) = slow_fixture(&gateway);
    let create = |service: &TicketingService| {
        let request = new_order(ticket_type.event_id, ticket_type.id, 1);
        service.create_order(&fixture.caller_with_key("key"), request).map(|created| created.value)
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| create(&slow));
        is_asked.recv_timeout(Duration::from_secs(15)).expect("it asks its gateway");
        let order = fixture.service.list_orders(&fixture.caller, Default::default()).expect("orders").data.remove(0).id;
        for _ in 0..3 {
            pass_and_wait_for_renewal(&fixture);
            assert_in_progress(create(&fixture.service), LEASE);
            assert_starting(fixture.service.renew_checkout(&fixture.caller, order));
        }
        // Control: without a renewal the lease is lost.
        end_lease(&fixture);
        let created = create(&fixture.service).expect("an order");
        release.send(()).expect("it waits");
        assert_eq!(first.join().expect("no panic"), Ok(created));
    });
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders"), 1);
}
