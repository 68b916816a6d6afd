//! Thin events, which name what has changed and do not have it, and notices that cannot be read.

use serde_json::{Value, json};
use ticketing::Error;
use ticketing::environment::ManualClock;
use ticketing::order::OrderStatus;
use ticketing::payment::{
    CheckoutStatus, DisputeStatus, NoticeError, NoticeHeaders, NoticeOutcome, RefundSource, RefundStatus,
};
use ticketing::stripe::{ConnectedAccount, StripeGateway};
use tracing::Level;

use crate::common::fake_stripe::{FakeStripe, Fault, Notice, WEBHOOK_SECRET};
use crate::common::{Fixture, NOW, at, eur, log};
use crate::stripe::Shop;

/// Passes all events to the service as thin ones.
fn deliver_thin(shop: &Shop) -> Vec<NoticeOutcome> {
    let notices = shop.fake.take_notices().into_iter().map(|notice| shop.fake.thin(&notice));
    notices.flat_map(|notice| shop.receive(&notice).unwrap()).collect()
}

fn thin_event(related: &Value) -> Notice {
    Notice::new(&json!({
        "id": "evt_thin", "object": "v2.core.event", "type": "v1.something", "livemode": false, "context": null,
        "related_object": related,
    }))
}

#[test]
fn a_thin_event_about_a_session_is_looked_up() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    let outcomes = deliver_thin(&shop);
    assert!(outcomes.contains(&NoticeOutcome::Processed), "{outcomes:?}");
    assert_eq!(shop.status(order), OrderStatus::Completed);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, order).unwrap();
    assert_eq!(checkout.payment_reference, Some(intent));

    let (expired, session) = shop.order();
    shop.fake.expire(&session);
    deliver_thin(&shop);
    let checkout = shop.service().get_checkout(&shop.fixture.caller, expired).unwrap();
    assert_eq!(checkout.status, CheckoutStatus::Closed);
    // Nothing has come of an open session.
    let (_, session) = shop.order();
    let open = thin_event(&json!({"id": session, "type": "checkout.session", "url": "/v1/anything"}));
    assert_eq!(shop.receive(&open), Ok(vec![NoticeOutcome::Ignored]));
}

#[test]
fn thin_events_about_refunds_and_disputes_are_looked_up() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    let outside = shop.fake.refund_outside(&intent, Some(500));
    deliver_thin(&shop);
    let [refund] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((refund.source, refund.status, refund.amount), (RefundSource::Outside, RefundStatus::Done, eur(500)));
    assert_eq!(refund.reference.as_deref(), outside["id"].as_str());

    let dispute = shop.fake.dispute(&intent);
    shop.fake.close_dispute(&dispute, false);
    deliver_thin(&shop);
    let disputes = shop.disputes();
    assert_eq!((disputes.len(), disputes[0].order_id, disputes[0].status), (1, order, DisputeStatus::Lost));

    shop.cancel(order);
    shop.deliver_all();
    let (cancelled, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(cancelled);
    let ours = shop.fake.all("refund").last().unwrap()["id"].as_str().unwrap().to_owned();
    shop.fake.take_notices();
    shop.fake.fail_refund(&ours);
    deliver_thin(&shop);
    let failed = shop.refunds().into_iter().find(|refund| refund.order_id == cancelled).unwrap();
    assert_eq!((failed.status, failed.requires_manual_refund), (RefundStatus::Refused, true));
}

#[test]
fn a_thin_event_of_a_connected_account_is_looked_up_in_that_account() {
    let clock = ManualClock::new(at(NOW));
    let fake = FakeStripe::start(clock);
    let builder = StripeGateway::builder(fake.secret_key()).webhook_secret(WEBHOOK_SECRET).api_base(fake.url());
    let gateway = builder.account_for(|_| Some(ConnectedAccount::new("acct_1"))).build().unwrap();
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway));
    let order = fixture.order(&fixture.new_ticket_type(1250, 10), 2);
    let session = fake.all("checkout.session")[0]["id"].as_str().unwrap().to_owned();
    fake.pay(&session).unwrap();
    for notice in fake.take_notices() {
        let notice = fake.thin(&notice);
        let headers = NoticeHeaders::from_iter([("Stripe-Signature", fake.sign(&notice))]);
        fixture.service.receive_gateway_notice(&headers, notice.body.as_bytes()).unwrap();
    }
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
}

#[test]
fn a_thin_event_about_what_stripe_does_not_know_is_answered_and_one_without_an_answer_is_sent_again() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let questions = || shop.fake.requests_to("GET", "/v1/").len();
    let named = |id: &str, kind: &str| thin_event(&json!({"id": id, "type": kind, "url": "/v1/x"}));
    for (notice, outcomes, asked) in [
        (named("re_unknown", "refund"), vec![NoticeOutcome::GatewayRefused], 1),
        (named("mtr_1", "billing.meter"), vec![], 0),
        (named("../account", "refund"), vec![], 0),
        (thin_event(&Value::Null), vec![], 0),
        (thin_event(&json!({"type": "refund"})), vec![], 0),
    ] {
        let before = questions();
        assert_eq!(shop.receive(&notice), Ok(outcomes), "{}", notice.body);
        assert_eq!(questions() - before, asked, "{}", notice.body);
    }
    shop.fake.pay(&session).unwrap();
    let paid = shop.fake.take_notices().into_iter().find(|notice| notice.kind == "checkout.session.completed").unwrap();
    let paid = shop.fake.thin(&paid);
    shop.fake.fail("GET", "/v1/checkout/sessions", Fault::ServerError, 1);
    let refused = shop.receive(&paid);
    assert!(matches!(refused, Err(Error::NoticeRefused(NoticeError::Unavailable(_)))), "{refused:?}");
    assert_eq!(shop.receive(&paid), Ok(vec![NoticeOutcome::Processed]));
    assert_eq!(shop.status(order), OrderStatus::Completed);
}

#[test]
fn a_signed_notice_that_is_no_event_is_answered_with_one_warning() {
    let shop = Shop::open();
    let rubbish = |body: &str| Notice { id: "evt_1".to_owned(), kind: String::new(), body: body.to_owned() };
    for body in [
        "",
        "null",
        "[1]",
        "{}",
        r#"{"id": "evt_1", "type": "refund.updated"}"#,
        r#"{"object": "v2.core.event"}"#,
        r#"{"id": "e\nvt", "type": "a", "data": {"object": {}}}"#,
    ] {
        let (received, log) = log::during(|| shop.receive(&rubbish(body)));
        assert_eq!(received, Ok(vec![NoticeOutcome::Unreadable]), "{body}");
        assert_eq!(log.levels_of("ticketing::payment"), [Level::WARN], "{body}: {:?}", log.lines());
    }
    shop.run(1);
}
