//! Notices about payments of other programs, of the other mode, and of orders that this database does not have: what is
//! answered, and what Stripe is asked.

use serde_json::{Value, json};
use ticketing::Error;
use ticketing::environment::Clock;
use ticketing::order::OrderStatus;
use ticketing::payment::{NoticeError, NoticeHeaders, NoticeOutcome, PaymentWebhooks, RefundStatus};
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{Fault, Notice, WEBHOOK_SECRET};
use crate::stripe::Shop;

const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";

fn event(kind: &str, object: &Value) -> Notice {
    Notice::new(&json!({
        "id": "evt_foreign", "object": "event", "type": kind, "livemode": false, "data": { "object": object },
    }))
}

/// The event with another object.
fn changed(notice: &Notice, change: impl FnOnce(&mut Value)) -> Notice {
    let mut event: Value = serde_json::from_str(&notice.body).unwrap();
    change(&mut event);
    Notice::new(&event)
}

fn take(shop: &Shop, kind: &str) -> Notice {
    let notices = shop.fake.take_notices();
    notices.into_iter().find(|notice| notice.kind == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// The number of requests so far that read something.
fn questions(shop: &Shop) -> usize {
    shop.fake.requests_to("GET", "/v1/").len()
}

fn count(shop: &Shop, outcome: NoticeOutcome) -> u64 {
    let notices = shop.service().statistics().payments.notices;
    notices.iter().find(|(counted, _)| *counted == outcome).unwrap().1
}

#[test]
fn events_of_other_programs_are_answered_and_nothing_is_asked_or_read() {
    let shop = Shop::open();
    shop.order();
    let before = shop.fake.requests().len();
    let session = json!({"id": "cs_test_foreign", "mode": "payment", "status": "complete", "payment_status": "paid"});
    let with = |fields: Value| {
        let mut session = session.clone();
        fields.as_object().unwrap().iter().for_each(|(name, value)| session[name] = value.clone());
        session
    };
    let mut foreign = vec![
        // Paid without a payment, in a currency that is not known, and with an amount that the currency cannot have.
        event("checkout.session.completed", &session),
        event(
            "checkout.session.completed",
            &with(json!({"payment_intent": "pi_f", "currency": "xxx", "amount_total": 5})),
        ),
        event(
            "checkout.session.completed",
            &with(json!({"payment_intent": "pi_f", "currency": "isk", "amount_total": 5})),
        ),
        event("checkout.session.completed", &with(json!({"status": "a new one"}))),
        event("checkout.session.completed", &with(json!({"metadata": {"order": "A-17", "organization": "us"}}))),
        event("checkout.session.expired", &with(json!({"status": "expired", "payment_status": "unpaid"}))),
        event("charge.refunded", &json!({"id": "ch_1", "payment_intent": "pi_f", "metadata": {}})),
        event("charge.refunded", &json!({"payment_intent": "pi_f", "amount_refunded": 5, "currency": "xxx"})),
        // A dispute without an amount.
        event("charge.dispute.created", &json!({"id": "du_1", "payment_intent": "pi_f"})),
    ];
    for kind in ["refund.failed", "refund.updated", "refund.created", "charge.refund.updated"] {
        for status in ["succeeded", "failed", "canceled", "pending"] {
            let refund =
                json!({"id": "re_1", "payment_intent": "pi_f", "status": status, "amount": 5, "currency": "eur"});
            foreign.push(event(kind, &refund));
        }
        foreign.push(event(kind, &json!({"id": "re_1", "payment_intent": "pi_f"})));
    }
    for notice in &foreign {
        let outcomes = shop.receive(notice).unwrap_or_else(|error| panic!("{error}: {}", notice.body));
        assert!(outcomes.is_empty() || outcomes == [NoticeOutcome::UnknownOrder], "{outcomes:?}: {}", notice.body);
    }
    assert_eq!(shop.fake.requests().len(), before);
}

#[test]
fn a_dispute_of_another_program_costs_one_question_and_is_answered() {
    let shop = Shop::open();
    let dispute = json!({
        "id": "du_1", "payment_intent": "pi_f", "amount": 500, "currency": "eur", "status": "needs_response",
    });
    let notice = event("charge.dispute.created", &dispute);
    assert_eq!(shop.receive(&notice), Ok(vec![NoticeOutcome::UnknownOrder]));
    assert_eq!(shop.fake.requests_to("GET", SESSIONS).len(), 1);
}

#[test]
fn an_event_about_an_order_of_ours_that_cannot_be_read_is_answered_and_counted() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    let notice = take(&shop, "checkout.session.completed");
    for field in ["payment_intent", "amount_total", "currency"] {
        let broken = changed(&notice, |event| event["data"]["object"][field] = Value::Null);
        assert_eq!(shop.receive(&broken), Ok(vec![NoticeOutcome::Unreadable]), "{field}");
    }
    assert_eq!(count(&shop, NoticeOutcome::Unreadable), 3);
    assert_eq!(shop.status(order), OrderStatus::Pending);
    assert_eq!(shop.receive(&notice), Ok(vec![NoticeOutcome::Processed]));
}

#[test]
fn events_of_the_other_mode_are_ignored() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    let paid = take(&shop, "checkout.session.completed");
    shop.fake.refund_outside(&intent, None);
    let refunded = take(&shop, "charge.refunded");
    let before = shop.fake.requests().len();
    for notice in [&paid, &refunded] {
        let live = changed(notice, |event| event["livemode"] = true.into());
        assert_eq!(shop.receive(&live), Ok(Vec::new()));
    }
    assert_eq!(count(&shop, NoticeOutcome::Ignored), 2);
    assert_eq!(shop.status(order), OrderStatus::Pending);
    assert_eq!(shop.fake.requests().len(), before);

    // A key that does not tell its mode reads the events of both.
    let gateway = StripeGateway::builder("sk_org_1").webhook_secret(WEBHOOK_SECRET).build().unwrap();
    for livemode in [true, false] {
        let notice = changed(&paid, |event| event["livemode"] = livemode.into());
        let headers: NoticeHeaders = [("Stripe-Signature", shop.fake.sign(&notice))].into_iter().collect();
        let read = gateway.read(&headers, notice.body.as_bytes(), shop.clock.now());
        assert_eq!(read.unwrap().len(), 1, "{livemode}");
    }
}

