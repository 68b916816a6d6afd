//! Statements: what the gateway lists of the payments, refunds and disputes of a period.
//!
//! The fake charges 1.4 % and 0.25 for a payment, nothing for a refund, and 20.00 for a dispute: of a payment over
//! 25.00, it takes 0.35 + 0.25 = 0.60.

use std::collections::HashSet;
use std::time::Duration;

use ticketing::id::{OrganizationId, RefundId};
use ticketing::payment::{
    DisputeStatus, GatewayAccount, GatewayDispute, GatewayError, GatewayPayment, GatewayRefund, PaymentGateway,
    RefundRequest, RefundState, StatementEvent, StatementLine, StatementRequest,
};
use ticketing::{Amount, Timestamp};

use crate::common::fake_stripe::Fault;
use crate::common::{NOW, amount, at, eur};
use crate::stripe::gateway::{Stripe, order, request};

const LISTS: [&str; 3] = ["/v1/checkout/sessions", "/v1/refunds", "/v1/disputes"];

const ORGANIZATION: &str = "org_1NR6E9XB00000";
const ORDER: &str = "order_1NR6E9XB00007";

/// The metadata of a payment of ours.
const OURS: [(&str, &str); 2] = [("order", ORDER), ("organization", ORGANIZATION)];

fn organization() -> OrganizationId {
    ORGANIZATION.parse().unwrap()
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.saturating_add(by)
}

/// A request for the day that ends 12 hours after the tests begin.
fn day() -> StatementRequest {
    StatementRequest::new(at("2026-06-01T00:00:00Z"), at("2026-06-02T00:00:00Z"))
}

/// The lines of a statement up to the error, if there is one.
fn read(stripe: &Stripe, request: &StatementRequest) -> (Vec<StatementLine>, Result<(), GatewayError>) {
    let mut lines = Vec::new();
    let statements = stripe.gateway.statements().unwrap();
    let result = statements.statement(request, &mut |line| {
        lines.push(line);
        Ok(())
    });
    (lines, result)
}

fn lines(stripe: &Stripe, request: &StatementRequest) -> Vec<StatementLine> {
    let (lines, result) = read(stripe, request);
    result.unwrap();
    lines
}

fn refunds(stripe: &Stripe) -> Vec<StatementLine> {
    let mut lines = lines(stripe, &day());
    lines.retain(|line| matches!(line.event, StatementEvent::Refund(_)));
    lines
}

/// The only dispute, and the line that it should have without its fee and net amount.
fn dispute(stripe: &Stripe) -> StatementLine {
    let mut lines = lines(stripe, &day());
    lines.retain(|line| matches!(line.event, StatementEvent::Dispute(_)));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    line.clone()
}

fn payment(reference: &str) -> StatementEvent {
    StatementEvent::Payment(GatewayPayment::new(reference, eur(2500), "EUR"))
}

fn line(event: StatementEvent, payment: &str) -> StatementLine {
    let line = StatementLine::new(event, payment, at(NOW));
    line.order(ORDER.parse().unwrap()).organization(organization())
}

#[test]
fn a_payment_is_listed_with_its_order_its_fee_and_what_the_account_receives() {
    let stripe = Stripe::start();
    assert_eq!(at(NOW), at("2026-06-01T12:00:00Z"));
    let checkout = stripe.gateway.start_checkout(&request(1).organization(organization())).unwrap();
    stripe.open(2);
    stripe.clock.advance(Duration::from_mins(5));
    let intent = stripe.fake.pay(&checkout.reference).unwrap();
    let expected = StatementLine::new(payment(&intent), &intent, at("2026-06-01T12:05:00Z"))
        .checkout_reference(&checkout.reference)
        .order(order(1))
        .organization(organization())
        .fee(eur(60))
        .net(eur(2440));
    assert_eq!(lines(&stripe, &day()), [expected]);
}

#[test]
fn amounts_and_fees_have_the_decimals_of_the_currency() {
    for (currency, units, expected, fee, net) in [
        // 1.4 % of 500 are 7, and 25.
        ("jpy", 500, Amount::whole(500), Amount::whole(32), Amount::whole(468)),
        // 1.4 % of 5120 are 71.68, rounded to 72, and 25.
        ("kwd", 5120, amount(5120, 3), amount(97, 3), amount(5023, 3)),
        ("usd", 1000, eur(1000), eur(39), eur(961)),
    ] {
        let stripe = Stripe::start();
        let (_, intent) = stripe.fake.sell(None, units, currency, &OURS);
        let [line] = &lines(&stripe, &day())[..] else { panic!("{currency}") };
        let payment = GatewayPayment::new(&intent, expected, currency.to_uppercase());
        assert_eq!(line.event, StatementEvent::Payment(payment));
        assert_eq!((line.fee, line.net), (Some(fee), Some(net)), "{currency}");
    }
}

