//! Simultaneous requests with one idempotency key: the work is done once. Each test has a control, the same race with a
//! key for each request, in which the work of every request is done.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ticketing::environment::Entropy;
use ticketing::error::Reason;
use ticketing::order::{CreateOrder, CreateOrderResponse, OrderStatus};
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::request::KeyedCaller;
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::TicketType;
use ticketing::{Caller, Error, Result, TicketingService};

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, start_together, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;

const THREADS: usize = 32;
const ROUNDS: usize = 12;

fn with_key(caller: &Caller, key: &str) -> KeyedCaller {
    caller.with_idempotency_key(key)
}

fn order(
    service: &TicketingService,
    by: &KeyedCaller,
    ticket_type: &TicketType,
    quantity: i64,
) -> Result<CreateOrderResponse> {
    let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, quantity);
    service.create_order(by, request).map(|result| result.value)
}

fn is_in_progress(error: &Error) -> bool {
    matches!(error, Error::IdempotencyInProgress { .. })
}

/// Returns the response that all successful requests got. All others must have failed with `IdempotencyInProgress`.
fn only_response(results: Vec<Result<CreateOrderResponse>>) -> CreateOrderResponse {
    let mut one: Option<CreateOrderResponse> = None;
    for result in results {
        match result {
            Ok(result) => assert_eq!(*one.get_or_insert_with(|| result.clone()), result),
            Err(error) => assert!(is_in_progress(&error), "{error:?}"),
        }
    }
    one.expect("a response")
}

fn orders(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM orders")
}

#[test]
fn a_free_order_with_one_key_is_created_once_by_32_threads() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10_000);
    let services = [fixture.service.clone(), fixture.second_service()];
    for round in 1..=ROUNDS {
        let key = format!("round-{round}");
        let by = |number: usize| order(&services[number % 2], &with_key(&fixture.caller, &key), &ticket_type, 2);
        let created = only_response(run_at_once(THREADS, by));
        assert_eq!(created.issued_tickets.len(), 2);
        assert_eq!((orders(&fixture), fixture.sold(&ticket_type)), (round as i64, 2 * round as i64));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_with_a_key_for_each_thread_there_are_32_free_orders() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10_000);
    let by =
        |number: usize| order(&fixture.service, &with_key(&fixture.caller, &format!("key-{number}")), &ticket_type, 2);
    assert!(run_at_once(THREADS, by).iter().all(Result::is_ok));
    assert_eq!((orders(&fixture), fixture.sold(&ticket_type)), (32, 64));
}

#[test]
fn requests_with_one_key_for_the_last_seat_all_get_the_same_order() {
    for _ in 0..ROUNDS {
        let fixture = Fixture::new();
        let event = fixture.event();
        fixture.ticket_type(&event, 0, 1);
        let last = fixture.ticket_type(&event, 0, 1);
        only_response(run_at_once(THREADS, |_| order(&fixture.service, &fixture.caller_with_key("key"), &last, 1)));
        assert_eq!((orders(&fixture), fixture.sold(&last)), (1, 1));
    }
}

#[test]
fn control_with_a_key_for_each_thread_one_request_gets_the_last_seat() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.ticket_type(&event, 0, 1);
    let last = fixture.ticket_type(&event, 0, 1);
    let results = run_at_once(THREADS, |number| {
        order(&fixture.service, &fixture.caller_with_key(&format!("key-{number}")), &last, 1)
    });
    let (created, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((created.len(), refused.len()), (1, 31));
    assert!(refused.into_iter().all(|refused| reason(refused) == Reason::SoldOut));
}

/// A gateway whose calls wait until it is opened.
#[derive(Clone, Default)]
struct GatedGateway(Arc<Gate>);

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    calls: AtomicUsize,
}

impl GatedGateway {
    fn open(&self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }

    fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }
}

impl PaymentGateway for GatedGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.0.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

