//! Refunds: recorded as due with the cancellation, requested at once, and again until the gateway answers.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use ticketing::environment::Clock;
use ticketing::id::OrderId;
use ticketing::order::{Order, OrderStatus, PaymentStatus};
use ticketing::page::PageRequest;
use ticketing::payment::ManualMethod;
use ticketing::payment::{ListRefunds, Refund, RefundSource, RefundStatus};
use ticketing::ticket_type::TicketType;

use crate::common::*;

fn paid(fixture: &Fixture) -> (TicketType, Order) {
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 2);
    (ticket_type, order)
}

fn cancel(fixture: &Fixture, id: OrderId) -> bool {
    let cancelled = fixture.service.cancel_order(&fixture.caller, id).expect("cancelled");
    assert!(cancelled.success);
    cancelled.requires_manual_refund
}

fn refunds(fixture: &Fixture, status: Option<RefundStatus>) -> Vec<Refund> {
    let mut request = ListRefunds::default();
    request.status = status;
    fixture.service.list_refunds(&fixture.caller, request).expect("a page").data
}

fn answered_refunds(fixture: &Fixture) -> usize {
    fixture.service.run_maintenance().expect("a run").answered_refunds
}

#[test]
fn cancelling_a_paid_order_refunds_it() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    assert!(!cancel(&fixture, order.id));
    assert_eq!(
        (fixture.order_status(order.id), fixture.payment_status(order.id)),
        (OrderStatus::Cancelled, Some(PaymentStatus::Refunded))
    );
    let requests = fixture.gateway.refunds();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].order_id, requests[0].amount, requests[0].currency.as_str()), (order.id, eur(2500), "EUR"));
    assert_eq!(requests[0].reference, Some(format!("pay-{}", order.id)));
    let listed = refunds(&fixture, None);
    assert_eq!((requests[0].refund_id, requests[0].attempt), (listed[0].id, 1));
    assert_eq!(requests[0].idempotency_key, format!("refund-{}", listed[0].id));
    assert_eq!(
        (listed[0].source, &listed[0].reason, &listed[0].reference),
        (RefundSource::Order, &None, &Some("re_1".to_owned()))
    );
    assert_eq!((listed.len(), listed[0].order_id, listed[0].status), (1, order.id, RefundStatus::Done));
    assert_eq!((listed[0].amount, listed[0].attempts, &listed[0].last_error), (eur(2500), 1, &None));
    assert_eq!((answered_refunds(&fixture), fixture.gateway.refunds().len()), (0, 1), "never twice");
}

#[test]
fn pending_expired_and_free_orders_need_no_refund() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let free = fixture.ticket_type(&event, 0, 10);
    let expired = fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    for order in [fixture.order(&ticket_type, 1), expired, fixture.order(&free, 1)] {
        assert!(!cancel(&fixture, order.id));
    }
    assert!(fixture.gateway.refunds().is_empty() && refunds(&fixture, None).is_empty());
}

#[test]
fn without_a_gateway_that_can_refund_the_organizer_refunds() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    fixture.gateway.disable_refunds();
    assert!(cancel(&fixture, order.id));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert!(fixture.gateway.refunds().is_empty());
    // A late payment is listed, because nothing else would show it.
    let late = fixture.order(&ticket_type, 1);
    assert!(!cancel(&fixture, late.id));
    fixture.service.payment_completed(&fixture.caller, late.id).expect("recorded");
    assert_eq!(fixture.payment_status(late.id), Some(PaymentStatus::Completed));
    let listed = refunds(&fixture, Some(RefundStatus::Refused));
    assert_eq!(listed.iter().map(|refund| refund.order_id).collect::<Vec<_>>(), [late.id]);
    fixture.clock.advance(Duration::from_hours(2));
    assert_eq!((answered_refunds(&fixture), fixture.gateway.refunds().len()), (0, 0));

    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 1);
    fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    assert!(cancel(&fixture, order.id));
}