#[test]
fn fees_in_the_currency_of_another_balance_are_not_known() {
    let stripe = Stripe::start();
    stripe.fake.keep_balances_in("usd");
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.refund_outside(&intent, Some(500));
    stripe.fake.dispute(&intent);
    let lines = lines(&stripe, &day());
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| (line.fee, line.net) == (None, None)), "{lines:?}");
}

#[test]
fn refunds_of_ours_and_those_of_the_dashboard_are_listed_with_their_order() {
    let stripe = Stripe::start();
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    let id: RefundId = "refund_1NR6E9XB00003".parse().unwrap();
    let request = RefundRequest::new(ORDER.parse().unwrap(), eur(1000), "EUR").refund(id).payment_reference(&intent);
    let ours = stripe.gateway.refund(&request).unwrap();
    let theirs = stripe.fake.refund_outside(&intent, Some(299));
    let theirs = GatewayRefund::new(theirs["id"].as_str().unwrap(), eur(299), "EUR");
    let expected = [
        line(StatementEvent::Refund(theirs), &intent).fee(eur(0)).net(eur(-299)),
        line(StatementEvent::Refund(ours.clone()), &intent).fee(eur(0)).net(eur(-1000)),
    ];
    assert_eq!(refunds(&stripe), expected);
    assert_eq!((ours.refund_id, ours.state), (Some(id), RefundState::Succeeded));
}

#[test]
fn a_refund_that_failed_is_listed_as_failed_and_has_taken_nothing() {
    let stripe = Stripe::start();
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.delay_refunds();
    let pending = stripe.fake.refund_outside(&intent, Some(1000))["id"].as_str().unwrap().to_owned();
    let event = |state| StatementEvent::Refund(GatewayRefund::new(&pending, eur(1000), "EUR").state(state));
    let listed = |state, net, movements| [line(event(state), &intent).fee(eur(0)).net(net).movements(movements)];
    assert_eq!(refunds(&stripe), listed(RefundState::Pending, eur(-1000), 1));
    stripe.fake.fail_refund(&pending);
    let failed = RefundState::Failed("expired_or_canceled_card".to_owned());
    assert_eq!(refunds(&stripe), listed(failed, eur(0), 2));
}

#[test]
fn a_refund_that_waits_for_the_customer_has_not_changed_the_balance() {
    let stripe = Stripe::start();
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.ask_customers_about_refunds();
    let refund = stripe.fake.refund_outside(&intent, None)["id"].as_str().unwrap().to_owned();
    let event = |state| StatementEvent::Refund(GatewayRefund::new(&refund, eur(2500), "EUR").state(state));
    assert_eq!(refunds(&stripe), [line(event(RefundState::RequiresAction), &intent)]);
    stripe.fake.succeed_refund(&refund);
    let expected = line(event(RefundState::Succeeded), &intent).fee(eur(0)).net(eur(-2500));
    assert_eq!(refunds(&stripe), [expected]);
}

#[test]
fn a_dispute_is_listed_with_its_outcome_and_what_it_cost() {
    // The amount and 20.00 are taken. If it is won, the amount comes back.
    for (status, returned, taken, net) in [
        (DisputeStatus::Open, 0, 2500, -4500),
        (DisputeStatus::Lost, 0, 2500, -4500),
        (DisputeStatus::Lost, 1000, 1500, -3500),
        (DisputeStatus::Won, 2500, 0, -2000),
    ] {
        let stripe = Stripe::start();
        let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
        let id = stripe.fake.dispute(&intent);
        match status {
            DisputeStatus::Won => stripe.fake.close_dispute(&id, true),
            DisputeStatus::Lost => stripe.fake.lose_dispute_in_part(&id, returned),
            _ => {}
        }
        let report = GatewayDispute::new(&id, eur(2500), "EUR").payment_reference(&intent);
        let report = report.reason("fraudulent").status(status).taken(eur(taken));
        let expected = line(StatementEvent::Dispute(report), &intent).fee(eur(2000)).net(eur(net));
        let movements = if returned > 0 { 2 } else { 1 };
        assert_eq!(dispute(&stripe), expected.movements(movements));
    }
}