/// Creates orders on 32 threads with these keys, while the gateway waits until `refused` requests have been refused.
fn orders_through_a_slow_gateway(
    refused: usize,
    key: impl Fn(usize) -> String + Sync,
) -> (Fixture, GatedGateway, Vec<Result<CreateOrderResponse>>) {
    let gateway = GatedGateway::default();
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway.clone()));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let answered = AtomicUsize::new(0);
    if refused == 0 {
        gateway.open();
    }
    let results = run_at_once(THREADS, |number| {
        let result = order(&fixture.service, &fixture.caller_with_key(&key(number)), &ticket_type, 1);
        if answered.fetch_add(1, Ordering::SeqCst) + 1 == refused {
            gateway.open();
        }
        result
    });
    (fixture, gateway, results)
}

#[test]
fn an_order_with_one_key_is_created_once_while_the_others_are_refused() {
    let (fixture, gateway, results) = orders_through_a_slow_gateway(THREADS - 1, |_| "key".to_owned());
    let refused = results.iter().filter(|result| result.as_ref().is_err_and(is_in_progress)).count();
    assert_eq!(refused, THREADS - 1);
    let created = only_response(results);
    assert!(created.checkout_url.is_some());
    assert_eq!((orders(&fixture), gateway.calls()), (1, 1));
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 1);
    // The key is no longer in use.
    let ticket_type =
        fixture.service.get_ticket_type(&fixture.caller, created.order.items[0].ticket_type_id).expect("the type");
    assert_eq!(order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1), Ok(created));
}

#[test]
fn control_with_a_key_for_each_thread_there_are_32_orders_with_a_link() {
    let (fixture, gateway, results) = orders_through_a_slow_gateway(0, |number| format!("key-{number}"));
    assert!(results.iter().all(Result::is_ok));
    assert_eq!((orders(&fixture), gateway.calls()), (32, 32));
}

#[test]
fn two_services_that_continue_one_order_use_one_key_at_the_gateway() {
    for round in 0..ROUNDS {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let services = [fixture.service.clone(), fixture.second_service()];
        let created = only_response(run_at_once(8, |number| {
            order(&services[number % 2], &fixture.caller_with_key("key"), &ticket_type, 1)
        }));
        assert_eq!((orders(&fixture), created.order.status), (1, OrderStatus::Pending), "round {round}");
        let calls: HashSet<_> = fixture.gateway.checkouts().into_iter().map(|calls| calls.idempotency_key).collect();
        assert_eq!(calls.len(), 1);
    }
}

#[test]
fn simultaneous_scans_with_one_key_count_as_one_scan() {
    for _ in 0..ROUNDS {
        let fixture = Fixture::new();
        let ticket = fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1).remove(0);
        let services = [fixture.service.clone(), fixture.second_service()];
        let scans = run_at_once(16, |number| {
            let scan = CheckInTicket::new(&ticket.code);
            services[number % 2].check_in_ticket(&fixture.caller_with_key("key"), scan).map(|result| result.value)
        });
        let checked_in = fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
        assert_eq!(checked_in.scan_count, 1);
        let is_expected = |scan: &Result<_>| scan.as_ref().map_or_else(is_in_progress, |scan| *scan == checked_in);
        assert!(scans.iter().all(is_expected), "{scans:?}");
        assert!(scans.iter().any(Result::is_ok));
    }
}

