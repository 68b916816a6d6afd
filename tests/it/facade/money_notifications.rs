//! The notifications about money that goes back: refunds, disputes, and payments that complete no order.

use std::sync::mpsc::channel;

use serde_json::{Value, json};
use ticketing::notification::NotificationDetails;
use ticketing::order::Order;
use ticketing::payment::ManualMethod;
use ticketing::payment::{
    CheckoutState, DisputeStatus, GatewayDispute, GatewayEvent, GatewayPayment, GatewayRefund, ListDisputes,
    ListLedgerEntries, ListPayments, ListRefunds, Refund, RefundOrder, RefundState,
};
use ticketing::webhook::{EventType, WebhookNotification};

use EventType::{DisputeClosed, DisputeOpened, PaymentReturned, RefundFailed, RefundSucceeded};

use crate::common::outbox::{SALE_NOTIFICATIONS, insert_webhook};
use crate::common::webhooks::TIMEOUT;
use crate::common::*;

/// The text with which the gateway reports a refund that has failed.
const PROBLEM: &str = "account 4711 at gateway.internal is closed";

/// A fixture with an endpoint for all notifications about money.
fn fixture() -> Fixture {
    with_endpoint(Fixture::new())
}

fn with_endpoint(fixture: Fixture) -> Fixture {
    let types = [RefundSucceeded, RefundFailed, DisputeOpened, DisputeClosed, PaymentReturned];
    insert_webhook(&fixture.database(), fixture.caller.organization(), &types);
    fixture
}

/// An order of two tickets for 25.00, which is not paid.
fn unpaid(fixture: &Fixture) -> Order {
    fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 2)
}

/// An order of two tickets for 25.00, which is paid as pi_1.
fn paid(fixture: &Fixture) -> Order {
    let order = unpaid(fixture);
    pay(fixture, &order, "pi_1", 2500);
    order
}

/// Reports a payment for an order, twice.
fn pay(fixture: &Fixture, order: &Order, reference: &str, cents: i64) {
    let payment = GatewayPayment::new(reference, eur(cents), "EUR");
    report(fixture, order, GatewayEvent::Checkout(CheckoutState::Paid(payment)));
}

/// Reports a payment that goes back, and lets the maintenance ask the gateway for its refund.
fn pay_and_refund(fixture: &Fixture, order: &Order, reference: &str, cents: i64) {
    pay(fixture, order, reference, cents);
    fixture.service.run_maintenance().expect("a run");
}

/// Reports an event, twice.
fn report(fixture: &Fixture, order: &Order, event: GatewayEvent) {
    let notice = Notice::about(order, event);
    fixture.gateway.know(&notice);
    for _ in 0..2 {
        notice.send(&fixture.service).expect("received");
    }
}

/// Reports a refund that somebody made in the account at the gateway.
fn report_outside(fixture: &Fixture, order: &Order, cents: i64, state: RefundState) {
    report(fixture, order, GatewayEvent::Refund(GatewayRefund::new("re_out", eur(cents), "EUR").state(state)));
}

fn failed() -> RefundState {
    RefundState::Failed(PROBLEM.to_owned())
}

fn cancel(fixture: &Fixture, order: &Order) {
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
}

/// The type and the data of each notification about money since the last call, in the order in which they were queued.
fn taken(fixture: &Fixture) -> Vec<(String, Value)> {
    let read = |body: &str| {
        assert!(!body.contains("4711") && !body.contains("internal"), "{body}");
        let mut body: Value = serde_json::from_str(body).expect("JSON");
        (body["type"].as_str().expect("a type").to_owned(), body["data"].take())
    };
    let bodies = fixture.outbox().into_iter().map(|row| read(&row.body)).collect();
    fixture.database().run("DELETE FROM webhook_outbox; DELETE FROM webhook_notifications");
    bodies
}

fn newest_refund(fixture: &Fixture) -> Refund {
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data.remove(0)
}

/// The id of the newest payment.
fn newest_payment(fixture: &Fixture) -> String {
    fixture.service.list_payments(&fixture.caller, ListPayments::default()).expect("a page").data[0].id.to_string()
}

