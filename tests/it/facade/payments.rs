//! Payments: the checkout, reports of the gateway, late payments, and the hosted checkout of the sandbox.

use std::time::Duration;

use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::id::OrderId;
use ticketing::order::{
    CheckoutRedirectUrls, CreateOrder, CreateOrderResponse, ListOrders, NewOrderItem, Order, OrderStatus, OrderSummary,
    PaymentStatus,
};
use ticketing::payment::ManualMethod;
use ticketing::payment::{
    Checkout, CheckoutOutcome, CheckoutRequest, GatewayError, GatewayRefund, ListRefunds, PaymentGateway,
    RefundRequest, RefundStatus,
};
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::TicketType;
use ticketing::{Caller, Error, Result, TicketingService};

use crate::common::*;

fn completed(fixture: &Fixture, id: OrderId) -> Result<Order> {
    fixture.service.payment_completed(&fixture.caller, id)
}

fn failed(fixture: &Fixture, id: OrderId) -> Result<Order> {
    fixture.service.payment_failed(&fixture.caller, id)
}

fn refund_statuses(fixture: &Fixture) -> Vec<RefundStatus> {
    let page = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page");
    page.data.iter().map(|refund| refund.status).collect()
}

fn create_order(fixture: &Fixture, ticket_type: &TicketType, quantity: i64) -> Result<CreateOrderResponse> {
    fixture
        .service
        .create_order(&fixture.caller, CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, quantity))
}

#[test]
fn an_order_with_a_price_has_the_link_of_the_gateway() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let created = create_order(&fixture, &ticket_type, 2).expect("an order");
    let link = format!("https://pay.example/pay-{}", created.order.id);
    let payment = created.order.payment_gateway.clone().expect("a payment");
    assert_eq!((payment.link.as_str(), payment.status), (link.as_str(), PaymentStatus::Waiting));
    assert_eq!(created.checkout_url.as_deref(), Some(link.as_str()));
    assert_eq!(fixture.read_order(created.order.id), created.order);

    let checkout = fixture.gateway.checkouts().remove(0);
    assert_eq!((checkout.order_id, checkout.event_id), (created.order.id, ticket_type.event_id));
    assert_eq!(checkout.organization_id, fixture.caller.organization());
    assert_eq!((checkout.amount, checkout.currency.as_str()), (eur(2500), "EUR"));
    assert_eq!(checkout.customer, created.order.customer);
    assert_eq!(checkout.redirect_urls, None);
    assert!(checkout.idempotency_key.contains(&created.order.id.to_string()));
}

#[test]
fn without_a_gateway_the_organizer_marks_the_order_paid() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let created = create_order(&fixture, &ticket_type, 2).expect("an order");
    assert_eq!(
        (created.order.status, created.order.payment_gateway, created.checkout_url),
        (OrderStatus::Pending, None, None)
    );
    let paid = fixture.service.mark_order_paid(&fixture.caller, created.order.id, ManualMethod::Cash).expect("paid");
    assert_eq!((paid.status, paid.payment_gateway), (OrderStatus::Completed, None));
    assert_eq!(paid.items[0].issued_tickets.len(), 2);
}

#[test]
fn if_the_gateway_fails_the_order_is_cancelled_and_its_seats_are_free() {
    for behavior in
        [GatewayBehavior::Refuse, GatewayBehavior::Unavailable, GatewayBehavior::Panic, GatewayBehavior::Hang]
    {
        let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(1)));
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
        fixture.gateway.on_checkout(behavior);
        let refused = create_order(&fixture, &ticket_type, 2).expect_err("no link");
        assert!(matches!(refused, Error::PaymentGatewayFailed(_)), "{behavior:?}: {refused:?}");
        let orders = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data;
        assert_eq!(orders.len(), 1, "{behavior:?}");
        assert_eq!((orders[0].status, &orders[0].payment_gateway), (OrderStatus::Cancelled, &None), "{behavior:?}");
        assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0, "{behavior:?}");
        fixture.gateway.on_checkout(GatewayBehavior::Succeed);
        create_order(&fixture, &ticket_type, 2).expect("the seats are available again");
    }
}

#[test]
fn a_gateway_that_fails_after_the_hold_expired_cancels_the_order_too() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    // The hold is shorter than the call of the gateway.
    let clock = fixture.clock.clone();
    fixture.gateway.during_checkout(move |_| clock.advance(HOLD));
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    let refused = create_order(&fixture, &ticket_type, 1).expect_err("no link");
    assert!(matches!(refused, Error::PaymentGatewayFailed(_)), "{refused:?}");
    let orders = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data;
    assert_eq!(orders[0].status, OrderStatus::Cancelled, "the order is cancelled, as the error reports");
}

