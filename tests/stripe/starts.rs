//! Starts of checkouts that fail: no session stays payable that nobody has heard of, and none is made only to be closed.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::id::OrganizationId;
use ticketing::payment::{CheckoutState, GatewayError, PaymentGateway};
use ticketing::stripe::ConnectedAccount;

use crate::common::fake_stripe::{FakeStripe, Fault};
use crate::common::log;
use crate::common::{Fixture, NOW, at, new_order};
use crate::crashes::{BASKET, order_without_record};
use crate::gateway::{Stripe, request, settings};
use crate::shop::Shop;

const SESSIONS: &str = "/v1/checkout/sessions";

#[test]
fn an_order_that_stripe_had_no_time_for_leaves_nothing_to_close() {
    let shop = Shop::open();
    shop.fake.fail("POST", SESSIONS, Fault::RateLimited, usize::MAX);
    assert!(shop.fixture.try_order(&shop.ticket_type, 2).is_err());
    shop.fake.repair();
    let before = shop.fake.requests().len();
    shop.pass(Duration::from_secs(30));
    assert_eq!((shop.fake.requests().len(), shop.fake.all("checkout.session").len()), (before, 0));
}

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
    shop.pass(Duration::from_secs(30));
    assert!(!shop.fake.is_payable(&session));
}

#[test]
fn a_session_behind_a_stored_server_error_is_found_among_many() {
    let stripe = Stripe::start();
    stripe.fake.fail("POST", SESSIONS, Fault::ServerErrorAfterEffect, 1);
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Unavailable(_)), "{failed}");
    // Stripe lists the newest first, at most 100 at once.
    for number in 100..350 {
        stripe.open(number);
    }
    let checkout = stripe.open(1);
    let session = stripe.fake.get(&checkout.reference);
    assert_eq!(session["client_reference_id"], request(1).order_id.to_string());
    assert_eq!(session["url"], checkout.link);
    assert_eq!(stripe.close(1, &checkout), Ok(CheckoutState::Closed));
    assert_eq!(stripe.fake.all("checkout.session").len(), 251);
}

#[test]
fn a_session_of_a_retry_some_minutes_after_the_order_is_found() {
    let stripe = Stripe::start();
    let order = request(1).hold_until(at(NOW).saturating_add(Duration::from_hours(1)));
    stripe.clock.advance(Duration::from_mins(5));
    stripe.fake.fail("POST", SESSIONS, Fault::ServerErrorAfterEffect, 1);
    assert!(stripe.gateway.start_checkout(&order).is_err());
    let checkout = stripe.gateway.start_checkout(&order).unwrap();
    assert_eq!(stripe.fake.all("checkout.session")[0]["id"], checkout.reference);
}

/// The first attempts did not reach Stripe.
#[test]
fn a_session_of_a_retry_hours_after_the_order_is_found() {
    let stripe = Stripe::start();
    let order = request(1).hold_until(at(NOW).saturating_add(Duration::from_hours(5)));
    for fault in [Fault::CloseBefore, Fault::RateLimitedForLong] {
        stripe.fake.fail("POST", SESSIONS, fault, 1);
        assert!(stripe.gateway.start_checkout(&order).is_err());
    }
    // The last minute in which Stripe creates a session of 30 minutes or more.
    stripe.clock.advance(Duration::from_hours(4) + Duration::from_mins(30));
    stripe.fake.fail("POST", SESSIONS, Fault::ServerErrorAfterEffect, 1);
    assert!(stripe.gateway.start_checkout(&order).is_err());
    let checkout = stripe.gateway.start_checkout(&order).unwrap();
    assert_eq!(stripe.fake.all("checkout.session")[0]["id"], checkout.reference);
}

#[test]
fn a_session_among_too_many_is_not_given_up_silently() {
    let stripe = Stripe::start();
    stripe.fake.list_at_most(2);
    stripe.fake.fail("POST", SESSIONS, Fault::ServerErrorAfterEffect, 1);
    assert!(stripe.gateway.start_checkout(&request(1)).is_err());
    for number in 100..160 {
        stripe.open(number);
    }
    let (failed, log) = log::during(|| stripe.gateway.start_checkout(&request(1)).unwrap_err());
    assert!(matches!(failed, GatewayError::Unavailable(_)), "{failed}");
    let warnings = log.lines();
    let warnings = warnings.iter().filter(|line| line.contains(&request(1).order_id.to_string()));
    assert_eq!(warnings.filter(|line| line.contains("is not found among the others of its time")).count(), 1);
}

#[test]
fn a_stored_server_error_without_a_session_is_final() {
    let stripe = Stripe::start();
    stripe.open(2);
    stripe.fake.fail("POST", SESSIONS, Fault::ServerError, 1);
    assert!(matches!(stripe.gateway.start_checkout(&request(1)), Err(GatewayError::Unavailable(_))));
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Refused(_)), "{failed}");
    // While the list does not answer, nobody knows.
    stripe.fake.fail("GET", SESSIONS, Fault::RateLimited, usize::MAX);
    let failed = stripe.gateway.start_checkout(&request(1)).unwrap_err();
    assert!(matches!(failed, GatewayError::Unavailable(_)), "{failed}");
}

#[test]
fn a_session_whose_parameters_have_changed_since_is_found() {
    let stripe = Stripe::start();
    let first = stripe.open(1);
    let changed = request(1).locale("de".to_owned());
    assert_eq!(stripe.gateway.start_checkout(&changed).unwrap(), first);
    assert_eq!(stripe.fake.all("checkout.session").len(), 1);
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
fn starts_of_an_organization_that_fill_the_rate_limit_delay_those_of_another_by_one_only() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    // Requests wait for up to 10 seconds, so that 20 of one organization do. Further ones are turned away.
    let gateway = Arc::new(settings(&fake).requests_per_second(2).build().unwrap());
    let [heavy, light] = ["org_1NR6E9XB00001", "org_1NR6E9XB00002"].map(|id| id.parse::<OrganizationId>().unwrap());
    let (refusals, refused) = channel();
    for number in 1.. {
        let (gateway, refusals) = (Arc::clone(&gateway), refusals.clone());
        // Some of these still wait when the test ends.
        thread::spawn(move || {
            if gateway.start_checkout(&request(number).organization(heavy)).is_err() {
                let _ = refusals.send(());
            }
        });
        if refused.recv_timeout(Duration::from_millis(20)).is_ok() {
            break;
        }
    }
    gateway.start_checkout(&request(99_999).organization(light)).unwrap();
}
