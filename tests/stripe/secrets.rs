//! No key, secret or signature is in a log, at any level.

use std::time::Duration;

use ticketing::payment::NoticeHeaders;
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{Fault, WEBHOOK_SECRET};
use crate::common::log;
use crate::gateway::gateway;
use crate::shop::Shop;

#[test]
fn nothing_secret_is_logged_when_all_goes_well_and_when_nothing_does() {
    let log = log::capture();
    let shop = Shop::open();
    let key = shop.fake.secret_key();
    for fault in [Fault::ServerError, Fault::RateLimited, Fault::BadGateway, Fault::CloseBefore] {
        shop.fake.fail("POST", "/v1/checkout/sessions", fault.clone(), usize::MAX);
        assert!(shop.fixture.try_order(&shop.ticket_type, 1).is_err(), "{fault:?}");
        shop.fake.repair();
    }
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    let notices = shop.fake.take_notices();
    for notice in &notices {
        let forged = NoticeHeaders::from_iter([("Stripe-Signature", "t=1,v1=deadbeefdeadbeef")]);
        assert!(shop.service().receive_gateway_notice(&forged, notice.body.as_bytes()).is_err());
        shop.receive(notice).unwrap();
    }
    shop.fake.fail("POST", "/v1/refunds", Fault::ServerError, 2);
    shop.cancel(&order);
    shop.pass(Duration::from_secs(30));
    let other = StripeGateway::builder("sk_test_wrong_key_in_test").api_base(shop.fake.url());
    let other = other.webhook_secret(WEBHOOK_SECRET).build().unwrap();
    let error = other.check_setup().unwrap_err();
    let texts = format!("{error:?} {error} {other:?} {:?}", gateway(&shop.fake));
    for secret in [key.as_str(), WEBHOOK_SECRET, "sk_test_wrong_key_in_test"] {
        assert!(!texts.contains(secret), "{texts}");
    }
    let secrets = [key.as_str(), WEBHOOK_SECRET, "deadbeefdeadbeef", "sk_test_wrong_key_in_test", "4242"];
    for line in log.lines() {
        assert!(!secrets.iter().any(|secret| line.contains(secret)), "{line}");
    }
    assert!(!log.lines().is_empty());
}