#[test]
fn a_link_received_after_the_hold_expired_is_the_last_change() {
    const LATE: Duration = Duration::from_mins(31);
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    let clock = fixture.clock.clone();
    fixture.gateway.during_checkout(move |_| clock.advance(LATE));
    let order = fixture.order(&ticket_type, 1);
    assert_eq!((order.status, order.updated_at), (OrderStatus::Expired, at(NOW).saturating_add(LATE)));
    assert_eq!(fixture.service.run_maintenance().expect("a run").expired_orders, 1);
    assert_eq!(fixture.read_order(order.id), order);
}

/// Creates an order, with which something happens while its checkout is started. Returns the response and the order
/// afterwards.
fn create_with_interference(
    interfere: impl Fn(&TicketingService, &Caller, OrderId) + Send + Sync + 'static,
) -> (Result<CreateOrderResponse>, OrderSummary) {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let (service, caller) = (fixture.service.clone(), fixture.caller.clone());
    fixture.gateway.during_checkout(move |request| interfere(&service, &caller, request.order_id));
    let created = create_order(&fixture, &ticket_type, 1);
    let listed = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data;
    (created, listed.into_iter().next().expect("the order"))
}

#[test]
fn a_payment_reported_before_the_link_completes_the_order() {
    let (created, order) =
        create_with_interference(|service, caller, id| drop(service.payment_completed(caller, id).expect("paid")));
    let created = created.expect("an order");
    assert_eq!((created.order.status, created.issued_tickets.len()), (OrderStatus::Completed, 1));
    let payment = order.payment_gateway.expect("a payment");
    let link = format!("https://pay.example/pay-{}", order.id);
    assert_eq!((payment.link, payment.status), (link, PaymentStatus::Completed));
}

#[test]
fn a_payment_counts_even_if_the_gateway_then_fails_to_return_a_link() {
    let pay_and_fail = |service: &TicketingService, caller: &Caller, id| {
        service.payment_completed(caller, id).expect("paid");
        panic!("the gateway panics after the payment, as configured");
    };
    let (created, order) = create_with_interference(pay_and_fail);
    let created = created.expect("an order");
    assert_eq!((created.order.status, created.issued_tickets.len()), (OrderStatus::Completed, 1));
    assert_eq!(created.checkout_url, None);
    assert_eq!(order.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Completed));
}

#[test]
fn storing_the_link_needs_no_reader() {
    // The only reader is in use, and its snapshot is older than the order.
    let fixture = Fixture::with_gateway(|builder| builder.readers(1));
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let read_then_create = || {
        fixture.service.get_event(&fixture.caller, event.id)?;
        create_order(&fixture, &ticket_type, 1)
    };
    let created = fixture.service.on_one_snapshot(read_then_create).expect("a snapshot").expect("an order");
    let payment = created.order.payment_gateway.expect("a payment");
    assert_eq!((created.order.status, payment.status), (OrderStatus::Pending, PaymentStatus::Waiting));
    assert_eq!(created.checkout_url, Some(payment.link));
    assert_eq!(fixture.gateway.checkouts()[0].currency, "EUR");
}

#[test]
fn an_order_cancelled_before_its_link_is_known_stays_cancelled() {
    let cancel = |service: &TicketingService, caller: &Caller, id| {
        assert!(service.cancel_order(caller, id).expect("cancelled").success);
    };
    let (created, order) = create_with_interference(cancel);
    assert_eq!(created.expect("an answer").order.status, OrderStatus::Cancelled);
    let payment = order.payment_gateway.expect("a payment");
    assert_eq!((order.status, payment.status), (OrderStatus::Cancelled, PaymentStatus::Waiting));
}

#[test]
fn a_gateway_that_returns_a_reference_twice_has_failed() {
    struct SameReference;
    impl PaymentGateway for SameReference {
        fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
            Ok(Checkout::new("https://pay.example/1", "the same each time"))
        }
        fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
            Ok(request.made("refund"))
        }
    }
    let fixture = Fixture::with(|builder| builder.payment_gateway(SameReference));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    create_order(&fixture, &ticket_type, 1).expect("an order");
    let second = create_order(&fixture, &ticket_type, 1);
    assert!(matches!(second, Err(Error::PaymentGatewayFailed(_))), "{second:?}");
    let orders = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("a page").data;
    let statuses: Vec<_> = orders.iter().map(|order| order.status).collect();
    assert_eq!(statuses, [OrderStatus::Cancelled, OrderStatus::Pending]);
}

