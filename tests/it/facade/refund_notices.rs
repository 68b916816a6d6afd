//! What the payment gateway reports about refunds and disputes: refunds of the service that fail later, refunds that
//! somebody makes in the account at the gateway, and disputes. Reports come several times and in any order.

use std::time::Duration;

use ticketing::Caller;
use ticketing::event::EventSummary;
use ticketing::id::RefundId;
use ticketing::order::{CreateOrder, Order, OrderStatus, PaymentStatus};
use ticketing::payment::{
    CheckoutState, Dispute, DisputeStatus, GatewayDispute, GatewayEvent, GatewayPayment, GatewayRefund, ListDisputes,
    ListRefunds, NoticeOutcome, Refund, RefundSource, RefundState, RefundStatus,
};
use ticketing::ticket::TicketStatus;
use ticketing::ticket_type::{CreateTicketType, TicketType};

use crate::common::*;

/// A paid order of two tickets for 25.00.
fn paid(fixture: &Fixture) -> (TicketType, Order) {
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 2);
    report(fixture, &order, GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_1", eur(2500), "EUR"))));
    (ticket_type, fixture.read_order(order.id))
}

/// Reports an event, twice.
fn report(fixture: &Fixture, order: &Order, event: GatewayEvent) {
    let notice = Notice::about(order, event);
    fixture.gateway.know(&notice);
    for _ in 0..2 {
        let outcomes = notice.send(&fixture.service).expect("received");
        assert!(outcomes.iter().all(|outcome| *outcome == NoticeOutcome::Processed), "{outcomes:?}");
    }
}

/// Reports a refund that somebody made in the account at the gateway.
fn report_outside(fixture: &Fixture, order: &Order, reference: &str, cents: i64, state: RefundState) {
    report(fixture, order, GatewayEvent::Refund(GatewayRefund::new(reference, eur(cents), "EUR").state(state)));
}

/// Reports a refund that this service asked for.
fn report_own(fixture: &Fixture, order: &Order, id: RefundId, reference: &str, cents: i64, state: RefundState) {
    let refund = GatewayRefund::new(reference, eur(cents), "EUR").refund(id).state(state);
    report(fixture, order, GatewayEvent::Refund(refund));
}

fn failed() -> RefundState {
    RefundState::Failed("the account is closed".to_owned())
}

fn refunds(fixture: &Fixture) -> Vec<Refund> {
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data
}

fn summary(fixture: &Fixture, ticket_type: &TicketType) -> EventSummary {
    fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id).expect("a summary")
}

fn refund_amount(fixture: &Fixture, order: &Order, cents: i64) {
    fixture.refund_amount(order.id, eur(cents)).expect("refunded");
}

#[test]
fn an_own_refund_never_counts_as_an_outside_one() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    refund_amount(&fixture, &order, 1250);
    let refund_id = refunds(&fixture)[0].id;
    report_own(&fixture, &order, refund_id, "re_1", 1250, RefundState::Succeeded);
    report_outside(&fixture, &order, "re_1", 1250, RefundState::Succeeded);
    assert_eq!((refunds(&fixture).len(), fixture.order_status(order.id)), (1, OrderStatus::Completed));
    assert_eq!(summary(&fixture, &ticket_type).refunded_total, eur(1250));
    // The rest of the payment.
    report_outside(&fixture, &order, "re_2", 1250, RefundState::Succeeded);
    assert_eq!(fixture.order_status(order.id), OrderStatus::Cancelled);
    assert_eq!(fixture.gateway.refunds().len(), 1);
}

/// The owner of an account at the provider can write any id into the refunds of that account.
#[test]
fn a_refund_with_a_forged_id_is_an_outside_refund_and_changes_nothing_of_the_refund_that_it_names() {
    let fixture = Fixture::new();
    let (ticket_type, other) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    refund_amount(&fixture, &other, 500);
    let of_other_order = refunds(&fixture)[0].clone();
    let (_, order) = paid(&fixture);
    let is_untouched = || {
        let listed = refunds(&fixture).into_iter().find(|refund| refund.id == of_other_order.id).expect("it is listed");
        assert_eq!(listed, of_other_order);
    };
    report_own(&fixture, &order, of_other_order.id, "re_1", 500, failed());
    is_untouched();
    report_own(&fixture, &order, of_other_order.id, "re_2", 500, RefundState::Succeeded);
    is_untouched();
    let sources = || {
        let of_order = refunds(&fixture).into_iter().filter(|refund| refund.order_id == order.id);
        of_order.map(|refund| (refund.source, refund.amount, refund.status)).collect::<Vec<_>>()
    };
    let outside = |cents, status| (RefundSource::Outside, eur(cents), status);
    assert_eq!(sources(), [outside(500, RefundStatus::Done), outside(500, RefundStatus::Refused)]);

    // An own refund, which the gateway has made as re_3.
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.gateway.set_next_refund("re_3");
    refund_amount(&fixture, &order, 700);
    let own = refunds(&fixture)[0].clone();
    report_own(&fixture, &order, own.id, "re_3", 700, RefundState::Succeeded);
    for (reference, cents) in [("re_4", 700), ("re_5", 600)] {
        report_own(&fixture, &order, own.id, reference, cents, RefundState::Succeeded);
        assert_eq!(sources()[0], outside(cents, RefundStatus::Done), "{reference}");
    }
    // 5.00 + 7.00 + 7.00 + 6.00 are the whole payment.
    assert_eq!(fixture.order_status(order.id), OrderStatus::Cancelled);
    assert_eq!(summary(&fixture, &ticket_type).refunded_total, eur(0), "of the other event");
    report_own(&fixture, &order, own.id, "re_4", 700, failed());
    let own = refunds(&fixture).into_iter().find(|refund| refund.id == own.id).expect("it is listed");
    assert_eq!((own.status, own.reference.as_deref()), (RefundStatus::Done, Some("re_3")));
}