#[test]
fn a_refund_is_repeated_with_one_idempotency_key_at_growing_intervals() {
    for behavior in [GatewayBehavior::Unavailable, GatewayBehavior::Panic] {
        let fixture = Fixture::new();
        let (_, order) = paid(&fixture);
        fixture.gateway.on_refund(behavior);
        assert!(!cancel(&fixture, order.id));
        let due = || refunds(&fixture, Some(RefundStatus::Due)).len();
        assert_eq!((due(), fixture.payment_status(order.id)), (1, Some(PaymentStatus::Completed)), "{behavior:?}");
        // The refund is requested again at growing intervals.
        let mut intervals = Vec::new();
        for _ in 0..4 {
            let requests = fixture.gateway.refunds().len();
            let mut waited = 0;
            while fixture.gateway.refunds().len() == requests {
                assert!(waited < 3600, "{behavior:?}: at least once an hour");
                fixture.clock.advance(Duration::from_secs(1));
                waited += 1;
                assert_eq!(answered_refunds(&fixture), 0, "{behavior:?}");
            }
            intervals.push(waited);
        }
        assert!(intervals.is_sorted_by(|one, next| one < next), "{behavior:?}: {intervals:?}");
        fixture.gateway.on_refund(GatewayBehavior::Succeed);
        fixture.clock.advance(Duration::from_hours(1));
        assert_eq!((answered_refunds(&fixture), due()), (1, 0), "{behavior:?}");
        assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded), "{behavior:?}");
        let requests = fixture.gateway.refunds();
        assert_eq!(requests.len(), 6, "{behavior:?}");
        assert_eq!(
            requests.iter().map(|refund| &refund.idempotency_key).collect::<HashSet<_>>().len(),
            1,
            "{behavior:?}"
        );
        assert_eq!(refunds(&fixture, None)[0].attempts, 6, "{behavior:?}");
        fixture.clock.advance(Duration::from_hours(48));
        assert_eq!((answered_refunds(&fixture), fixture.gateway.refunds().len()), (0, 6), "{behavior:?}");
    }
}

#[test]
fn a_refund_that_was_recorded_while_the_clock_was_days_ahead_is_requested_once_it_is_put_right() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    let other = fixture.paid_order(&ticket_type, 1);
    let right = fixture.clock.now();
    fixture.clock.advance(Duration::from_hours(48));
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    assert!(!cancel(&fixture, order.id));
    // As if the process had ended after it claimed the refund.
    cancel(&fixture, other.id);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    let minute = right.saturating_add(Duration::from_hours(48) + Duration::from_mins(1)).millis();
    fixture.database().run(&format!("UPDATE work SET due_at = {minute} WHERE kind LIKE 'refund %'"));
    fixture.clock.set(right);
    assert_eq!(answered_refunds(&fixture), 2);
    assert_eq!(refunds(&fixture, Some(RefundStatus::Done)).len(), 2);
    assert_eq!(answered_refunds(&fixture), 0);
}

#[test]
fn the_next_attempt_of_a_refund_stays_within_the_longest_interval_if_the_clock_is_set_back() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel(&fixture, order.id);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    // The longest interval is an hour, and clocks may differ by a minute.
    let latest = fixture.clock.now().saturating_add(Duration::from_mins(61)).millis();
    fixture.database().run(&format!("UPDATE work SET due_at = {latest}"));
    assert_eq!(answered_refunds(&fixture), 0);
    fixture.database().run(&format!("UPDATE work SET due_at = {latest} + 1"));
    assert_eq!(answered_refunds(&fixture), 1);
}

#[test]
fn a_hanging_gateway_delays_a_cancellation_only_until_its_timeout() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(1)));
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Hang);
    assert!(!cancel(&fixture, order.id));
    assert_eq!(refunds(&fixture, Some(RefundStatus::Due)).len(), 1);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(1));
    assert_eq!(answered_refunds(&fixture), 1);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}

#[test]
fn a_refund_survives_a_crash_before_the_gateway_answers() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(600)));
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Hang);
    // The call hangs, so the service never sees the response, as if its process had died.
    let service = fixture.service.clone();
    let caller = fixture.caller.clone();
    let hanging = std::thread::spawn(move || service.cancel_order(&caller, order.id));
    while fixture.gateway.refunds().is_empty() {
        assert!(!hanging.is_finished());
        std::thread::yield_now();
    }
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    let next = fixture.second_service();
    assert_eq!(next.get_order(&fixture.caller, order.id).expect("the order").status, OrderStatus::Cancelled);
    fixture.clock.advance(Duration::from_mins(10));
    assert_eq!(next.run_maintenance().expect("a run").answered_refunds, 1);
    let payment = next.get_order(&fixture.caller, order.id).expect("the order").payment_gateway.expect("a payment");
    assert_eq!(payment.status, PaymentStatus::Refunded);
    let requests = fixture.gateway.refunds();
    assert_eq!(requests.len(), 2);
    let again = requests[0].clone().attempt(2).asked_at(fixture.clock.now());
    assert_eq!(again, requests[1], "the same request with the same key, so that the gateway refunds once");
}

