//! The gateway against the fake, without a service: each operation and each fault.

use std::time::Duration;

use ticketing::Timestamp;
use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::order::CheckoutRedirectUrls;
use ticketing::payment::{
    Checkout, CheckoutItem, CheckoutRequest, CheckoutState, Checkouts, CloseCheckout, GatewayError, GatewayPayment,
    GatewayRefund, LookUp, PaymentGateway, RefundRequest, RefundState,
};
use ticketing::stripe::{StripeGateway, StripeGatewayBuilder};

use crate::common::fake_stripe::{FakeStripe, Fault, WEBHOOK_SECRET};
use crate::common::{NOW, at, eur};

const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";

/// A gateway that sends its requests to the fake, as many as there are.
pub fn gateway(fake: &FakeStripe) -> StripeGateway {
    settings(fake).build().unwrap()
}

/// The settings of a gateway that sends its requests to the fake.
pub fn settings(fake: &FakeStripe) -> StripeGatewayBuilder {
    StripeGateway::builder(fake.secret_key()).webhook_secret(WEBHOOK_SECRET).api_base(fake.url())
}

pub struct Stripe {
    pub fake: FakeStripe,
    pub clock: ManualClock,
    pub gateway: StripeGateway,
}

pub fn order(number: u32) -> OrderId {
    format!("order_1NR6E9XB{number:05}").parse().unwrap()
}

/// An order of two tickets over 25 euros that was created now.
pub fn request(number: u32) -> CheckoutRequest {
    let request = CheckoutRequest::new(order(number), eur(2500), "EUR");
    let request = request.items(vec![CheckoutItem::new("Seat", 2, eur(2500))]);
    request.created_at(at(NOW)).hold_until(at(NOW).saturating_add(Duration::from_mins(30)))
}

impl Stripe {
    pub fn start() -> Self {
        let clock = ManualClock::new(at(NOW));
        let fake = FakeStripe::start(clock.clone());
        let gateway = gateway(&fake);
        Self { fake, clock, gateway }
    }

    pub fn open(&self, number: u32) -> Checkout {
        self.gateway.start_checkout(&request(number)).unwrap()
    }

    pub fn close(&self, number: u32, checkout: &Checkout) -> Result<CheckoutState, GatewayError> {
        self.gateway.close(&CloseCheckout::new(order(number), &checkout.reference))
    }

    pub fn look_up(&self, number: u32, checkout: &Checkout) -> Result<CheckoutState, GatewayError> {
        self.gateway.look_up(&LookUp::new(order(number), &checkout.reference))
    }

    fn refund_of(&self, number: u32, checkout: &Checkout, attempt: u32) -> Result<GatewayRefund, GatewayError> {
        let request = RefundRequest::new(order(number), eur(2500), "EUR");
        self.gateway.refund(&request.reference(&checkout.reference).attempt(attempt))
    }
}

fn paid(intent: String) -> CheckoutState {
    CheckoutState::Paid(GatewayPayment::new(intent, eur(2500), "EUR"))
}

#[test]
fn a_session_has_what_the_customer_sees_and_what_finds_the_order_again() {
    let stripe = Stripe::start();
    let checkout = stripe.open(1);
    let session = stripe.fake.get(&checkout.reference);
    assert_eq!(session["url"], checkout.link);
    assert_eq!(session["client_reference_id"], order(1).to_string());
    assert_eq!(session["amount_total"], 2500);
    assert_eq!(session["customer_email"], "customer@example.com");
    let intent = stripe.fake.pay(&checkout.reference).unwrap();
    let metadata = stripe.fake.get(&intent)["metadata"].to_string();
    assert!(metadata.contains(&order(1).to_string()), "{metadata}");
    let recorded = stripe.fake.requests();
    let body = String::from_utf8_lossy(&recorded[0].request.body).into_owned();
    assert!(body.contains("2+%C3%97+Seat") || body.contains("2%20%C3%97%20Seat"), "{body}");
}

#[test]
fn a_session_ends_with_the_hold_but_not_before_31_minutes_and_not_after_a_day() {
    let stripe = Stripe::start();
    let seconds = |time: Timestamp| time.millis() / 1000;
    let cases = [(5, 31), (31, 31), (45, 45), (23 * 60 + 59, 23 * 60 + 59)];
    for (number, (hold, expected)) in (1..).zip(cases) {
        let end = |minutes: u64| at(NOW).saturating_add(Duration::from_mins(minutes));
        let checkout = stripe.gateway.start_checkout(&request(number).hold_until(end(hold))).unwrap();
        assert_eq!(stripe.fake.get(&checkout.reference)["expires_at"], seconds(end(expected)), "{hold}");
    }
}

#[test]
fn a_session_whose_answer_was_lost_is_the_same_when_it_is_asked_for_again() {
    for fault in [Fault::CloseBefore, Fault::CloseAfter, Fault::RateLimited, Fault::BadGateway] {
        let stripe = Stripe::start();
        stripe.fake.fail("POST", SESSIONS, fault.clone(), 10);
        let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
        let was_not_executed = matches!(failed, GatewayError::NotExecuted(_));
        assert_eq!(was_not_executed, fault == Fault::RateLimited, "{failed}");
        assert!(was_not_executed || matches!(failed, GatewayError::Unavailable(_)), "{failed}");
        stripe.fake.repair();
        // An hour later: everything in the request comes from stored data.
        stripe.clock.advance(Duration::from_secs(30));
        let first = stripe.open(1);
        assert_eq!(stripe.open(1), first, "{fault:?}");
        assert_eq!(stripe.fake.all("checkout.session").len(), 1, "{fault:?}");
    }
}

