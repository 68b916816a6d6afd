//! Many at once with one idempotency key: the work is done once. Each has a control, the same race with a key for each
//! caller, in which everybody's work is done.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::common::invariants::assert_consistent;
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, start_together, wait_for_parent,
};
use crate::common::threads::run_at_once;
use crate::common::*;
use ticketing::{
    Caller, CheckInTicket, Checkout, CheckoutRequest, CreateOrder, CreateOrderResponse, Entropy, Error, GatewayError,
    OrderStatus, PaymentGateway, Reason, RefundRequest, Result, TicketType, TicketingService,
};

const THREADS: usize = 32;
const ROUNDS: usize = 12;

fn keyed(caller: &Caller, key: &str) -> Caller {
    caller.with_idempotency_key(key.parse().expect(key))
}

fn order(service: &TicketingService, by: &Caller, of: &TicketType, quantity: i64) -> Result<CreateOrderResponse> {
    service.create_order(by, CreateOrder::new(of.event_id, new_customer(), of.id, quantity))
}

/// The one answer that all who were answered got. Whoever was not heard that the work is under way.
fn the_one_answer(answers: Vec<Result<CreateOrderResponse>>) -> CreateOrderResponse {
    let mut one: Option<CreateOrderResponse> = None;
    for answer in answers {
        match answer {
            Ok(answer) => assert_eq!(*one.get_or_insert_with(|| answer.clone()), answer),
            Err(error) => assert_eq!(error, Error::IdempotencyInProgress),
        }
    }
    one.expect("somebody is answered")
}

fn orders(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM orders")
}

#[test]
fn a_free_order_under_one_key_is_placed_once_by_32_threads_and_two_services() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10_000);
    let services = [fixture.service.clone(), fixture.second_service()];
    for round in 1..=ROUNDS {
        let key = format!("round-{round}");
        let by = |number: usize| order(&services[number % 2], &keyed(&fixture.caller, &key), &ticket_type, 2);
        let placed = the_one_answer(run_at_once(THREADS, by));
        assert_eq!(placed.issued_tickets.len(), 2);
        assert_eq!((orders(&fixture), fixture.sold(&ticket_type)), (round as i64, 2 * round as i64));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_with_a_key_for_each_thread_there_are_32_free_orders() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10_000);
    let by =
        |number: usize| order(&fixture.service, &keyed(&fixture.caller, &format!("key-{number}")), &ticket_type, 2);
    assert!(run_at_once(THREADS, by).iter().all(Result::is_ok));
    assert_eq!((orders(&fixture), fixture.sold(&ticket_type)), (32, 64));
}

#[test]
fn the_last_place_under_one_key_goes_to_all_who_show_it_and_is_never_sold_out_for_them() {
    for _ in 0..ROUNDS {
        let fixture = Fixture::new();
        let event = fixture.event();
        fixture.ticket_type(&event, 0, 1);
        let last = fixture.ticket_type(&event, 0, 1);
        the_one_answer(run_at_once(THREADS, |_| order(&fixture.service, &fixture.caller_with_key("key"), &last, 1)));
        assert_eq!((orders(&fixture), fixture.sold(&last)), (1, 1));
    }
}

#[test]
fn control_with_a_key_for_each_thread_all_but_one_find_the_last_place_sold() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.ticket_type(&event, 0, 1);
    let last = fixture.ticket_type(&event, 0, 1);
    let answers = run_at_once(THREADS, |number| {
        order(&fixture.service, &fixture.caller_with_key(&format!("key-{number}")), &last, 1)
    });
    let (placed, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((placed.len(), refused.len()), (1, 31));
    assert!(refused.into_iter().all(|refused| reason(refused) == Reason::SoldOut));
}

/// A gateway that answers nobody before its gate is opened.
#[derive(Clone, Default)]
struct Gated(Arc<Gate>);

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    asked: AtomicUsize,
}

impl Gated {
    fn open(&self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }
}