#[test]
fn an_inquiry_costs_nothing() {
    let stripe = Stripe::start();
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    let id = stripe.fake.inquire(&intent);
    let report = GatewayDispute::new(&id, eur(2500), "EUR").payment_reference(&intent);
    let report = report.reason("fraudulent").taken(eur(0));
    assert_eq!(dispute(&stripe), line(StatementEvent::Dispute(report), &intent).fee(eur(0)).net(eur(0)));
}

#[test]
fn a_payment_that_was_refunded_or_disputed_is_still_listed() {
    let stripe = Stripe::start();
    let (_, refunded) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.refund_outside(&refunded, None);
    let (_, disputed) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.dispute(&disputed);
    let mut lines = lines(&stripe, &day());
    lines.retain(|line| line.checkout_reference.is_some());
    let [first, second] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(second.event, payment(&refunded));
    let expected = GatewayPayment::new(&disputed, eur(2500), "EUR").disputed();
    assert_eq!(first.event, StatementEvent::Payment(expected));
    assert!(lines.iter().all(|line| line.net == Some(eur(2440))), "{lines:?}");
}

#[test]
fn a_period_contains_its_beginning_and_not_its_end() {
    let stripe = Stripe::start();
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
    stripe.fake.refund_outside(&intent, Some(500));
    stripe.fake.dispute(&intent);
    let milli = Duration::from_millis(1);
    let before = at("2026-06-01T11:59:59.999Z");
    for (from, to, expected) in [
        (at(NOW), later(at(NOW), milli), 3),
        (before, later(at(NOW), milli), 3),
        (before, at(NOW), 0),
        (later(at(NOW), milli), later(at(NOW), Duration::from_hours(1)), 0),
        (Timestamp::UNIX_EPOCH, Timestamp::MAX, 3),
    ] {
        assert_eq!(lines(&stripe, &StatementRequest::new(from, to)).len(), expected, "{from} to {to}");
    }
}

#[test]
fn a_payment_counts_when_it_was_made_and_not_when_its_session_was_created() {
    let stripe = Stripe::start();
    let end = |minutes| later(at(NOW), Duration::from_mins(minutes));
    let checkout = stripe.gateway.start_checkout(&request(1).hold_until(end(24 * 60 - 1))).unwrap();
    // A second before the session expires.
    let paid_at = later(at(NOW), Duration::from_secs(24 * 3600 - 61));
    stripe.clock.advance(Duration::from_secs(24 * 3600 - 61));
    stripe.fake.pay(&checkout.reference).unwrap();
    let of_payment = StatementRequest::new(paid_at, later(paid_at, Duration::from_secs(1)));
    assert_eq!(lines(&stripe, &of_payment).len(), 1);
    assert_eq!(lines(&stripe, &StatementRequest::new(at(NOW), paid_at)), []);
}

#[test]
fn a_period_that_is_empty_asks_nothing() {
    let stripe = Stripe::start();
    stripe.fake.sell(None, 2500, "eur", &OURS);
    for to in [at(NOW), at("2026-06-01T11:00:00Z")] {
        assert_eq!(lines(&stripe, &StatementRequest::new(at(NOW), to)), []);
    }
    assert_eq!(stripe.fake.requests().len(), 0);
}

#[test]
fn long_lists_are_read_in_pages_of_100() {
    let stripe = Stripe::start();
    for index in 0..250 {
        let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
        if index % 2 == 0 {
            stripe.fake.refund_outside(&intent, Some(1000));
        } else {
            stripe.fake.dispute(&intent);
        }
    }
    let lines = lines(&stripe, &day());
    assert_eq!(lines.len(), 500);
    let pages = LISTS.map(|path| stripe.fake.requests_to("GET", path).len());
    assert_eq!(pages, [3, 2, 2]);
    let payments = lines.iter().filter(|line| line.checkout_reference.is_some());
    let payments: HashSet<_> = payments.map(|line| &line.payment_reference).collect();
    assert_eq!(payments.len(), 250);
    // 250 × 0.60 and 125 × 20.00 are 150.00 and 2500.00.
    let fees = Amount::checked_sum(lines.iter().filter_map(|line| line.fee));
    assert_eq!(fees, Some(eur(265_000)));
    // 250 × 25.00, less 125 × 10.00, 125 × 25.00 and the fees.
    let net = Amount::checked_sum(lines.iter().filter_map(|line| line.net));
    assert_eq!(net, Some(eur(625_000 - 125_000 - 312_500 - 265_000)));
}