#[test]
fn a_forged_id_with_another_amount_currency_or_payment_does_not_fail_a_refund_that_is_due() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    refund_amount(&fixture, &order, 500);
    let id = refunds(&fixture)[0].id;
    let is_due = || refunds(&fixture).iter().any(|refund| refund.id == id && refund.status == RefundStatus::Due);
    report_own(&fixture, &order, id, "re_1", 499, failed());
    assert!(is_due(), "another amount");
    let dollars = GatewayRefund::new("re_2", eur(500), "USD").refund(id).state(failed());
    report(&fixture, &order, GatewayEvent::Refund(dollars));
    assert!(is_due(), "another currency");
    let mut of_other_payment = Notice::about(
        &order,
        GatewayEvent::Refund(GatewayRefund::new("re_3", eur(500), "EUR").refund(id).state(failed())),
    );
    of_other_payment.notice.payment_reference = Some("pi_other".to_owned());
    fixture.gateway.know(&of_other_payment);
    of_other_payment.send(&fixture.service).expect("received");
    assert!(is_due(), "another payment");
    let other = fixture.other_organization();
    let theirs = sold_by(&fixture, &other);
    report_own(&fixture, &theirs, id, "re_4", 500, failed());
    assert!(is_due(), "another organization");
    // The refund that it really is.
    report_own(&fixture, &order, id, "re_5", 500, failed());
    assert!(!is_due());
}

/// A paid order of another organization.
fn sold_by(fixture: &Fixture, caller: &Caller) -> Order {
    let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
    let ticket_type = CreateTicketType::new("Seat", eur(2500), 10);
    let ticket_type = fixture.service.create_ticket_type(caller, event.id, ticket_type).expect("a type");
    let request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    let order = fixture.service.create_order(caller, request).expect("an order").order;
    report(fixture, &order, GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("pi_9", eur(2500), "EUR"))));
    order
}

#[test]
fn an_outside_refund_of_a_payment_that_nobody_knows_changes_nothing() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    let event = GatewayEvent::Refund(GatewayRefund::new("re_1", eur(2500), "EUR"));
    let mut notice = Notice::about(&order, event);
    notice.notice.payment_reference = Some("pi_other".to_owned());
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
    assert_eq!((refunds(&fixture).len(), fixture.order_status(order.id)), (0, OrderStatus::Completed));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert_eq!(summary(&fixture, &ticket_type).refunded_total, eur(0));
}

fn disputes(fixture: &Fixture, request: ListDisputes) -> Vec<Dispute> {
    fixture.service.list_disputes(&fixture.caller, request).expect("a page").data
}

#[test]
fn a_dispute_is_listed_and_counted_and_its_tickets_stay_valid() {
    let fixture = Fixture::new();
    let (ticket_type, order) = paid(&fixture);
    let other = fixture.paid_order(&ticket_type, 1);
    let dispute = |reference: &str, status| {
        let dispute = GatewayDispute::new(reference, eur(2500), "EUR").reason("fraudulent");
        GatewayEvent::Dispute(dispute.status(status))
    };
    let open = || fixture.service.backlog().expect("a backlog").disputes_open;
    report(&fixture, &order, dispute("dp_1", DisputeStatus::Open));
    report(&fixture, &other, dispute("dp_2", DisputeStatus::Open));
    assert_eq!(open(), 2);
    let listed = disputes(&fixture, ListDisputes::new().order(order.id));
    assert_eq!((listed.len(), listed[0].order_id, listed[0].reference.as_str()), (1, order.id, "dp_1"));
    assert_eq!(
        (listed[0].amount, listed[0].currency.as_str(), listed[0].reason.as_str()),
        (eur(2500), "EUR", "fraudulent")
    );
    report(&fixture, &order, dispute("dp_1", DisputeStatus::Lost));
    report(&fixture, &order, dispute("dp_1", DisputeStatus::Open));
    assert_eq!((disputes(&fixture, ListDisputes::new().status(DisputeStatus::Lost)).len(), open()), (1, 1));
    let of_event = disputes(&fixture, ListDisputes::new().event(ticket_type.event_id));
    assert_eq!(of_event.iter().map(|dispute| dispute.order_id).collect::<Vec<_>>(), [other.id, order.id]);
    let first = fixture.service.list_disputes(&fixture.caller, ListDisputes::new().limit(1)).expect("a page");
    assert_eq!(first.next_cursor, Some(of_event[0].id));
    let last = disputes(&fixture, ListDisputes::new().limit(1).after(of_event[0].id));
    assert_eq!(last, of_event[1..]);
    assert!(disputes(&fixture, ListDisputes::new().event(fixture.event().id)).is_empty());
    let of_other_organization = fixture.service.list_disputes(&fixture.other_organization(), ListDisputes::new());
    assert!(of_other_organization.expect("a page").data.is_empty());
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    assert!(fixture.read_order(order.id).tickets().all(|ticket| ticket.status == TicketStatus::NotCheckedIn));
}