fn refunded(fixture: &Fixture, order: &Order, amount: impl Into<Value>, source: &str) -> Value {
    let amount = amount.into();
    let refund = newest_refund(fixture);
    json!({"refundId": refund.id.to_string(), "orderId": order.id.to_string(), "eventId": order.event_id.to_string(),
        "paymentId": refund.payment_id.to_string(), "amount": amount, "currency": "EUR", "source": source})
}

fn succeeded(fixture: &Fixture, order: &Order, amount: impl Into<Value>, source: &str) -> (String, Value) {
    ("refund.succeeded".to_owned(), refunded(fixture, order, amount, source))
}

fn not_refunded(
    fixture: &Fixture,
    order: &Order,
    amount: impl Into<Value>,
    source: &str,
    by_hand: bool,
) -> (String, Value) {
    let mut data = refunded(fixture, order, amount, source);
    data["requiresManualRefund"] = json!(by_hand);
    ("refund.failed".to_owned(), data)
}

fn returned(fixture: &Fixture, order: &Order, amount: impl Into<Value>, reason: &str) -> (String, Value) {
    let amount = amount.into();
    let data = json!({"paymentId": newest_payment(fixture), "orderId": order.id.to_string(), "eventId": order.event_id.to_string(),
        "amount": amount, "currency": "EUR", "reason": reason});
    ("payment.returned".to_owned(), data)
}

#[test]
fn a_refund_that_the_gateway_makes_is_reported_and_again_if_it_fails_later() {
    let fixture = fixture();
    let order = paid(&fixture);
    assert_eq!(taken(&fixture), []);
    let part = RefundOrder::of_amount(eur(550)).reason("Rain");
    let id = fixture
        .service
        .refund_order(&fixture.caller_with_new_key(), order.id, part)
        .expect("refunded")
        .value
        .refund_id
        .expect("one");
    assert_eq!(taken(&fixture), [succeeded(&fixture, &order, 5.5, "ORDER")]);

    let own = |state| GatewayEvent::Refund(GatewayRefund::new("re_1", eur(550), "EUR").refund(id).state(state));
    report(&fixture, &order, own(RefundState::Succeeded));
    assert_eq!(taken(&fixture), [], "it is known");
    report(&fixture, &order, own(failed()));
    assert_eq!(taken(&fixture), [not_refunded(&fixture, &order, 5.5, "ORDER", true)]);
    report(&fixture, &order, own(RefundState::Succeeded));
    assert_eq!(taken(&fixture), [], "a report from before the failure");
}

#[test]
fn a_refund_whose_answer_was_lost_is_reported_when_the_gateway_tells_of_it() {
    let fixture = fixture();
    let order = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    let part = RefundOrder::of_amount(eur(500));
    let id = fixture
        .service
        .refund_order(&fixture.caller_with_new_key(), order.id, part)
        .expect("due")
        .value
        .refund_id
        .expect("one");
    assert_eq!(taken(&fixture), [], "it is due");
    let own = GatewayRefund::new("re_1", eur(500), "EUR").refund(id).state(RefundState::Pending);
    report(&fixture, &order, GatewayEvent::Refund(own));
    assert_eq!(taken(&fixture), [succeeded(&fixture, &order, 5, "ORDER")]);
}

#[test]
fn a_refund_that_the_gateway_refuses_is_reported_with_what_is_to_be_done_by_hand() {
    let fixture = fixture();
    let order = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    cancel(&fixture, &order);
    assert_eq!(taken(&fixture), [not_refunded(&fixture, &order, 25, "ORDER", true)]);
}

#[test]
fn a_refund_whose_money_went_back_in_another_way_needs_nothing_by_hand() {
    let fixture = fixture();
    let order = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel(&fixture, &order);
    // A refund made at the gateway pays what was decided here.
    report_outside(&fixture, &order, 2500, RefundState::Succeeded);
    assert_eq!(taken(&fixture), [succeeded(&fixture, &order, 25, "ORDER")]);
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    fixture.clock.advance(std::time::Duration::from_hours(2));
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(taken(&fixture), []);
    assert_eq!(fixture.gateway.refunds().len(), 1, "it was not asked again");
}

