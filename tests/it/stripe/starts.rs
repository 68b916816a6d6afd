//! Starts of checkouts that fail: no session stays payable that nobody has heard of, and none is made only to be
//! closed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::id::OrganizationId;
use ticketing::payment::{CheckoutState, GatewayError, PaymentGateway};
use ticketing::stripe::ConnectedAccount;

use crate::common::fake_stripe::{FakeStripe, Fault};
use crate::common::log;
use crate::common::webhooks::wait_until;
use crate::common::{Fixture, NOW, at, eur, new_order};
use crate::stripe::Shop;
use crate::stripe::crashes::{BASKET, order_without_record};
use crate::stripe::gateway::{Stripe, request, settings};

const SESSIONS: &str = "/v1/checkout/sessions";

#[test]
fn an_order_of_an_account_that_is_not_connected_any_more_leaves_nothing_to_close() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let gateway = settings(&fake).account_for(|_| Some(ConnectedAccount::new("acct_1"))).build().unwrap();
    fake.disconnect("acct_1");
    let failed = gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::NotExecuted(_)), "{failed}");
}

#[test]
fn a_machine_without_a_connection_to_stripe_has_started_nothing() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let gateway = settings(&fake).build().unwrap();
    drop(fake);
    let failed = gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::NotExecuted(_)), "{failed}");
}

#[test]
fn a_start_that_is_turned_away_is_sent_again_unless_stripe_says_that_this_would_not_help() {
    for (fault, requests) in [
        (Fault::RateLimited, 3),
        (Fault::AsksToRetry, 3),
        (Fault::RateLimitedForLong, 1),
        (Fault::ServerError, 1),
        (Fault::BadGateway, 1),
    ] {
        let stripe = Stripe::start();
        stripe.fake.fail("POST", SESSIONS, fault.clone(), 2);
        let started = stripe.gateway.start_checkout(&request(1));
        assert_eq!(stripe.fake.requests_to("POST", SESSIONS).len(), requests, "{fault:?}");
        assert_eq!(started.is_ok(), requests == 3, "{fault:?}");
    }
}

/// The first attempt may have been executed, whatever becomes of the next one.
#[test]
fn a_start_that_failed_and_was_then_turned_away_may_have_been_executed() {
    let stripe = Stripe::start();
    stripe.fake.fail("POST", SESSIONS, Fault::AsksToRetry, 1);
    stripe.fake.fail("POST", SESSIONS, Fault::RateLimitedForLong, 1);
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Unavailable(_)), "{failed}");
}

#[test]
fn a_session_is_closed_although_the_client_s_retry_was_turned_away() {
    let shop = Shop::open();
    let (_, session) = order_without_record(&shop);
    // The lease of the process that was killed.
    shop.skip(Duration::from_mins(1));
    shop.fake.fail("POST", SESSIONS, Fault::RateLimited, usize::MAX);
    let caller = shop.fixture.caller_with_key(BASKET);
    let again = new_order(shop.ticket_type.event_id, shop.ticket_type.id, 2);
    assert!(shop.service().create_order(&caller, again).is_err());
    assert!(shop.fake.is_payable(&session));
    shop.fake.repair();
    shop.run(30);
    assert!(!shop.fake.is_payable(&session));
}

#[test]
fn behind_a_stored_server_error_another_session_is_made_and_the_first_is_known_to_nobody() {
    let stripe = Stripe::start();
    stripe.fake.fail("POST", SESSIONS, Fault::ServerErrorAfterEffect, 1);
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Unavailable(_)), "{failed}");
    let unheard = stripe.fake.all("checkout.session")[0].clone();
    let checkout = stripe.open(1);
    assert_ne!(unheard["id"], checkout.reference);
    assert_eq!(stripe.fake.get(&checkout.reference)["url"], checkout.link);
    // Every further attempt gets the same session.
    assert_eq!(stripe.open(1), checkout);
    assert_eq!(stripe.fake.all("checkout.session").len(), 2);
    assert_eq!(stripe.close(1, &checkout), Ok(CheckoutState::Closed));
    stripe.clock.advance(Duration::from_mins(31));
    stripe.fake.all("checkout.session");
    assert_eq!(stripe.fake.get(unheard["id"].as_str().unwrap())["status"], "expired");
}

/// The keys of renewed checkouts end with a number too.
#[test]
fn a_renewed_checkout_gets_no_session_of_the_one_before() {
    let stripe = Stripe::start();
    stripe.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(stripe.gateway.start_checkout(&request(1)).is_err());
    let first = stripe.open(1);
    let renewed = request(1).renewed_at(at(NOW)).idempotency_key(format!("{}-2", request(1).idempotency_key));
    let second = stripe.gateway.start_checkout(&renewed).unwrap();
    assert_ne!(first, second);
    let keys: Vec<_> = stripe.fake.requests_to("POST", SESSIONS).into_iter().map(|sent| sent.request).collect();
    let keys: Vec<_> = keys.iter().map(|request| request.header("idempotency-key").unwrap().to_owned()).collect();
    let key = request(1).idempotency_key;
    assert_eq!(keys, [key.clone(), key.clone(), format!("{key}.2"), format!("{key}-2")]);
}