#[test]
fn calls_beyond_the_limit_of_the_gateway_fail_at_once() {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_timeout(Duration::from_secs(1)).gateway_calls(1));
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.gateway.on_checkout(GatewayBehavior::Hang);
    create_order(&fixture, &ticket_type, 1).expect_err("it hangs");
    // The hanging call still uses the only permit.
    let refused = create_order(&fixture, &ticket_type, 1).expect_err("no permit for a call");
    assert!(matches!(refused, Error::PaymentGatewayFailed(_)), "{refused:?}");
    assert_eq!(fixture.gateway.checkouts().len(), 1);
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 0);
}

#[test]
fn every_sequence_of_payment_reports_has_the_status_of_the_table() {
    use PaymentStatus::{Completed, Failed, Refunded, Waiting};
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    type Step = fn(&Fixture, OrderId) -> Result<Order>;
    let pay: Step = completed;
    let fail: Step = failed;
    let cancel: Step = |fixture, id| {
        fixture.service.cancel_order(&fixture.caller, id)?;
        fixture.service.get_order(&fixture.caller, id)
    };
    for (steps, statuses) in [
        (vec![pay], vec![Completed]),
        (vec![fail], vec![Failed]),
        (vec![fail, fail, pay], vec![Failed, Failed, Completed]),
        (vec![pay, fail], vec![Completed, Completed]),
        (vec![pay, pay], vec![Completed, Completed]),
        (vec![pay, cancel, pay, fail], vec![Completed, Refunded, Refunded, Refunded]),
        (vec![cancel, fail, pay, fail], vec![Waiting, Waiting, Refunded, Refunded]),
        (vec![fail, cancel, pay], vec![Failed, Failed, Refunded]),
    ] {
        let order = fixture.order(&ticket_type, 1);
        for (number, (step, status)) in steps.iter().zip(&statuses).enumerate() {
            let after = step(&fixture, order.id).expect("no conflict");
            let payment = after.payment_gateway.expect("a payment");
            assert_eq!(payment.status, *status, "step {number} of {statuses:?}");
        }
    }
}

#[test]
fn a_failed_payment_leaves_the_order_pending_until_its_hold_expires() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    let order = fixture.order(&ticket_type, 1);
    assert_eq!(failed(&fixture, order.id).expect("recorded").status, OrderStatus::Pending);
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);
    fixture.expire_holds();
    assert_eq!(fixture.order_status(order.id), OrderStatus::Expired);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Failed), "the payment keeps its status");
}

#[test]
fn a_repeated_payment_report_does_nothing() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2);
    let first = completed(&fixture, order.id).expect("paid");
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(completed(&fixture, order.id).expect("known"), first);
    assert_eq!(fixture.sold(&ticket_type), 2);

    // A late payment is refunded once.
    let late = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, late.id).expect("cancelled");
    let first = completed(&fixture, late.id).expect("recorded");
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(completed(&fixture, late.id).expect("known"), first);
    assert_eq!(fixture.gateway.refunds().len(), 1);
    assert_eq!(refund_statuses(&fixture), [RefundStatus::Done]);
}

#[test]
fn a_late_payment_completes_an_expired_order_if_its_seats_are_free() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 3);
    let order = fixture.order(&ticket_type, 2);
    fixture.expire_holds();
    fixture.issue(&ticket_type, 1);
    let revived = completed(&fixture, order.id).expect("revived");
    assert_eq!(revived.status, OrderStatus::Completed);
    assert_eq!(revived.items[0].issued_tickets.len(), 2);
    assert_eq!(fixture.sold(&ticket_type), 3);
    assert_eq!(fixture.event_status(ticket_type.event_id), EventStatus::SoldOut);
    let scan = CheckInTicket::new(&revived.items[0].issued_tickets[0].code);
    fixture.service.check_in_ticket(&fixture.caller, scan).expect("a ticket like any other");
    assert!(fixture.gateway.refunds().is_empty());
}

/// Reports a payment for an order after `prepare` ran. Asserts that it is refunded and changes nothing else.
fn assert_refunded(prepare: impl FnOnce(&Fixture, &TicketType, &Order)) {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 2);
    let order = fixture.order(&ticket_type, 2);
    prepare(&fixture, &ticket_type, &order);
    let before = fixture.read_order(order.id);
    let sold = fixture.sold(&ticket_type);
    let after = completed(&fixture, order.id).expect("recorded");
    assert_eq!(after.payment_gateway.expect("a payment").status, PaymentStatus::Refunded);
    assert_eq!((after.status, after.items), (before.status, before.items), "the order is unchanged");
    assert_eq!(fixture.sold(&ticket_type), sold);
    let refund = fixture.gateway.refunds().remove(0);
    assert_eq!((refund.order_id, refund.amount, refund.currency.as_str()), (order.id, eur(2500), "EUR"));
    assert_eq!(refund.reference, Some(format!("pay-{}", order.id)));
    assert_eq!(refund_statuses(&fixture), [RefundStatus::Done]);
}