impl PaymentGateway for Gated {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.0.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout { link: format!("https://pay.example/{reference}"), reference })
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

/// Has 32 threads order at once with these keys, while the gateway waits until `refused` of them were answered.
fn orders_through_a_slow_gateway(
    refused: usize,
    key: impl Fn(usize) -> String + Sync,
) -> (Fixture, Gated, Vec<Result<CreateOrderResponse>>) {
    let gateway = Gated::default();
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway.clone()));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let answered = AtomicUsize::new(0);
    if refused == 0 {
        gateway.open();
    }
    let answers = run_at_once(THREADS, |number| {
        let answer = order(&fixture.service, &fixture.caller_with_key(&key(number)), &ticket_type, 1);
        if answered.fetch_add(1, Ordering::SeqCst) + 1 == refused {
            gateway.open();
        }
        answer
    });
    (fixture, gateway, answers)
}

#[test]
fn a_paid_order_under_one_key_is_placed_once_and_the_others_hear_that_it_is_under_way() {
    let (fixture, gateway, answers) = orders_through_a_slow_gateway(THREADS - 1, |_| "key".to_owned());
    let refused = answers.iter().filter(|answer| **answer == Err(Error::IdempotencyInProgress)).count();
    assert_eq!(refused, THREADS - 1);
    let placed = the_one_answer(answers);
    assert!(placed.checkout_url.is_some());
    assert_eq!((orders(&fixture), gateway.asked()), (1, 1));
    assert_eq!(fixture.stored("SELECT SUM(held) FROM ticket_types"), 1);
    // The key is not at work any more.
    let of =
        fixture.service.get_ticket_type(&fixture.caller, placed.order.items[0].item.ticket_type_id).expect("the type");
    assert_eq!(order(&fixture.service, &fixture.caller_with_key("key"), &of, 1), Ok(placed));
}

#[test]
fn control_with_a_key_for_each_thread_there_are_32_paid_orders() {
    let (fixture, gateway, answers) = orders_through_a_slow_gateway(0, |number| format!("key-{number}"));
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((orders(&fixture), gateway.asked()), (32, 32));
}

#[test]
fn two_services_that_take_up_one_paid_order_ask_under_one_key_and_give_one_answer() {
    for round in 0..ROUNDS {
        let fixture = Fixture::new();
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let services = [fixture.service.clone(), fixture.second_service()];
        let placed = the_one_answer(run_at_once(8, |number| {
            order(&services[number % 2], &fixture.caller_with_key("key"), &ticket_type, 1)
        }));
        assert_eq!((orders(&fixture), placed.order.status), (1, OrderStatus::Pending), "round {round}");
        let asked: HashSet<_> = fixture.gateway.checkouts().into_iter().map(|asked| asked.idempotency_key).collect();
        assert_eq!(asked.len(), 1);
    }
}

#[test]
fn at_two_doors_under_one_key_a_ticket_is_scanned_once_and_nobody_hears_that_it_is_inside_already() {
    for _ in 0..ROUNDS {
        let fixture = Fixture::new();
        let ticket = fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1).remove(0);
        let services = [fixture.service.clone(), fixture.second_service()];
        let scans = run_at_once(16, |number| {
            services[number % 2].check_in_ticket(&fixture.caller_with_key("key"), CheckInTicket::new(&ticket.code))
        });
        let inside = fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
        assert_eq!(inside.scan_count, 1);
        let in_progress = Err(Error::IdempotencyInProgress);
        assert!(scans.iter().all(|scan| *scan == in_progress || *scan == Ok(inside.clone())), "{scans:?}");
        assert!(scans.iter().any(Result::is_ok));
    }
}

#[test]
fn control_under_a_key_for_each_door_a_ticket_is_scanned_by_all_and_is_inside_already_for_all_but_one() {
    let fixture = Fixture::new();
    let ticket = fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1).remove(0);
    let scans = run_at_once(16, |number| {
        let by = fixture.caller_with_key(&format!("key-{number}"));
        fixture.service.check_in_ticket(&by, CheckInTicket::new(&ticket.code))
    });
    assert_eq!(scans.iter().filter(|scan| scan.is_ok()).count(), 1);
    assert_eq!(fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").scan_count, 16);
}