#[test]
fn a_refund_made_at_the_gateway_is_reported_and_again_if_it_fails() {
    let fixture = fixture();
    let order = paid(&fixture);
    report_outside(&fixture, &order, 1000, RefundState::Succeeded);
    assert_eq!(taken(&fixture), [succeeded(&fixture, &order, 10, "OUTSIDE")]);
    report_outside(&fixture, &order, 1000, failed());
    // Somebody decided to give it back, and the customer has not got it.
    assert_eq!(taken(&fixture), [not_refunded(&fixture, &order, 10, "OUTSIDE", true)]);
    // A late notice does not make it again.
    report_outside(&fixture, &order, 1000, RefundState::Succeeded);
    assert_eq!(taken(&fixture), []);
}

#[test]
fn a_refund_of_nothing_that_the_gateway_reports_changes_nothing() {
    let fixture = fixture();
    let order = paid(&fixture);
    let entries =
        || fixture.service.list_ledger_entries(&fixture.caller, ListLedgerEntries::default()).expect("a page").data;
    let before = entries();
    report_outside(&fixture, &order, 0, RefundState::Succeeded);
    assert_eq!(taken(&fixture), []);
    assert_eq!(entries(), before);
    assert!(fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data.is_empty());
}

#[test]
fn a_refund_at_the_gateway_that_has_failed_at_once_is_reported_as_failed() {
    let fixture = fixture();
    let order = paid(&fixture);
    report_outside(&fixture, &order, 1000, failed());
    assert_eq!(taken(&fixture), [not_refunded(&fixture, &order, 10, "OUTSIDE", false)]);
    report_outside(&fixture, &order, 1000, RefundState::Succeeded);
    assert_eq!(taken(&fixture), []);
}