/// Reports a dispute about a half of what was paid, for which the bank takes nothing yet.
fn report_dispute(fixture: &Fixture, order: &Order, status: DisputeStatus) {
    report(
        fixture,
        order,
        GatewayEvent::Dispute(GatewayDispute::new("dp_1", eur(1250), "EUR").taken(eur(0)).status(status)),
    );
}

/// Cancels an order while a bank decides about half of its payment. The half that is not disputed is refunded. Then the
/// bank decides for the seller, so that the other half is due.
fn cancelled_during_a_dispute(fixture: &Fixture) {
    let (_, order) = paid(fixture);
    report_dispute(fixture, &order, DisputeStatus::Open);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    assert_eq!((refunds(fixture)[0].returned, fixture.gateway.refunds().len()), (eur(1250), 1));
    report_dispute(fixture, &order, DisputeStatus::Won);
}

/// Runs the maintenance after some time. Returns how many refunds the gateway was asked for.
fn asked_after(fixture: &Fixture, seconds: u64) -> usize {
    let before = fixture.gateway.refunds().len();
    fixture.clock.advance(Duration::from_secs(seconds));
    fixture.service.run_maintenance().expect("maintenance");
    fixture.gateway.refunds().len() - before
}

#[test]
fn equal_parts_of_a_refund_have_different_idempotency_keys() {
    let fixture = Fixture::new();
    cancelled_during_a_dispute(&fixture);
    assert_eq!(asked_after(&fixture, 1), 1);
    let refund = refunds(&fixture)[0].clone();
    assert_eq!((refund.status, refund.returned), (RefundStatus::Done, eur(2500)));
    let keys: Vec<_> = fixture.gateway.refunds().into_iter().map(|request| request.idempotency_key).collect();
    assert_eq!(keys, [format!("refund-{}-of-1250", refund.id), format!("refund-{}-of-1250-2", refund.id)]);
}

#[test]
fn a_gateway_that_answers_with_a_refund_that_is_recorded_already_has_not_made_another() {
    let fixture = Fixture::new();
    cancelled_during_a_dispute(&fixture);
    let asked = |seconds| {
        fixture.gateway.set_next_refund("re_1");
        asked_after(&fixture, seconds)
    };
    // The first part was the first attempt. As after any failure, the delays grow: after these attempts, 20 and 40 seconds.
    assert_eq!([asked(1), asked(19), asked(1), asked(39), asked(1)], [1, 0, 1, 0, 1]);
    let refund = || refunds(&fixture)[0].clone();
    assert_eq!((refund().status, refund().returned), (RefundStatus::Due, eur(1250)));
    assert!(refund().last_error.is_some_and(|error| error.contains("recorded already")));
    // Of 176 attempts, 172 are left.
    assert_eq!((0..180).map(|_| asked(3600)).sum::<usize>(), 172);
    assert_eq!((refund().status, refund().returned, refund().owed), (RefundStatus::Refused, eur(1250), eur(1250)));
}

#[test]
fn a_dispute_that_ends_long_after_the_payment_is_looked_up_until_37_days_after_its_end() {
    let fixture = Fixture::new();
    let (_, order) = paid(&fixture);
    report_dispute(&fixture, &order, DisputeStatus::Open);
    fixture.clock.advance(60 * Duration::from_hours(24));
    report_dispute(&fixture, &order, DisputeStatus::Won);
    fixture.gateway.on_list(GatewayBehavior::Unavailable);
    let asked = |hours| {
        let before = fixture.gateway.listed_for().len();
        fixture.clock.advance(Duration::from_hours(hours));
        fixture.service.run_maintenance().expect("maintenance");
        fixture.gateway.listed_for().len() - before
    };
    // A day after the end, and then every hour.
    assert_eq!([asked(23), asked(1), asked(1), asked(1)], [0, 1, 1, 1]);
    // A day before the last, the last one, and none after it.
    assert_eq!([asked(36 * 24 - 26 - 1), asked(25), asked(1), asked(1000)], [1, 1, 0, 0]);
}