#[test]
fn a_late_payment_is_refunded_if_the_seats_are_gone() {
    assert_refunded(|fixture, ticket_type, _| {
        fixture.expire_holds();
        fixture.issue(ticket_type, 1);
    });
}

#[test]
fn a_late_payment_is_refunded_if_the_order_was_cancelled() {
    assert_refunded(|fixture, _, order| {
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    });
    assert_refunded(|fixture, _, order| {
        fixture.expire_holds();
        fixture.service.cancel_order(&fixture.caller, order.id).expect("an expired order is cancelled");
    });
}

#[test]
fn a_late_payment_is_refunded_if_the_event_was_cancelled() {
    assert_refunded(|fixture, ticket_type, _| {
        fixture.set_event_status(ticket_type.event_id, EventStatus::Cancelled).expect("cancelled");
    });
    assert_refunded(|fixture, ticket_type, order| {
        fixture.expire_holds();
        fixture.set_event_status(ticket_type.event_id, EventStatus::Cancelled).expect("cancelled");
        assert_eq!(fixture.order_status(order.id), OrderStatus::Expired);
    });
}

#[test]
fn a_late_payment_is_refunded_if_the_event_has_ended() {
    assert_refunded(|fixture, _, order| {
        fixture.set_clock(EVENT_END);
        assert_eq!(fixture.order_status(order.id), OrderStatus::Expired);
    });
    // Also if the maintenance has not run since.
    assert_refunded(|fixture, _, _| {
        fixture.service.run_maintenance().expect("maintenance");
        fixture.set_clock(EVENT_END);
    });
    assert_refunded(|fixture, ticket_type, _| {
        fixture.expire_holds();
        fixture.set_event_status(ticket_type.event_id, EventStatus::Expired).expect("closed early");
    });
}

#[test]
fn only_a_late_payment_through_the_gateway_goes_back_after_the_end_of_the_event() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 3);
    let late = fixture.order(&ticket_type, 1);
    fixture.set_clock("2026-07-01T21:59:00Z");
    let in_time = fixture.order(&ticket_type, 1);
    fixture.set_clock(EVENT_END);
    // Its hold still runs: it is not late.
    assert_eq!(completed(&fixture, in_time.id).expect("paid").status, OrderStatus::Completed);
    // The organizer has this money in hand.
    let marked = fixture.service.mark_order_paid(&fixture.caller, late.id, ManualMethod::Cash).expect("paid in cash");
    assert_eq!((marked.status, marked.tickets().count()), (OrderStatus::Completed, 1));
    assert_eq!(fixture.sold(&ticket_type), 2);
    assert!(fixture.gateway.refunds().is_empty());
}

#[test]
fn a_payment_is_refunded_if_the_order_was_marked_paid_before() {
    assert_refunded(|fixture, _, order| {
        fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    });
}

#[test]
fn a_late_payment_takes_no_seats_if_some_of_them_are_gone() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 2);
    let stool = fixture.ticket_type(&event, 500, 1);
    let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 2);
    request.items.push(NewOrderItem::new(stool.id, 1));
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    fixture.expire_holds();
    fixture.issue(&stool, 1);
    assert_eq!(completed(&fixture, order.id).expect("recorded").status, OrderStatus::Expired);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
    assert_eq!((fixture.sold(&ticket_type), fixture.sold(&stool)), (0, 1));
}

#[test]
fn a_payment_for_a_free_order_is_refused() {
    let fixture = Fixture::new();
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 0, 10), 1);
    assert_eq!(reason(completed(&fixture, order.id)), Reason::OrderNotPending);
    assert_eq!(failed(&fixture, order.id).expect("nothing to record").payment_gateway, None);
}

fn sandbox() -> Fixture {
    Fixture::with(|builder| builder.sandbox_gateway().public_url("https://tickets.example/"))
}

fn redirect_urls() -> CheckoutRedirectUrls {
    CheckoutRedirectUrls::new("https://shop.example/yes", "https://shop.example/no", "https://shop.example/back")
}