#[test]
fn payments_of_other_programs_are_not_listed() {
    let stripe = Stripe::start();
    let foreign: [&[(&str, &str)]; 4] =
        [&[], &[("order", "A-17")], &[("organization", ORGANIZATION)], &[("order_id", ORDER)]];
    for metadata in foreign {
        let (_, intent) = stripe.fake.sell(None, 2500, "eur", metadata);
        stripe.fake.refund_outside(&intent, Some(500));
        stripe.fake.dispute(&intent);
    }
    assert_eq!(lines(&stripe, &day()), []);
    stripe.fake.sell(None, 2500, "eur", &OURS);
    assert_eq!(lines(&stripe, &day()).len(), 1);
}

#[test]
fn only_the_lines_of_the_organization_are_listed_if_it_is_set() {
    let stripe = Stripe::start();
    let other = "org_1NR6E9XB00001";
    for organization in [ORGANIZATION, other, ORGANIZATION] {
        let metadata = [("order", ORDER), ("organization", organization)];
        let (_, intent) = stripe.fake.sell(None, 2500, "eur", &metadata);
        stripe.fake.refund_outside(&intent, Some(500));
        stripe.fake.dispute(&intent);
    }
    let count = |organization: OrganizationId| lines(&stripe, &day().organization(organization)).len();
    assert_eq!([organization(), other.parse().unwrap(), "org_1NR6E9XB00002".parse().unwrap()].map(count), [6, 3, 0]);
    assert_eq!(lines(&stripe, &day()).len(), 9);
}

#[test]
fn the_lists_are_those_of_the_account_that_is_asked_for() {
    let stripe = Stripe::start();
    let [own, connected] = [None, Some("acct_1")].map(|account| {
        let (_, intent) = stripe.fake.sell(account, 2500, "eur", &OURS);
        stripe.fake.refund_outside(&intent, Some(500));
        stripe.fake.dispute(&intent);
        intent
    });
    for (account, intent, header) in [
        (GatewayAccount::Own, &own, None),
        (GatewayAccount::Connected("acct_1".to_owned()), &connected, Some("acct_1")),
    ] {
        let before = stripe.fake.requests().len();
        let lines = lines(&stripe, &day().account(account));
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.payment_reference == *intent), "{lines:?}");
        let sent = stripe.fake.requests().split_off(before);
        assert_eq!(sent.len(), 3);
        assert!(sent.iter().all(|recorded| recorded.request.account().as_deref() == header));
    }
    stripe.fake.disconnect("acct_1");
    let (lines, result) = read(&stripe, &day().account(GatewayAccount::Connected("acct_1".to_owned())));
    assert_eq!(lines, []);
    assert!(matches!(result, Err(GatewayError::NotExecuted(_))), "{result:?}");
}

#[test]
fn a_failure_in_the_middle_is_returned_after_the_lines_before_it() {
    for (path, expected) in [(LISTS[0], 100), (LISTS[1], 150), (LISTS[2], 300)] {
        let stripe = Stripe::start();
        for _ in 0..150 {
            let (_, intent) = stripe.fake.sell(None, 2500, "eur", &OURS);
            stripe.fake.refund_outside(&intent, Some(500));
            stripe.fake.dispute(&intent);
        }
        let mut count = 0;
        let result = stripe.gateway.statements().unwrap().statement(&day(), &mut |_| {
            count += 1;
            if count == 1 {
                stripe.fake.fail("GET", path, Fault::ServerError, 1);
            }
            Ok(())
        });
        assert!(matches!(result, Err(GatewayError::Unavailable(_))), "{path}: {result:?}");
        assert_eq!(count, expected, "{path}");
    }
}

#[test]
fn an_error_of_the_caller_ends_the_statement_at_once() {
    let stripe = Stripe::start();
    for _ in 0..3 {
        stripe.fake.sell(None, 2500, "eur", &OURS);
    }
    let mut count = 0;
    let full = GatewayError::Unavailable("the disk is full".to_owned());
    let result = stripe.gateway.statements().unwrap().statement(&day(), &mut |_| {
        count += 1;
        if count == 2 { Err(full.clone()) } else { Ok(()) }
    });
    assert_eq!((result, count), (Err(full), 2));
    assert_eq!(stripe.fake.requests().len(), 1);
}

#[test]
fn a_request_that_stripe_turns_away_is_sent_again() {
    let stripe = Stripe::start();
    stripe.fake.sell(None, 2500, "eur", &OURS);
    for path in LISTS {
        stripe.fake.fail("GET", path, Fault::RateLimited, 1);
    }
    assert_eq!(lines(&stripe, &day()).len(), 1);
}