const CHILD: &str = concat!(module_path!(), "::a_child_process_orders_under_its_keys");

#[test]
fn a_child_process_orders_under_its_keys() {
    let Some(prefix) = child_role() else { return };
    let service =
        TicketingService::builder(child_variable("TICKETING_TEST_FILE")).sandbox_gateway().open().expect("the file");
    let caller =
        service.act_for(child_variable("TICKETING_TEST_ORGANIZATION").parse().expect("an id")).expect("it is there");
    let ticket_type = child_variable("TICKETING_TEST_TICKET_TYPE").parse().expect("an id");
    let ticket_type = service.get_ticket_type(&caller, ticket_type).expect("the type");
    send_to_parent("ready");
    wait_for_parent();
    for round in 0..ROUNDS {
        let by = keyed(&caller, &format!("{prefix}-{round}"));
        for answer in run_at_once(8, |_| order(&service, &by, &ticket_type, 1)) {
            match answer {
                Ok(placed) => send_to_parent(format_args!("{round} {}", placed.order.id)),
                Err(error) => assert_eq!(error, Error::IdempotencyInProgress),
            }
        }
    }
}

/// What two processes are told of their orders under these keys, and how many orders there are.
fn two_processes(prefixes: [&str; 2], cents: i64) -> (HashSet<String>, i64) {
    // The children read the system's clock.
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| (new.start_date, new.end_date) = (ticketing::Timestamp::MAX, None));
    let ticket_type = fixture.ticket_type(&event, cents, 1000);
    let children = prefixes.map(|prefix| {
        let mut command = child_process(CHILD, prefix);
        command
            .env("TICKETING_TEST_FILE", fixture.path())
            .env("TICKETING_TEST_TICKET_TYPE", ticket_type.id.to_string());
        command.env("TICKETING_TEST_ORGANIZATION", fixture.caller.organization().to_string());
        command
    });
    let ends: Vec<_> = start_together(children).into_iter().map(ChildProcess::finish).collect();
    assert!(ends.iter().all(|(status, _)| status.success()));
    assert_consistent(&fixture.database());
    (ends.into_iter().flat_map(|(_, said)| said).collect(), orders(&fixture))
}

#[test]
fn two_processes_under_the_same_keys_place_one_order_for_each() {
    for cents in [0, 1250] {
        let (told, placed) = two_processes(["same", "same"], cents);
        assert_eq!((told.len(), placed), (ROUNDS, ROUNDS as i64), "{cents}: {told:?}");
    }
}

#[test]
fn control_two_processes_under_different_keys_place_twice_as_many() {
    let (told, placed) = two_processes(["one", "other"], 0);
    assert_eq!((told.len(), placed), (2 * ROUNDS, 2 * ROUNDS as i64));
}

/// Randomness that panics when it is told to, which it is asked for in the middle of a transaction.
#[derive(Debug, Clone, Default)]
struct Fragile(Arc<AtomicBool>);

impl Entropy for Fragile {
    fn fill(&self, bytes: &mut [u8]) {
        assert!(!self.0.load(Ordering::SeqCst), "the entropy panics, as it was told to");
        ticketing::SystemEntropy.fill(bytes);
    }
}

#[test]
fn work_that_panics_frees_its_key() {
    let entropy = Fragile::default();
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
    for mood in [GatewayBehavior::Panic, GatewayBehavior::Hang] {
        let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_millis(50)));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        fixture.gateway.on_checkout(mood);
        let failed = order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect_err("no link");
        assert!(matches!(failed, Error::PaymentGatewayFailed(_)), "{failed:?}");
        fixture.gateway.on_checkout(GatewayBehavior::Succeed);
        order(&fixture.service, &fixture.caller_with_key("key"), &ticket_type, 1).expect("the key is free");
    }
}