#[test]
fn a_payment_that_went_back_before_it_was_known_is_reported_with_its_refund() {
    let fixture = fixture();
    let order = unpaid(&fixture);
    let payment = GatewayPayment::new("pi_1", eur(2500), "EUR");
    fixture.gateway.set_listed([GatewayRefund::new("re_out", eur(2500), "EUR")]);
    report(&fixture, &order, GatewayEvent::Checkout(CheckoutState::Returned(payment)));
    let expected = [returned(&fixture, &order, 25, "LATE"), succeeded(&fixture, &order, 25, "LATE_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn a_dispute_is_reported_when_it_is_opened_and_when_it_is_decided() {
    let fixture = fixture();
    let order = paid(&fixture);
    let dispute = GatewayDispute::new("dp_1", eur(2500), "EUR").reason("fraudulent");
    let state = |name: &str, status| {
        let listed = fixture.service.list_disputes(&fixture.caller, ListDisputes::default()).expect("a page").data;
        let data = json!({"disputeId": listed[0].id.to_string(), "orderId": order.id.to_string(),
            "eventId": order.event_id.to_string(), "amount": 25, "currency": "EUR", "reason": "fraudulent",
            "status": status});
        (name.to_owned(), data)
    };
    report(&fixture, &order, GatewayEvent::Dispute(dispute.clone()));
    assert_eq!(taken(&fixture), [state("dispute.opened", "OPEN")]);
    report(&fixture, &order, GatewayEvent::Dispute(dispute.clone().status(DisputeStatus::Lost)));
    assert_eq!(taken(&fixture), [state("dispute.closed", "LOST")]);
    report(&fixture, &order, GatewayEvent::Dispute(dispute.clone()));
    assert_eq!(taken(&fixture), [], "a report from before the decision");
    report(&fixture, &order, GatewayEvent::Dispute(dispute.status(DisputeStatus::Won)));
    assert_eq!(taken(&fixture), [state("dispute.closed", "WON")]);
}

#[test]
fn a_dispute_that_is_decided_when_it_is_first_reported_is_only_closed() {
    let fixture = fixture();
    let order = paid(&fixture);
    let dispute = GatewayDispute::new("dp_1", eur(2500), "EUR").status(DisputeStatus::Won);
    report(&fixture, &order, GatewayEvent::Dispute(dispute));
    let [(name, data)] = &taken(&fixture)[..] else { panic!("not one") };
    assert_eq!((name.as_str(), &data["status"]), ("dispute.closed", &json!("WON")));
}

#[test]
fn a_payment_for_a_cancelled_order_came_too_late() {
    let fixture = fixture();
    let order = unpaid(&fixture);
    cancel(&fixture, &order);
    pay_and_refund(&fixture, &order, "pi_1", 2500);
    let expected = [returned(&fixture, &order, 25, "LATE"), succeeded(&fixture, &order, 25, "LATE_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn a_payment_after_the_end_of_the_event_came_too_late() {
    let fixture = fixture();
    let order = unpaid(&fixture);
    fixture.set_clock("2101-01-01T00:00:00Z");
    pay_and_refund(&fixture, &order, "pi_1", 2500);
    let expected = [returned(&fixture, &order, 25, "LATE"), succeeded(&fixture, &order, 25, "LATE_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn another_payment_for_a_paid_order_is_a_second_one() {
    let fixture = fixture();
    let order = paid(&fixture);
    pay_and_refund(&fixture, &order, "pi_2", 2500);
    let expected = [returned(&fixture, &order, 25, "SECOND"), succeeded(&fixture, &order, 25, "OTHER_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
    // Also with another amount.
    pay_and_refund(&fixture, &order, "pi_3", 2000);
    let expected = [returned(&fixture, &order, 20, "SECOND"), succeeded(&fixture, &order, 20, "OTHER_PAYMENT")];
    assert_eq!(taken(&fixture), expected);

    let by_hand = unpaid(&fixture);
    fixture.service.mark_order_paid(&fixture.caller, by_hand.id, ManualMethod::Cash).expect("paid");
    pay_and_refund(&fixture, &by_hand, "pi_4", 2500);
    let expected = [returned(&fixture, &by_hand, 25, "SECOND"), succeeded(&fixture, &by_hand, 25, "LATE_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn a_payment_of_another_amount_goes_back_and_the_order_stays_pending() {
    let fixture = fixture();
    let order = unpaid(&fixture);
    pay_and_refund(&fixture, &order, "pi_1", 2499);
    let expected =
        [returned(&fixture, &order, 24.99, "OTHER_AMOUNT"), succeeded(&fixture, &order, 24.99, "OTHER_PAYMENT")];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn a_payment_that_the_gateway_cannot_refund_is_to_be_given_back_by_hand() {
    let fixture = fixture();
    fixture.gateway.disable_refunds();
    let order = unpaid(&fixture);
    pay(&fixture, &order, "pi_1", 2000);
    let expected =
        [returned(&fixture, &order, 20, "OTHER_AMOUNT"), not_refunded(&fixture, &order, 20, "OTHER_PAYMENT", true)];
    assert_eq!(taken(&fixture), expected);
}

#[test]
fn functions_of_the_program_get_what_webhooks_get_and_other_endpoints_get_nothing_new() {
    let (calls, received) = channel();
    let fixture = with_endpoint(Fixture::with_gateway(|builder| {
        builder.on_notification("test", move |_, notification| Ok(calls.send(notification.details.clone())?))
    }));
    insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    let order = paid(&fixture);
    pay_and_refund(&fixture, &order, "pi_2", 2500);
    let dispute = GatewayDispute::new("dp_1", eur(2500), "EUR");
    report(&fixture, &order, GatewayEvent::Dispute(dispute.clone()));
    report(&fixture, &order, GatewayEvent::Dispute(dispute.status(DisputeStatus::Lost)));
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    cancel(&fixture, &order);

    let rows = fixture.outbox();
    let (about_sales, about_money): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| SALE_NOTIFICATIONS.iter().any(|event_type| event_type.as_str() == row.kind));
    let endpoints = |rows: &[&outbox::OutboxRow]| {
        let mut endpoints: Vec<_> = rows.iter().map(|row| row.webhook).collect();
        endpoints.dedup();
        endpoints.len()
    };
    assert_eq!((endpoints(&about_sales), endpoints(&about_money)), (1, 1));
    let sent: Vec<NotificationDetails> = about_money
        .iter()
        .map(|row| serde_json::from_str::<WebhookNotification>(&row.body).expect("a notification").data.into())
        .collect();
    let kinds: Vec<&str> = about_money.iter().map(|row| row.kind.as_str()).collect();
    let expected = ["payment.returned", "refund.succeeded", "dispute.opened", "dispute.closed", "refund.failed"];
    assert_eq!(kinds, expected);
    let received = std::iter::from_fn(|| received.recv_timeout(TIMEOUT).ok());
    let received = received.filter(|details| expected.contains(&details.topic().as_str()));
    assert_eq!(received.take(sent.len()).collect::<Vec<_>>(), sent);
}