#[test]
fn control_with_a_key_for_each_scan_all_scans_count_and_one_is_accepted() {
    let fixture = Fixture::new();
    let ticket = fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1).remove(0);
    let scans = run_at_once(16, |number| {
        let by = fixture.caller_with_key(&format!("key-{number}"));
        fixture.service.check_in_ticket(&by, CheckInTicket::new(&ticket.code))
    });
    assert_eq!(scans.iter().filter(|scan| scan.is_ok()).count(), 1);
    assert_eq!(fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").scan_count, 16);
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_creates_orders_with_its_keys");

#[test]
#[ignore = "other tests start it"]
fn a_child_process_creates_orders_with_its_keys() {
    let prefix = child_role();
    let service = database::builder(child_variable("TICKETING_TEST_FILE")).sandbox_gateway().open().expect("the file");
    let caller = service
        .act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().expect("an id"))
        .expect("the organization exists");
    let ticket_type = child_variable("TICKETING_TEST_TICKET_TYPE").parse().expect("an id");
    let ticket_type = service.get_ticket_type(&caller, ticket_type).expect("the type");
    send_to_parent("ready");
    wait_for_parent();
    for round in 0..ROUNDS {
        let by = with_key(&caller, &format!("{prefix}-{round}"));
        for result in run_at_once(8, |_| order(&service, &by, &ticket_type, 1)) {
            match result {
                Ok(created) => send_to_parent(format_args!("{round} {}", created.order.id)),
                Err(error) => assert!(is_in_progress(&error), "{error:?}"),
            }
        }
    }
}

/// Runs two processes that create orders with these keys. Returns the responses of both, and the number of orders.
fn two_processes(prefixes: [&str; 2], cents: i64) -> (HashSet<String>, i64) {
    // The child processes use the system's clock.
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| {
        new.start_date = ticketing::Timestamp::MAX;
        new.end_date = None;
    });
    let ticket_type = fixture.ticket_type(&event, cents, 1000);
    let children = prefixes.map(|prefix| {
        let mut command = child_process(CHILD, prefix);
        command
            .env("TICKETING_TEST_FILE", fixture.path())
            .env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
        command.env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string());
        command
    });
    let ended: Vec<_> = start_together(children).into_iter().map(ChildProcess::finish).collect();
    assert!(ended.iter().all(|process| process.status.success()));
    assert_consistent(&fixture.database());
    (ended.into_iter().flat_map(|process| process.messages).collect(), orders(&fixture))
}

#[test]
fn two_processes_with_the_same_keys_create_one_order_for_each() {
    for cents in [0, 1250] {
        let (responses, created) = two_processes(["same", "same"], cents);
        assert_eq!((responses.len(), created), (ROUNDS, ROUNDS as i64), "{cents}: {responses:?}");
    }
}

#[test]
fn control_two_processes_with_different_keys_create_twice_as_many() {
    let (responses, created) = two_processes(["one", "other"], 0);
    assert_eq!((responses.len(), created), (2 * ROUNDS, 2 * ROUNDS as i64));
}

/// An entropy source that panics if the test says so. It is used in the middle of a transaction.
#[derive(Debug, Clone, Default)]
struct PanickingEntropy(Arc<AtomicBool>);

impl Entropy for PanickingEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        assert!(!self.0.load(Ordering::SeqCst), "the test told the entropy to panic");
        ticketing::environment::SystemEntropy.fill(bytes);
    }
}

#[test]
fn a_panic_frees_the_key() {
    let entropy = PanickingEntropy::default();
    let fixture = Fixture::with(|builder| builder.entropy(entropy.clone()));
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let before = fixture.all_rows();
    entropy.0.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let failed = order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect_err("it panics");
        assert!(matches!(failed, Error::Internal(_)), "{failed:?}");
    }
    assert_eq!(fixture.all_rows(), before);
    entropy.0.store(false, Ordering::SeqCst);
    order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect("the key is free");
}

#[test]
fn a_gateway_that_panics_or_hangs_frees_the_key() {
    for behavior in [GatewayBehavior::Panic, GatewayBehavior::Hang] {
        // Long enough for the call that does not hang, on any machine.
        let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(2)));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        fixture.gateway.on_checkout(behavior);
        let failed = order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect_err("no link");
        assert!(matches!(failed, Error::PaymentGatewayFailed(_)), "{failed:?}");
        fixture.gateway.on_checkout(GatewayBehavior::Succeed);
        order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect("the key is free");
    }
}