/// A session of less than 30 minutes cannot be made any more.
#[test]
fn a_retry_after_a_stored_server_error_that_comes_too_late_is_refused() {
    let stripe = Stripe::start();
    stripe.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(stripe.gateway.start_checkout(&request(1)).is_err());
    stripe.clock.advance(Duration::from_mins(5));
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Refused(_)), "{failed}");
}

#[test]
fn a_refusal_that_stripe_repeats_does_not_outlive_its_reason() {
    let stripe = Stripe::start();
    // The least amount of a payment, which Stripe finds while it creates the session.
    let small = request(1).amount(eur(10)).items([]);
    for _ in 0..2 {
        let failed = stripe.gateway.start_checkout(&small).unwrap_err();
        assert!(matches!(failed, GatewayError::Refused(_)), "{failed}");
    }
    stripe.fake.accept_small_amounts();
    stripe.gateway.start_checkout(&small).unwrap();
}

#[test]
fn a_start_whose_parameters_have_changed_since_gets_another_session() {
    let stripe = Stripe::start();
    let first = stripe.open(1);
    let changed = request(1).locale("de".to_owned());
    let second = stripe.gateway.start_checkout(&changed).unwrap();
    assert_ne!(first, second);
    assert_eq!(stripe.gateway.start_checkout(&changed).unwrap(), second);
    assert_eq!(stripe.fake.all("checkout.session").len(), 2);
}

#[test]
fn no_sale_is_lost_because_others_start_in_the_same_second() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    fake.limit_per_second(25);
    let fixture = Fixture::with(|builder| builder.payment_gateway(settings(&fake).build().unwrap()));
    let ticket_type = fixture.new_ticket_type(1250, 100);
    let ordered: Vec<_> = std::thread::scope(|scope| {
        let orders: Vec<_> = (0..60).map(|_| scope.spawn(|| fixture.try_order(&ticket_type, 1))).collect();
        orders.into_iter().map(|order| order.join().unwrap()).collect()
    });
    let failed: Vec<_> = ordered.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(fake.all("checkout.session").len(), 60);
}

#[test]
fn a_clock_that_is_slow_is_named_in_the_error() {
    let stripe = Stripe::start();
    stripe.clock.advance(Duration::from_mins(2));
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(failed.to_string().contains("expires_at: is the clock of this machine right?"), "{failed}");
}

#[test]
fn a_clock_that_differs_from_stripe_s_is_logged_once() {
    let stripe = Stripe::start();
    let warnings = |seconds_ahead| {
        stripe.fake.send_date(seconds_ahead);
        let ((), log) = log::during(|| drop(stripe.gateway.start_checkout(&request(1)).unwrap()));
        log.lines().iter().filter(|line| line.contains("differs from that of Stripe")).count()
    };
    assert_eq!([20, -20, 45, 45, -45].map(warnings), [0, 0, 1, 0, 0]);
}

#[test]
fn starts_of_an_organization_that_wait_for_each_other_delay_those_of_another_by_one_only() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let gateway = Arc::new(settings(&fake).concurrent_requests(1).build().unwrap());
    let [heavy, light] = ["org_1NR6E9XB00001", "org_1NR6E9XB00002"].map(|id| id.parse::<OrganizationId>().unwrap());
    // The first request is turned away three times, and waits for more than a second. Nothing else is sent meanwhile.
    fake.fail("POST", SESSIONS, Fault::RateLimited, 3);
    let start = |number, organization| {
        let gateway = Arc::clone(&gateway);
        thread::spawn(move || gateway.start_checkout(&request(number).organization(organization)).unwrap())
    };
    let mut starts = vec![start(1, heavy)];
    wait_until("the first request", || !fake.requests_to("POST", SESSIONS).is_empty());
    starts.extend((2..=20).map(|number| start(number, heavy)));
    thread::sleep(Duration::from_millis(200));
    starts.push(start(99_999, light));
    for started in starts {
        started.join().unwrap();
    }
    let sent = fake.requests_to("POST", SESSIONS);
    let is_light = |body: &[u8]| String::from_utf8_lossy(body).contains("order_1NR6E9XB99999");
    let position = sent.iter().position(|recorded| is_light(&recorded.request.body));
    // After the first one with its repetitions, and at most one other.
    assert!(position.is_some_and(|position| position <= 5), "{position:?}");
}
