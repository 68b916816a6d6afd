//! Refunds that the gateway does not make: which of them somebody owes, and payments that cannot be refunded.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ticketing::Amount;
use ticketing::error::Reason;
use ticketing::order::{Order, OrderStatus};
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, GatewayError, GatewayEvent, GatewayPayment, GatewayRefund, ListRefunds,
    NoticeOutcome, PaymentGateway, Refund, RefundOrder, RefundRequest, RefundSource, RefundState, RefundStatus,
};
use ticketing::payment::{MarkRefunded, RefundMethod};
use ticketing::ticket_type::TicketType;

use crate::common::invariants::assert_consistent;
use crate::common::*;

fn fixture() -> (Fixture, TicketType) {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    (fixture, ticket_type)
}

fn refunds(fixture: &Fixture) -> Vec<Refund> {
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data
}

/// The number of refunds that count as to be made by hand.
fn owed(fixture: &Fixture) -> u64 {
    fixture.service.backlog().expect("a backlog").refunds_refused
}

fn manual_total(fixture: &Fixture, ticket_type: &TicketType) -> Amount {
    fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id).expect("a summary").manual_refund_total
}

fn report_payment(fixture: &Fixture, order: &Order, payment: GatewayPayment) -> NoticeOutcome {
    let notice = Notice::about(order, GatewayEvent::Checkout(CheckoutState::Paid(payment)));
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received").remove(0)
}

fn maintain(fixture: &Fixture) {
    fixture.service.run_maintenance().expect("a run");
}

/// A paid order of 12.50, the payment `pi_1`, that is cancelled now.
fn cancelled(fixture: &Fixture, ticket_type: &TicketType) -> Order {
    let order = fixture.order(ticket_type, 1);
    report_payment(fixture, &order, GatewayPayment::new("pi_1", eur(1250), "EUR"));
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    order
}

#[test]
fn a_payment_of_an_unknown_currency_or_an_impossible_amount_is_listed_as_owed() {
    for (paid, currency, stored, stored_currency, text) in [
        (eur(1250), "ZZZ", Amount::whole(13), "XXX", "12.50 ZZZ"),
        (eur(1250), "JPY", Amount::whole(13), "JPY", "12.50 JPY"),
        (amount(12_345, 3), "EUR", eur(1235), "EUR", "12.345 EUR"),
        (Amount::whole(7), "<b>currency</b>", Amount::whole(7), "XXX", "7 of an unknown currency"),
    ] {
        let (fixture, ticket_type) = fixture();
        let order = fixture.order(&ticket_type, 1);
        for _ in 0..2 {
            report_payment(&fixture, &order, GatewayPayment::new("pi_strange", paid, currency));
            maintain(&fixture);
        }
        let [refund] = &refunds(&fixture)[..] else { panic!("{currency}: {:?}", refunds(&fixture)) };
        assert_eq!((refund.source, refund.status), (RefundSource::OtherPayment, RefundStatus::Refused), "{currency}");
        assert_eq!((refund.amount, refund.currency.as_str()), (stored, stored_currency));
        assert!(refund.last_error.as_ref().is_some_and(|error| error.contains(text)), "{refund:?}");
        assert!(refund.requires_manual_refund);
        assert_eq!((owed(&fixture), fixture.order_status(order.id)), (1, OrderStatus::Pending));
        assert!(fixture.gateway.refunds().is_empty());
        fixture
            .service
            .mark_order_refunded(&fixture.caller, order.id, MarkRefunded::all(RefundMethod::Cash))
            .expect("given back");
        assert_eq!(owed(&fixture), 0);
        assert!(!refunds(&fixture)[0].requires_manual_refund);
        assert_consistent(&fixture.database());
    }
}

#[test]
fn a_payment_of_another_amount_is_refunded_although_the_first_was_reported_without_its_id() {
    let (fixture, ticket_type) = fixture();
    let order = fixture.order(&ticket_type, 1);
    fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    let report = |reference: &str, cents| {
        report_payment(&fixture, &order, GatewayPayment::new(reference, eur(cents), "EUR"));
        maintain(&fixture);
        fixture.gateway.refunds().into_iter().filter_map(|refund| refund.payment_reference).collect::<Vec<_>>()
    };
    assert_eq!(report("pi_2", 1300), ["pi_2"]);
    // The same payment, as far as anybody can tell.
    assert_eq!(report("pi_1", 1250), ["pi_2"]);
    assert_eq!(report("pi_3", 1250), ["pi_2", "pi_3"]);
    assert_eq!(report("pi_1", 1250), ["pi_2", "pi_3"]);
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
}