#[test]
fn a_refund_of_ours_is_listed_for_each_of_its_two_notices() {
    let shop = Shop::open();
    for _ in 0..3 {
        let (order, session) = shop.order();
        shop.fake.pay(&session).unwrap();
        shop.deliver_all();
        shop.cancel(order);
        shop.maintain();
    }
    assert_eq!(shop.fake.requests_to("POST", REFUNDS).len(), 3);
    shop.deliver_all();
    assert_eq!((questions(&shop), shop.fake.requests_to("GET", REFUNDS).len()), (6, 6));
    for refund in shop.refunds() {
        assert_eq!(refund.status, RefundStatus::Done);
        assert!(refund.reference.is_some_and(|reference| reference.starts_with("re_")));
    }
}

#[test]
fn an_order_is_found_by_its_payment_without_a_question_about_its_session() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    let dispute = shop.fake.dispute(&intent);
    shop.fake.close_dispute(&dispute, true);
    shop.deliver_all();
    assert_eq!(shop.fake.requests_to("GET", SESSIONS).len(), 0);
    let disputes = shop.disputes();
    assert_eq!((disputes.len(), disputes[0].order_id), (1, order));
    // What an outside refund is has to be asked, but not which order it is of.
    shop.fake.refund_outside(&intent, Some(300));
    let notice = take(&shop, "charge.refunded");
    shop.receive(&notice).unwrap();
    assert_eq!((shop.fake.requests_to("GET", SESSIONS).len(), shop.fake.requests_to("GET", REFUNDS).len()), (0, 1));
    shop.receive(&notice).unwrap();
    assert_eq!(shop.refunds().len(), 1);
}

#[test]
fn a_notice_waits_for_an_answer_of_stripe_but_not_for_a_refusal() {
    let shop = Shop::open();
    let (_, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.refund_outside(&intent, Some(300));
    let notice = take(&shop, "charge.refunded");
    for fault in [Fault::ServerError, Fault::RateLimited, Fault::BadGateway, Fault::CloseBefore, Fault::CloseAfter] {
        // A read is repeated once when the connection was closed.
        shop.fake.fail("GET", REFUNDS, fault.clone(), 10);
        let refused = shop.receive(&notice);
        assert!(matches!(refused, Err(Error::NoticeRefused(NoticeError::Unavailable(_)))), "{fault:?}: {refused:?}");
        shop.fake.repair();
    }
    assert_eq!(count(&shop, NoticeOutcome::Unavailable), 5);
    // A key that Stripe does not accept.
    let gateway = StripeGateway::builder("sk_test_of_another").webhook_secret(WEBHOOK_SECRET).api_base(shop.fake.url());
    let gateway = gateway.build().unwrap();
    let other = shop.fixture.second_service_with(|builder| builder.payment_gateway(gateway));
    let headers = [("stripe-signature", shop.fake.sign(&notice))].into_iter().collect();
    let outcomes = other.receive_gateway_notice(&headers, notice.body.as_bytes());
    assert_eq!(outcomes, Ok(vec![NoticeOutcome::GatewayRefused]));
    assert!(shop.refunds().is_empty());
    assert_eq!(shop.receive(&notice), Ok(vec![NoticeOutcome::Processed]));
    assert_eq!(shop.refunds().len(), 1);
}

#[test]
fn a_payment_that_no_order_has_is_counted_apart() {
    // Both shops draw the same ids. The second order of the other one is not in this database.
    let (shop, other) = (Shop::open(), Shop::open());
    shop.order();
    other.order();
    let (_, session) = other.order();
    other.fake.pay(&session).unwrap();
    let paid = take(&other, "checkout.session.completed");
    assert_eq!(shop.receive(&paid), Ok(vec![NoticeOutcome::UnknownPayment]));
    assert_eq!(count(&shop, NoticeOutcome::UnknownPayment), 1);
    // An organization of another installation, for example of a test system with the same account.
    let elsewhere = changed(&paid, |event| {
        event["data"]["object"]["metadata"]["organization"] = "org_7ZZZZZZZZZZZZ".into();
    });
    assert_eq!(shop.receive(&elsewhere), Ok(vec![NoticeOutcome::UnknownOrder]));
    // An order that has another session.
    let (_, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    let second = changed(&take(&shop, "checkout.session.completed"), |event| {
        event["data"]["object"]["id"] = "cs_test_second".into();
    });
    assert_eq!(shop.receive(&second), Ok(vec![NoticeOutcome::UnknownPayment]));
    assert_eq!(questions(&shop), 0);
}