/// Creates an order with the sandbox gateway. Returns it and the token of its checkout.
fn sandbox_order(
    fixture: &Fixture,
    ticket_type: &TicketType,
    redirect_urls: Option<CheckoutRedirectUrls>,
) -> (Order, String) {
    let mut request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
    request.checkout_redirect_urls = redirect_urls;
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order");
    let link = created.checkout_url.expect("a link");
    let token = link.strip_prefix("https://tickets.example/checkout/").expect("the public address").to_owned();
    (created.order, token)
}

#[test]
fn the_outcome_chosen_on_the_sandbox_page_decides_about_the_order() {
    let fixture = sandbox();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    for (outcome, status, payment, redirect) in [
        (CheckoutOutcome::Success, OrderStatus::Completed, PaymentStatus::Completed, "https://shop.example/yes"),
        (CheckoutOutcome::Failure, OrderStatus::Pending, PaymentStatus::Failed, "https://shop.example/no"),
        (CheckoutOutcome::Cancel, OrderStatus::Cancelled, PaymentStatus::Waiting, "https://shop.example/back"),
    ] {
        let (order, token) = sandbox_order(&fixture, &ticket_type, Some(redirect_urls()));
        let result = fixture.service.finish_hosted_checkout(&token, outcome).expect("an accepted outcome");
        assert_eq!((result.outcome, result.redirect_url.as_deref()), (outcome, Some(redirect)));
        assert_eq!((fixture.order_status(order.id), fixture.payment_status(order.id)), (status, Some(payment)));
        let page = fixture.service.get_hosted_checkout(&token).expect("the page stays readable");
        assert_eq!(page.order.items[0].ticket_type_name, "Seat");
        assert_eq!((page.order, page.event_title.as_str()), (fixture.read_order(order.id), "Summer Night"));
        assert_eq!(page.currency, "EUR");
        assert_eq!(page.hold_until, (status == OrderStatus::Pending).then(|| at("2026-06-01T12:30:00Z")));
    }
    let (_, token) = sandbox_order(&fixture, &ticket_type, None);
    let result = fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Success).expect("an accepted outcome");
    assert_eq!(result.redirect_url, None);
}

#[test]
fn on_the_sandbox_a_late_cancel_changes_nothing() {
    let fixture = sandbox();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    let (paid, token) = sandbox_order(&fixture, &ticket_type, Some(redirect_urls()));
    fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Success).expect("paid");
    fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Cancel).expect("an accepted outcome");
    fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Failure).expect("an accepted outcome");
    assert_eq!(fixture.order_status(paid.id), OrderStatus::Completed);
    assert_eq!(fixture.payment_status(paid.id), Some(PaymentStatus::Completed));
    fixture.service.cancel_order(&fixture.caller, paid.id).expect("cancelled");

    let (late, token) = sandbox_order(&fixture, &ticket_type, Some(redirect_urls()));
    fixture.expire_holds();
    fixture.issue(&ticket_type, 1);
    fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Cancel).expect("an accepted outcome");
    assert_eq!(fixture.order_status(late.id), OrderStatus::Expired);
    let result = fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Success).expect("an accepted outcome");
    assert_eq!(
        (result.outcome, result.redirect_url.as_deref()),
        (CheckoutOutcome::Failure, Some("https://shop.example/no"))
    );
    // The page does not wait for the refund.
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(fixture.payment_status(late.id), Some(PaymentStatus::Refunded));
}

#[test]
fn on_the_sandbox_a_payment_that_is_refunded_is_reported_as_failure() {
    let fixture = sandbox();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1);
    let (order, token) = sandbox_order(&fixture, &ticket_type, Some(redirect_urls()));
    fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    let result = fixture.service.finish_hosted_checkout(&token, CheckoutOutcome::Success).expect("an accepted outcome");
    assert_eq!(result.outcome, CheckoutOutcome::Failure, "the payment is refunded");
    // The page does not wait for the refund.
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
}

#[test]
fn only_known_tokens_of_the_sandbox_have_a_hosted_checkout() {
    let fixture = sandbox();
    for token in ["", "x", "sandbox_", "\0"] {
        assert_not_found(fixture.service.get_hosted_checkout(token));
        assert_not_found(fixture.service.finish_hosted_checkout(token, CheckoutOutcome::Success));
    }
    let fixture = Fixture::new();
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 1), 1);
    assert_not_found(fixture.service.get_hosted_checkout(&format!("pay-{}", order.id)));
    assert_not_found(fixture.service.finish_hosted_checkout(&format!("pay-{}", order.id), CheckoutOutcome::Success));
}