#[test]
fn a_refused_refund_counts_as_owed_until_it_was_made_by_hand() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    let paid = cancelled(&fixture, &ticket_type);
    // A payment that came too late.
    let late = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, late.id).expect("cancelled");
    fixture.service.payment_completed(&fixture.caller, late.id).expect("recorded");
    assert_eq!((owed(&fixture), manual_total(&fixture, &ticket_type)), (2, eur(1250)));
    assert!(refunds(&fixture).iter().all(|refund| refund.requires_manual_refund));
    let error = refunds(&fixture).remove(0).last_error;
    assert!(error.is_some_and(|error| error.contains("the card is blocked")));
    // The gateway would make them now, but it is not asked again.
    let asked = fixture.gateway.refunds().len();
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_hours(48));
    maintain(&fixture);
    assert_eq!(fixture.gateway.refunds().len(), asked);
    for (order, left) in [(late.id, 1), (paid.id, 0)] {
        fixture
            .service
            .mark_order_refunded(&fixture.caller, order, MarkRefunded::all(RefundMethod::Cash))
            .expect("given back");
        assert_eq!(owed(&fixture), left);
        let again = fixture.service.mark_order_refunded(&fixture.caller, order, MarkRefunded::all(RefundMethod::Cash));
        assert_eq!(reason(again), Reason::NoManualRefundDue);
    }
    assert_eq!(manual_total(&fixture, &ticket_type), eur(0));
    assert!(refunds(&fixture).iter().all(|refund| !refund.requires_manual_refund));
    assert!(refunds(&fixture).iter().all(|refund| refund.status == RefundStatus::Refused));
}

#[test]
fn a_refund_is_refused_only_after_the_gateway_has_listed_what_went_back() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    fixture.gateway.on_list(GatewayBehavior::Unavailable);
    fixture.gateway.set_listed([GatewayRefund::new("re_1", eur(1000), "EUR")]);
    let order = cancelled(&fixture, &ticket_type);
    assert_eq!(refunds(&fixture)[0].status, RefundStatus::Due);
    fixture.gateway.on_list(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    maintain(&fixture);
    // 12.50 less 10.00, which somebody has given back in the account at the gateway: only the rest is asked for.
    let asked: Vec<_> = fixture.gateway.refunds().iter().map(|refund| refund.amount).collect();
    assert_eq!(asked, [eur(1250), eur(250)]);
    assert_eq!((owed(&fixture), manual_total(&fixture, &ticket_type)), (1, eur(250)));
    let listed: Vec<_> =
        refunds(&fixture).iter().map(|refund| (refund.source, refund.status, refund.returned, refund.owed)).collect();
    assert_eq!(listed, [(RefundSource::Order, RefundStatus::Refused, eur(1000), eur(250))]);
    let asked = fixture.gateway.listed_for();
    assert_eq!(asked[0].payment_reference, "pi_1");
    assert_eq!(asked[0].organization_id, Some(fixture.caller.organization()));
    fixture
        .service
        .mark_order_refunded(&fixture.caller, order.id, MarkRefunded::all(RefundMethod::Cash))
        .expect("given back");
    assert_consistent(&fixture.database());
}

#[test]
fn a_refund_whose_answers_were_all_lost_is_found_in_the_list() {
    let (fixture, ticket_type) = fixture();
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    let order = cancelled(&fixture, &ticket_type);
    fixture.database().run("UPDATE refunds SET attempts = 175");
    fixture.clock.advance(Duration::from_hours(1));
    maintain(&fixture);
    let refund = refunds(&fixture).remove(0);
    assert_eq!((refund.status, owed(&fixture)), (RefundStatus::Refused, 1));
    // The gateway has made it after all.
    let made = GatewayRefund::new("re_1", eur(1250), "EUR").refund(refund.id);
    let notice = Notice::about(&order, GatewayEvent::Refund(made));
    fixture.gateway.know(&notice);
    notice.send(&fixture.service).expect("received");
    assert_eq!((refunds(&fixture)[0].status, owed(&fixture)), (RefundStatus::Done, 0));
    assert_eq!(manual_total(&fixture, &ticket_type), eur(0));
    assert_consistent(&fixture.database());
}