#[test]
fn an_email_address_or_a_locale_that_stripe_would_refuse_is_left_out() {
    let stripe = Stripe::start();
    let mut first = request(1).locale("de-AT".to_owned());
    first.customer.email = "ada@localhost".to_owned();
    let checkout = stripe.gateway.start_checkout(&first).unwrap();
    let session = stripe.fake.get(&checkout.reference);
    assert!(session["customer_email"].is_null());
    assert_eq!(session["locale"], "de");
    let locales =
        [("pt-BR", "pt-BR"), ("pt-PT", "pt"), ("en-GB", "en-GB"), ("xx", "auto"), ("", "auto"), ("zh-TW", "zh-TW")];
    for (number, (locale, expected)) in (2..).zip(locales) {
        let checkout = stripe.gateway.start_checkout(&request(number).locale(locale.to_owned())).unwrap();
        let chosen = stripe.fake.get(&checkout.reference)["locale"].clone();
        assert!(chosen == expected || expected == "auto" && chosen.is_null(), "{locale}: {chosen}");
    }
}

#[test]
fn a_page_offers_no_payment_method_that_reports_the_payment_days_later() {
    let stripe = Stripe::start();
    let checkout = stripe.open(1);
    for method in crate::common::fake_stripe::DELAYED_METHODS {
        assert!(stripe.fake.pay_later(&checkout.reference, method).is_err(), "{method}");
    }
}

#[test]
fn closing_makes_the_page_unpayable_and_tells_of_a_payment() {
    let stripe = Stripe::start();
    let open = stripe.open(1);
    assert_eq!(stripe.look_up(1, &open), Ok(CheckoutState::Open));
    assert_eq!(stripe.close(1, &open), Ok(CheckoutState::Closed));
    assert_eq!(stripe.close(1, &open), Ok(CheckoutState::Closed), "again");
    assert!(!stripe.fake.is_payable(&open.reference));
    assert_eq!(stripe.look_up(1, &open), Ok(CheckoutState::Closed));
    let second = stripe.open(2);
    let intent = stripe.fake.pay(&second.reference).unwrap();
    assert_eq!(stripe.close(2, &second), Ok(paid(intent.clone())));
    assert_eq!(stripe.look_up(2, &second), Ok(paid(intent)));
    let third = stripe.open(3);
    stripe.clock.advance(Duration::from_mins(31));
    assert_eq!(stripe.close(3, &third), Ok(CheckoutState::Closed), "expired by itself");
}

#[test]
fn a_delayed_payment_is_processing_until_its_outcome() {
    let stripe = Stripe::start();
    for (number, is_paid) in [(1, true), (2, false)] {
        let checkout = stripe.open(number);
        let intent = stripe.fake.pay_later(&checkout.reference, "a_method_of_the_future").unwrap();
        assert_eq!(stripe.look_up(number, &checkout), Ok(CheckoutState::Processing));
        assert_eq!(stripe.close(number, &checkout), Ok(CheckoutState::Processing));
        stripe.fake.settle_later(&checkout.reference, is_paid);
        let outcome = stripe.look_up(number, &checkout).unwrap();
        assert!(if is_paid { outcome == paid(intent) } else { outcome == CheckoutState::Closed }, "{outcome:?}");
    }
}

#[test]
fn every_fault_of_closing_and_looking_up_is_temporary() {
    for fault in [Fault::ServerError, Fault::RateLimited, Fault::CloseBefore, Fault::CloseAfter, Fault::BadGateway] {
        let stripe = Stripe::start();
        let checkout = stripe.open(1);
        for method in ["POST", "GET"] {
            stripe.fake.fail(method, SESSIONS, fault.clone(), 10);
        }
        let is_temporary = |result| matches!(result, Err(GatewayError::Unavailable(_) | GatewayError::NotExecuted(_)));
        assert!(is_temporary(stripe.look_up(1, &checkout)), "{fault:?}");
        assert!(is_temporary(stripe.close(1, &checkout)), "{fault:?}");
        stripe.fake.repair();
        assert_eq!(stripe.close(1, &checkout), Ok(CheckoutState::Closed), "{fault:?}");
    }
}

#[test]
fn a_replayed_answer_about_a_refund_that_failed_later_does_not_count_as_a_refund() {
    let stripe = Stripe::start();
    let checkout = stripe.open(1);
    stripe.fake.pay(&checkout.reference).unwrap();
    // The first key stores a failure. The second key makes the refund, but the answer is lost.
    stripe.fake.fail("POST", REFUNDS, Fault::ServerError, 2);
    stripe.fake.fail("POST", REFUNDS, Fault::CloseAfter, 1);
    assert!(stripe.refund_of(1, &checkout, 1).is_err());
    assert!(stripe.refund_of(1, &checkout, 2).is_err());
    assert_eq!(stripe.fake.all("refund").len(), 1);
    stripe.fake.fail_refund(stripe.fake.all("refund")[0]["id"].as_str().unwrap());
    let answer = stripe.refund_of(1, &checkout, 3).unwrap();
    assert!(matches!(answer.state, RefundState::Failed(_)), "{answer:?}");
    assert_eq!(stripe.fake.all("refund").len(), 1);
}

#[test]
fn the_order_s_own_pages_are_not_told_to_stripe() {
    let stripe = Stripe::start();
    let thanks = "https://shop.example/thanks";
    let request = request(1)
        .redirect_urls(CheckoutRedirectUrls::new(thanks, thanks, thanks))
        .public_url("https://tickets.example");
    let checkout = stripe.gateway.start_checkout(&request).unwrap();
    let session = stripe.fake.get(&checkout.reference);
    for name in ["success_url", "cancel_url"] {
        let expected = "https://tickets.example/checkout/return/{CHECKOUT_SESSION_ID}";
        assert_eq!(session[name], expected, "{name}");
    }
}