#[test]
fn two_services_request_a_refund_once() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel(&fixture, order.id);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(1));
    let one = fixture.service.clone();
    let other = fixture.second_service();
    let answered: usize = std::thread::scope(|scope| {
        let runs = [one, other].map(|service| scope.spawn(move || service.run_maintenance().expect("a run")));
        runs.into_iter().map(|run| run.join().expect("no panic").answered_refunds).sum()
    });
    assert_eq!((answered, fixture.gateway.refunds().len()), (1, 2));
}

#[test]
fn refunds_are_listed_by_status_newest_first_in_pages() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let mut orders = Vec::new();
    for behavior in
        [GatewayBehavior::Succeed, GatewayBehavior::Refuse, GatewayBehavior::Unavailable, GatewayBehavior::Succeed]
    {
        let order = fixture.paid_order(&ticket_type, 1);
        fixture.gateway.on_refund(behavior);
        cancel(&fixture, order.id);
        orders.push(order.id);
    }
    let ids = |status| refunds(&fixture, status).iter().map(|refund| refund.order_id).collect::<Vec<_>>();
    assert_eq!(ids(None), [orders[3], orders[2], orders[1], orders[0]]);
    assert_eq!(ids(Some(RefundStatus::Done)), [orders[3], orders[0]]);
    assert_eq!(ids(Some(RefundStatus::Refused)), [orders[1]]);
    assert_eq!(ids(Some(RefundStatus::Due)), [orders[2]]);
    let page = |page| fixture.service.list_refunds(&fixture.caller, ListRefunds::default().page(page));
    let first = page(PageRequest::first(3)).expect("a page");
    assert_eq!((first.data.len(), first.next_cursor), (3, Some(first.data[2].id)));
    assert_eq!(first.data[2].order_id, orders[1]);
    let last = page(PageRequest::first(3).after(first.data[2].id)).expect("a page");
    assert_eq!((last.data.len(), last.next_cursor), (1, None));
    assert_eq!(paths(page(PageRequest::first(0))), ["limit"]);
    let unknown = "refund_0000000000011".parse().expect("an id");
    assert_eq!(paths(page(PageRequest::first(3).after(unknown))), ["cursor"]);
    let other = fixture.other_organization();
    assert!(fixture.service.list_refunds(&other, ListRefunds::default()).expect("a page").data.is_empty());
}

#[test]
fn a_refund_just_requested_by_another_service_is_not_repeated() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    let orders = [(); 2].map(|()| {
        let order = fixture.paid_order(&ticket_type, 1).id;
        cancel(&fixture, order);
        fixture.clock.advance(Duration::from_secs(1));
        order
    });
    fixture.clock.advance(Duration::from_mins(1));
    // Both are due in this run. While it requests the first refund, the other service requests the second.
    let (other, is_first) = (fixture.second_service(), AtomicBool::new(true));
    fixture.gateway.during_refund(move || match is_first.swap(false, Ordering::SeqCst) {
        true => {
            other.run_maintenance().expect("a run");
            GatewayBehavior::Succeed
        }
        false => GatewayBehavior::Unavailable,
    });
    assert_eq!(answered_refunds(&fixture), 1);
    let asked: Vec<_> = fixture.gateway.refunds()[2..].iter().map(|request| request.order_id).collect();
    assert_eq!(asked, orders);
}

#[test]
fn a_refusal_that_is_recorded_after_another_process_has_claimed_the_refund_does_not_count() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(600)));
    let gateway = fixture.gateway.clone();
    let other = fixture
        .second_service_with(|builder| builder.payment_gateway(gateway).gateway_timeout(Duration::from_secs(600)));
    let (_, order) = paid(&fixture);
    // The test receives a sender for each answer.
    let (calls, called) = channel();
    fixture.gateway.during_refund(move || {
        let (answer, answered) = channel();
        calls.send(answer).expect("the test waits");
        answered.recv().expect("the test answers")
    });
    std::thread::scope(|scope| {
        let cancelled = scope.spawn(|| fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled"));
        let first: Sender<_> = called.recv().expect("the first attempt");
        // As if the process had been stopped for longer than its claim lasts.
        fixture.clock.advance(Duration::from_mins(2));
        let run = scope.spawn(|| other.run_maintenance().expect("a run"));
        let second = called.recv().expect("the second attempt");
        first.send(GatewayBehavior::Refuse).expect("the first attempt waits");
        cancelled.join().expect("no panic");
        second.send(GatewayBehavior::Succeed).expect("the second attempt waits");
        assert_eq!(run.join().expect("no panic").answered_refunds, 1);
    });
    let refunds = refunds(&fixture, None);
    assert_eq!((refunds[0].status, refunds[0].attempts), (RefundStatus::Done, 2));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}