#[test]
fn a_gateway_is_asked_three_times_about_a_refund_unless_it_has_failed() {
    let days = |state: Option<RefundState>| {
        let (fixture, ticket_type) = fixture();
        cancelled(&fixture, &ticket_type);
        if let Some(state) = state {
            let refund = GatewayRefund::new("re_1", eur(1250), "EUR").refund(refunds(&fixture)[0].id);
            fixture.gateway.set_listed([refund.state(state)]);
        }
        let mut days = Vec::new();
        for day in 0..100 {
            maintain(&fixture);
            let asked = fixture.gateway.listed_for().len();
            days.extend((days.len()..asked).map(|_| day));
            fixture.clock.advance(Duration::from_hours(24));
        }
        (days, refunds(&fixture)[0].status)
    };
    assert_eq!(days(Some(RefundState::Pending)), (vec![1, 7, 30], RefundStatus::Done));
    // It may fail nevertheless.
    assert_eq!(days(Some(RefundState::Succeeded)), (vec![1, 7, 30], RefundStatus::Done));
    let failed = RefundState::Failed("the account is closed".to_owned());
    assert_eq!(days(Some(failed)), (vec![1], RefundStatus::Refused));
    // It lists what it has made.
    assert_eq!(days(None), (vec![1, 7, 30], RefundStatus::Done));
}

#[test]
fn a_gateway_that_says_nothing_of_a_refund_is_asked_every_hour_until_a_week_after_the_last_time() {
    for behavior in [GatewayBehavior::Refuse, GatewayBehavior::Unavailable] {
        let (fixture, ticket_type) = fixture();
        cancelled(&fixture, &ticket_type);
        fixture.gateway.on_list(behavior);
        // Each hour at the beginning and at the end, and each day between.
        let hours = || (0..48).chain((48..36 * 24).step_by(24)).chain(36 * 24..40 * 24);
        let mut asked_at = Vec::new();
        for (hour, next) in hours().zip(hours().skip(1)) {
            let before = fixture.gateway.listed_for().len();
            maintain(&fixture);
            if fixture.gateway.listed_for().len() > before {
                asked_at.push(hour);
            }
            fixture.clock.advance(Duration::from_hours(next - hour));
        }
        let expected: Vec<u64> = hours().filter(|hour| (24..=37 * 24).contains(hour)).collect();
        assert_eq!(asked_at, expected, "{behavior:?}");
        assert_eq!(refunds(&fixture)[0].status, RefundStatus::Done, "{behavior:?}");
    }
}

/// A gateway that lists no refunds. The first refund is not answered, and nothing is left for the others.
#[derive(Debug, Default)]
struct WithoutReports {
    asked: AtomicU32,
}

impl PaymentGateway for WithoutReports {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let reference = request.order_id.to_string();
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, _: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        match self.asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(GatewayError::Unavailable("closed for lunch".to_owned())),
            _ => Err(GatewayError::NothingLeft("everything was refunded in the account".to_owned())),
        }
    }

    fn name(&self) -> &str {
        "without-reports"
    }
}

#[test]
fn if_nothing_is_left_of_a_payment_all_its_refunds_have_gone_back_and_nobody_owes_them() {
    let fixture = Fixture::with(|builder| builder.payment_gateway(WithoutReports::default()));
    let ticket_type = fixture.ticket_type(&fixture.event(), 10_000, 10);
    let order = fixture.order(&ticket_type, 1);
    fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
    for (key, amount) in [("first", 40), ("second", 60)] {
        let request = RefundOrder::of_amount(Amount::whole(amount));
        fixture.service.refund_order(&fixture.caller_with_key(key), order.id, request).expect("decided");
    }
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.run_maintenance().expect("maintenance");
    let refunds = refunds(&fixture);
    assert_eq!(refunds.len(), 2);
    for refund in refunds {
        assert_eq!((refund.returned, refund.owed), (refund.amount, eur(0)));
    }
    assert_eq!(owed(&fixture), 0);
}
