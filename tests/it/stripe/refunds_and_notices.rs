//! The gateway against the fake, without a service: refunds after failures, notices, accounts and settings.

use std::time::Duration;

use ticketing::discount::Percentage;
use ticketing::environment::Clock;
use ticketing::id::RefundId;
use ticketing::payment::{
    CheckoutState, Checkouts, CloseCheckout, DisputeStatus, GatewayAccount, GatewayDispute, GatewayError, GatewayEvent,
    GatewayNotice, GatewayPayment, GatewayRefund, LookUp, NoticeError, NoticeHeaders, PaymentGateway, PaymentLookUp,
    PaymentWebhooks, RefundReports, RefundRequest, RefundState,
};
use ticketing::stripe::{ConnectedAccount, StripeGateway};
use ticketing::{Amount, Error};

use crate::common::fake_stripe::{Fault, Notice, WEBHOOK_SECRET};
use crate::common::{NOW, at};
use crate::stripe::gateway::{Stripe, order, request};

const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";
const HALF: Amount = Amount::cents(1250);
const WHOLE: Amount = Amount::cents(2500);

fn refund_id(last: u8) -> RefundId {
    format!("refund_1NR6E9XB0000{last}").parse().unwrap()
}

impl Stripe {
    /// Creates a session, which the customer pays. Returns its id and that of the payment.
    fn paid(&self) -> (String, String) {
        let session = self.open(0).reference;
        let payment = self.fake.pay(&session).unwrap();
        (session, payment)
    }

    fn refund(&self, payment: &str, amount: Amount, attempt: u32) -> Result<GatewayRefund, GatewayError> {
        let request = RefundRequest::new(order(0), amount, "EUR").refund(refund_id(1)).payment_reference(payment);
        self.gateway.refund(&request.idempotency_key("refund-1").attempt(attempt))
    }

    /// Asks for a refund again of which one with this id is recorded.
    fn refund_again(&self, payment: &str, amount: Amount, known: &str) -> Result<GatewayRefund, GatewayError> {
        let request = RefundRequest::new(order(0), amount, "EUR").refund(refund_id(1)).payment_reference(payment);
        let request = request.idempotency_key("refund-1").attempt(2).earlier_refunds([known.to_owned()]);
        self.gateway.refund(&request)
    }

    /// The amounts of the refunds that did not fail.
    fn refunded(&self) -> Vec<i64> {
        let refunds = self.fake.all("refund");
        let accepted = refunds.iter().filter(|refund| refund["status"] != "failed");
        accepted.map(|refund| refund["amount"].as_i64().unwrap()).collect()
    }

    fn read_with(&self, signature: &str, body: &str) -> Result<Vec<GatewayNotice>, NoticeError> {
        let headers: NoticeHeaders = [("stripe-signature", signature)].into_iter().collect();
        self.gateway.read(&headers, body.as_bytes(), self.clock.now())
    }

    fn read(&self, notice: &Notice) -> Vec<GatewayNotice> {
        self.read_with(&self.fake.sign(notice), &notice.body).unwrap()
    }

    /// What the notices of this type since the last call say.
    fn read_all(&self, kind: &str) -> Vec<GatewayNotice> {
        let notices = self.fake.take_notices();
        notices.iter().filter(|notice| notice.kind == kind).flat_map(|notice| self.read(notice)).collect()
    }
}

fn paid_state(payment: &str) -> CheckoutState {
    CheckoutState::Paid(GatewayPayment::new(payment, WHOLE, "EUR"))
}

#[test]
fn about_a_reference_that_stripe_does_not_know_nothing_is_said() {
    let stripe = Stripe::start();
    for unknown in ["cs_test_unknown", "sandbox_x", "cs_1/../../refunds", ""] {
        let close = stripe.gateway.close(&CloseCheckout::new(order(0), unknown));
        assert!(matches!(close, Err(GatewayError::Refused(_))), "{unknown}");
        let looked_up = stripe.gateway.look_up(&LookUp::new(order(0), unknown));
        assert!(matches!(looked_up, Err(GatewayError::Refused(_))), "{unknown}");
    }
}

#[test]
fn requests_have_a_pinned_version_and_the_key_of_the_order() {
    let stripe = Stripe::start();
    stripe.open(0);
    let request = &stripe.fake.requests_to("POST", SESSIONS)[0].request;
    assert_eq!(request.header("idempotency-key"), Some("checkout-order_1NR6E9XB00000"));
    assert_eq!(request.header("stripe-version"), Some("2026-10-28.endive"));
}

#[test]
fn failures_of_stripe_are_temporary_and_refusals_are_final() {
    let stripe = Stripe::start();
    for fault in [Fault::BadGateway, Fault::CloseBefore, Fault::ServerError] {
        stripe.fake.fail("POST", SESSIONS, fault.clone(), 1);
        let error = stripe.gateway.start_checkout(&request(0)).unwrap_err();
        assert!(matches!(error, GatewayError::Unavailable(_)), "{fault:?}: {error}");
    }
    let other = StripeGateway::builder("sk_test_wrong_key").api_base(stripe.fake.url()).build().unwrap();
    let error = other.start_checkout(&request(0)).unwrap_err();
    assert!(matches!(error, GatewayError::NotExecuted(_)), "{error}");
    assert!(!format!("{error}{error:?}{other:?}").contains("wrong_key"), "{error}");

    // Below Stripe's minimum of 0.50 EUR.
    let small = request(0).amount(Amount::cents(10)).items([]).idempotency_key("checkout-small");
    let error = stripe.gateway.start_checkout(&small).unwrap_err();
    assert!(matches!(&error, GatewayError::Refused(text) if text.contains("amount_too_small")), "{error}");

    // Nothing is sent that Stripe cannot take.
    let before = stripe.fake.requests().len();
    let strange = request(0).currency("XAU");
    assert!(matches!(stripe.gateway.start_checkout(&strange), Err(GatewayError::Refused(_))));
    let long = request(0).hold_until(at(NOW).saturating_add(Duration::from_hours(24)));
    assert!(matches!(stripe.gateway.start_checkout(&long), Err(GatewayError::Refused(_))));
    assert_eq!(stripe.fake.requests().len(), before);
}

#[test]
fn a_stored_failure_is_passed_by_with_other_keys_five_in_a_day() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    stripe.fake.fail("POST", REFUNDS, Fault::ServerError, 1000);
    for attempt in 1..8 {
        assert!(matches!(stripe.refund(&payment, WHOLE, attempt), Err(GatewayError::Unavailable(_))), "{attempt}");
    }
    let requests = stripe.fake.requests_to("POST", REFUNDS);
    let mut keys: Vec<_> = requests.iter().filter_map(|recorded| recorded.request.header("idempotency-key")).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys, ["refund-1", "refund-1-2", "refund-1-3", "refund-1-4", "refund-1-5"]);
    stripe.fake.repair();
    assert!(stripe.refund(&payment, WHOLE, 8).is_err(), "Stripe repeats the stored failures");
    stripe.clock.advance(Duration::from_hours(25));
    stripe.refund(&payment, WHOLE, 9).unwrap();
    assert_eq!(stripe.refunded(), [2500]);
}

#[test]
fn a_refund_that_is_known_to_have_failed_later_is_made_again() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    let first = stripe.refund(&payment, WHOLE, 1).unwrap().reference;
    stripe.fake.fail_refund(&first);
    // Stripe repeats that it has accepted the refund.
    let answer = stripe.refund(&payment, WHOLE, 1).unwrap();
    assert!(matches!(answer.state, RefundState::Failed(_)), "{answer:?}");
    assert!(stripe.refunded().is_empty());
    stripe.refund_again(&payment, WHOLE, &first).unwrap();
    assert_eq!(stripe.refunded(), [2500]);
    assert_eq!(stripe.fake.all("refund").len(), 2);
}

#[test]
fn a_refund_of_what_is_not_there_is_refused() {
    let stripe = Stripe::start();
    let session = stripe.open(0).reference;
    let request = RefundRequest::new(order(0), WHOLE, "EUR").refund(refund_id(1)).reference(&session);
    assert!(matches!(stripe.gateway.refund(&request), Err(GatewayError::Refused(_))));
    let payment = stripe.fake.pay(&session).unwrap();
    stripe.fake.refund_outside(&payment, None);
    for attempt in [1, 2] {
        let refused = stripe.refund(&payment, WHOLE, attempt).unwrap_err();
        assert!(
            matches!(&refused, GatewayError::NothingLeft(text) if text.contains("charge_already_refunded")),
            "{refused}"
        );
    }
    // Perhaps the key is one of another account.
    assert_eq!(
        stripe.refund("pi_unknown", WHOLE, 1).map_err(|error| matches!(error, GatewayError::Unavailable(_))),
        Err(true)
    );
    let nothing = RefundRequest::new(order(0), WHOLE, "EUR");
    assert!(matches!(stripe.gateway.refund(&nothing), Err(GatewayError::Refused(_))));

    // The payment is found by its session.
    let stripe = Stripe::start();
    let (session, _) = stripe.paid();
    stripe.gateway.refund(&request.reference(session)).unwrap();
    assert_eq!(stripe.refunded(), [2500]);
}

#[test]
fn notices_about_sessions_say_what_became_of_them() {
    let stripe = Stripe::start();
    let (session, payment) = stripe.paid();
    let notices = stripe.read_all("checkout.session.completed");
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].checkout_reference.as_deref(), Some(session.as_str()));
    assert_eq!(notices[0].payment_reference.as_deref(), Some(payment.as_str()));
    assert_eq!(notices[0].order_id, Some(order(0)));
    assert!(notices[0].id.starts_with("evt_"));
    assert_eq!(notices[0].event, GatewayEvent::Checkout(paid_state(&payment)));

    let stripe = Stripe::start();
    let session = stripe.open(0).reference;
    stripe.clock.advance(Duration::from_mins(31));
    assert_eq!(stripe.gateway.look_up(&LookUp::new(order(0), &session)), Ok(CheckoutState::Closed));
    let notices = stripe.read_all("checkout.session.expired");
    assert_eq!(notices[0].event, GatewayEvent::Checkout(CheckoutState::Closed));
}

#[test]
fn a_refund_of_ours_is_told_from_others_and_the_order_of_notices_does_not_matter() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    stripe.fake.take_notices();
    stripe.refund(&payment, HALF, 1).unwrap();
    let ours = stripe.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
    let of_ours = |state| GatewayRefund::new(&ours, HALF, "EUR").refund(refund_id(1)).state(state);
    let accepted = of_ours(RefundState::Succeeded);
    let list = || stripe.gateway.refunds_of(&PaymentLookUp::new(&payment));
    let notices = stripe.read_all("charge.refunded");
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].event, GatewayEvent::RefundsChanged);
    assert_eq!(notices[0].payment_reference.as_deref(), Some(payment.as_str()));
    assert_eq!(list(), Ok(vec![accepted.clone()]));

    let outside = stripe.fake.refund_outside(&payment, Some(300));
    let notices = stripe.read_all("charge.refunded");
    assert_eq!(notices[0].event, GatewayEvent::RefundsChanged);
    let reference = outside["id"].as_str().unwrap();
    let of_dashboard = GatewayRefund::new(reference, Amount::cents(300), "EUR");
    let listed = list().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&of_dashboard) && listed.contains(&accepted), "{listed:?}");

    stripe.fake.fail_refund(&ours);
    let late = stripe.fake.take_notices();
    let late = late.iter().find(|notice| notice.kind == "refund.failed").unwrap();
    let failed = of_ours(RefundState::Failed("expired_or_canceled_card".to_owned()));
    assert_eq!(stripe.read(late)[0].event, GatewayEvent::RefundsChanged);
    assert!(list().unwrap().contains(&failed));
    // The second attempt was accepted before the notice about the first one arrived.
    stripe.refund_again(&payment, HALF, &ours).unwrap();
    let listed = list().unwrap();
    assert!(!listed.contains(&failed), "{listed:?}");
    let [again, other] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((again.refund_id, &again.state, other.refund_id), (Some(refund_id(1)), &RefundState::Succeeded, None));

    stripe.fake.fail("GET", REFUNDS, Fault::ServerError, 1);
    assert!(matches!(list(), Err(GatewayError::Unavailable(_))));
}

#[test]
fn a_dispute_is_reported_when_it_opens_moves_money_and_closes() {
    let stripe = Stripe::start();
    let (session, payment) = stripe.paid();
    let of_payment = PaymentLookUp::new(&payment);
    let id = stripe.fake.dispute(&payment);
    let dispute = |status, amount: i64, taken: i64| {
        let dispute = GatewayDispute::new(&id, Amount::cents(amount), "EUR").reason("fraudulent").status(status);
        dispute.taken(Amount::cents(taken)).payment_reference(&payment)
    };
    let reported = || {
        let notices = stripe.fake.take_notices().into_iter().filter(|notice| notice.kind.starts_with("charge.dispute"));
        let read = notices.flat_map(|notice| stripe.read(&notice));
        let event = |notice: GatewayNotice| match notice.event {
            GatewayEvent::Dispute(dispute) => dispute,
            other => panic!("{other:?}"),
        };
        read.map(event).collect::<Vec<_>>()
    };
    let open = |amount, taken| dispute(DisputeStatus::Open, amount, taken);
    assert_eq!(reported(), [open(2500, 0), open(2500, 2500)]);
    assert_eq!(stripe.gateway.disputes_of(&of_payment), Ok(vec![open(2500, 2500)]));
    // The bank takes a part of it back.
    stripe.fake.change_dispute(&id, 1000);
    assert_eq!(reported(), [open(1000, 1000)]);
    // A dispute has no metadata, but its payment has a session.
    assert_eq!(stripe.gateway.find_by_payment(&of_payment), Ok(Some(session)));
    assert_eq!(stripe.gateway.find_by_payment(&PaymentLookUp::new("pi_of_another_program")), Ok(None));
    stripe.fake.lose_dispute_in_part(&id, 400);
    let lost = dispute(DisputeStatus::Lost, 1000, 600);
    assert_eq!(reported(), [lost.clone(), lost.clone()]);
    assert_eq!(stripe.gateway.disputes_of(&of_payment), Ok(vec![lost]));
}

#[test]
fn an_inquiry_takes_no_money_until_it_becomes_a_dispute() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    let taken = || {
        let disputes = stripe.gateway.disputes_of(&PaymentLookUp::new(&payment)).unwrap();
        disputes.iter().map(|dispute| (dispute.status, dispute.taken)).collect::<Vec<_>>()
    };
    let id = stripe.fake.inquire(&payment);
    assert_eq!(taken(), [(DisputeStatus::Open, Amount::ZERO)]);
    stripe.fake.escalate(&id);
    assert_eq!(taken(), [(DisputeStatus::Open, WHOLE)]);
    stripe.fake.close_dispute(&id, true);
    assert_eq!(taken(), [(DisputeStatus::Won, Amount::ZERO)]);
}

/// What has happened to the payment since is told by its refunds and disputes.
#[test]
fn a_payment_of_which_a_bank_has_taken_any_part_is_paid_and_disputed() {
    for part in [1000, 2500] {
        let stripe = Stripe::start();
        let (session, payment) = stripe.paid();
        let dispute = stripe.fake.dispute_part(&payment, part);
        stripe.fake.close_dispute(&dispute, false);
        let paid = GatewayPayment::new(&payment, WHOLE, "EUR").disputed();
        assert_eq!(stripe.gateway.look_up(&LookUp::new(order(0), &session)), Ok(CheckoutState::Paid(paid)), "{part}");
        let disputes = stripe.gateway.disputes_of(&PaymentLookUp::new(&payment)).unwrap();
        assert_eq!((disputes.len(), disputes[0].taken), (1, Amount::cents(part)));
    }
}

#[test]
fn what_is_made_of_a_refund_is_returned_with_its_id_amount_and_state() {
    for (state, expected) in [
        ("succeeded", RefundState::Succeeded),
        ("pending", RefundState::Pending),
        ("requires_action", RefundState::RequiresAction),
    ] {
        let stripe = Stripe::start();
        let (_, payment) = stripe.paid();
        match state {
            "pending" => stripe.fake.delay_refunds(),
            "requires_action" => stripe.fake.ask_customers_about_refunds(),
            _ => {}
        }
        let made = stripe.refund(&payment, HALF, 1).unwrap();
        let id = stripe.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
        let refund = GatewayRefund::new(&id, HALF, "EUR").refund(refund_id(1));
        assert_eq!(made, refund.clone().state(expected));
        // An answer that was lost: Stripe repeats it under the same key.
        assert_eq!(stripe.refund(&payment, HALF, 2), Ok(made));
        stripe.fake.succeed_refund(&id);
        assert_eq!(stripe.refund(&payment, HALF, 3), Ok(refund));
        assert_eq!(stripe.refunded(), [1250]);
    }
}

#[test]
fn a_refusal_that_stripe_repeats_uses_up_its_key() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    let dispute = stripe.fake.dispute(&payment);
    assert!(matches!(stripe.refund(&payment, WHOLE, 1), Err(GatewayError::NothingLeft(_))));
    stripe.clock.advance(Duration::from_hours(1));
    // It is still so: under the second key, Stripe says it of now.
    assert!(matches!(stripe.refund(&payment, WHOLE, 2), Err(GatewayError::NothingLeft(_))));
    stripe.fake.close_dispute(&dispute, true);
    stripe.refund(&payment, WHOLE, 3).unwrap();
    assert_eq!(stripe.refunded(), [2500]);
    let posts = stripe.fake.requests_to("POST", REFUNDS);
    let keys: Vec<_> = posts.iter().map(|sent| sent.request.header("idempotency-key").unwrap().to_owned()).collect();
    let [one, two, three] = ["refund-1", "refund-1-2", "refund-1-3"];
    assert_eq!(keys, [one, one, two, one, two, three]);
}

#[test]
fn after_a_refund_of_the_dashboard_has_failed_the_repeated_refusal_does_not_count() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    let outside = stripe.fake.refund_outside(&payment, None);
    assert!(matches!(stripe.refund(&payment, WHOLE, 1), Err(GatewayError::NothingLeft(_))));
    stripe.fake.fail_refund(outside["id"].as_str().unwrap());
    stripe.refund(&payment, WHOLE, 2).unwrap();
    assert_eq!(stripe.refunded(), [2500]);
}

#[test]
fn what_is_left_is_refunded_under_the_key_of_the_refund_that_asked_for_too_much() {
    let stripe = Stripe::start();
    let (_, payment) = stripe.paid();
    stripe.fake.refund_outside(&payment, Some(300));
    let refused = stripe.refund(&payment, WHOLE, 1);
    assert!(matches!(refused, Err(GatewayError::LessLeft(_))), "{refused:?}");
    let made = stripe.refund(&payment, Amount::cents(2200), 2).unwrap();
    assert_eq!(made.amount, Amount::cents(2200));
    assert_eq!(stripe.refunded(), [300, 2200]);
}

#[test]
fn an_organization_may_have_an_account_of_its_own() {
    let stripe = Stripe::start();
    let account = ConnectedAccount::new("acct_1").application_fee(Percentage::whole(3).unwrap());
    let gateway = StripeGateway::builder(stripe.fake.secret_key())
        .webhook_secret(WEBHOOK_SECRET)
        .api_base(stripe.fake.url())
        .account_for(move |_| Some(account.clone()))
        .build()
        .unwrap();
    let session = gateway.start_checkout(&request(0)).unwrap().reference;
    let payment = stripe.fake.pay(&session).unwrap();
    assert_eq!(gateway.look_up(&LookUp::new(order(0), &session)).unwrap(), paid_state(&payment));
    let looked_up = stripe.gateway.look_up(&LookUp::new(order(0), &session));
    assert!(matches!(looked_up, Err(GatewayError::Refused(_))), "the other account does not have it: {looked_up:?}");
    let refund = RefundRequest::new(order(0), HALF, "EUR").refund(refund_id(1)).payment_reference(&payment);
    gateway.refund(&refund).unwrap();
    for recorded in stripe.fake.requests().iter().filter(|recorded| recorded.request.path != SESSIONS) {
        let is_ours = recorded.request.header("stripe-account") == Some("acct_1");
        assert!(is_ours || recorded.request.path.ends_with(&session), "{}", recorded.request.path);
    }
    // Its owner could write any order into the metadata of its own payments: only ids of Stripe count.
    for notice in stripe.fake.take_notices() {
        let headers: NoticeHeaders = [("Stripe-Signature", stripe.fake.sign(&notice))].into_iter().collect();
        for read in gateway.read(&headers, notice.body.as_bytes(), stripe.clock.now()).unwrap() {
            assert_eq!(read.order_id, None);
            assert_eq!(read.account.as_deref(), Some("acct_1"));
            assert_eq!(read.payment_reference.as_deref(), Some(payment.as_str()));
            let of_session = notice.kind.starts_with("checkout.session").then_some(session.as_str());
            assert_eq!(read.checkout_reference.as_deref(), of_session);
        }
    }
    let of_account = PaymentLookUp::new(&payment).account(GatewayAccount::Connected("acct_1".to_owned()));
    assert_eq!(gateway.find_by_payment(&of_account), Ok(Some(session)));
    assert_eq!(gateway.refunds_of(&of_account).unwrap()[0].refund_id, Some(refund_id(1)));
    assert_eq!(gateway.find_by_payment(&PaymentLookUp::new(&payment)), Ok(None), "the other account does not have it");
}

#[test]
fn a_recorded_account_is_asked_whatever_the_organization_has_today() {
    let stripe = Stripe::start();
    let with_account = |account: Option<&'static str>| {
        let builder = StripeGateway::builder(stripe.fake.secret_key()).api_base(stripe.fake.url());
        builder.account_for(move |_| account.map(ConnectedAccount::new)).build().unwrap()
    };
    for (then, today) in [(Some("acct_1"), Some("acct_2")), (Some("acct_1"), None), (None, Some("acct_2"))] {
        let gateway = with_account(then);
        assert_eq!(gateway.account(request(0).organization_id).as_deref(), then);
        let recorded = GatewayAccount::from(then.map(str::to_owned));
        let gateway = with_account(today);
        // As after a crash during the first start.
        let key = format!("checkout-{then:?}-{today:?}");
        let session =
            gateway.start_checkout(&request(0).idempotency_key(key).account(recorded.clone())).unwrap().reference;
        let payment = stripe.fake.pay(&session).unwrap();
        let look_up = LookUp::new(order(0), &session).account(recorded.clone());
        assert_eq!(gateway.look_up(&look_up), Ok(paid_state(&payment)), "{then:?}");
        assert!(gateway.look_up(&LookUp::new(order(0), &session)).is_err(), "{today:?} does not have it");
        let close = CloseCheckout::new(order(0), &session).account(recorded.clone());
        assert_eq!(gateway.close(&close), Ok(paid_state(&payment)), "{then:?}");
        let refund = RefundRequest::new(order(0), HALF, "EUR").refund(refund_id(1)).idempotency_key(&payment);
        let made = gateway.refund(&refund.reference(session).account(recorded.clone())).unwrap();
        assert_eq!((made.amount, made.refund_id), (HALF, Some(refund_id(1))));
        let listed = gateway.refunds_of(&PaymentLookUp::new(&payment).account(recorded));
        assert_eq!(listed, Ok(vec![made]), "{then:?}");
    }
}

#[test]
fn the_setup_tells_which_types_of_events_an_endpoint_lacks() {
    let stripe = Stripe::start();
    assert_eq!(stripe.gateway.check_setup().unwrap().endpoints, []);
    stripe.fake.set_endpoint("http://127.0.0.1:1/gateway/notices");
    let setup = stripe.gateway.check_setup().unwrap();
    assert!(setup.endpoints[0].missing_event_types.is_empty() && setup.endpoints[0].is_enabled);
    let some = ["checkout.session.completed", "charge.refunded", "charge.dispute.created", "charge.dispute.closed"];
    stripe.fake.set_endpoint_with("http://127.0.0.1:1/gateway/notices", &[WEBHOOK_SECRET], &some);
    let missing = &stripe.gateway.check_setup().unwrap().endpoints[0].missing_event_types;
    let expected = [
        "charge.dispute.funds_reinstated",
        "charge.dispute.funds_withdrawn",
        "charge.dispute.updated",
        "checkout.session.async_payment_failed",
        "checkout.session.async_payment_succeeded",
        "checkout.session.expired",
        "refund.failed",
        "refund.updated",
    ];
    assert_eq!(missing[..], expected);
}

#[test]
fn accounts_of_organizations_need_an_endpoint_for_connected_accounts() {
    let stripe = Stripe::start();
    let with_accounts = StripeGateway::builder(stripe.fake.secret_key())
        .api_base(stripe.fake.url())
        .account_for(|_| Some(ConnectedAccount::new("acct_1")))
        .build()
        .unwrap();
    let problem = |gateway: &StripeGateway| gateway.check_setup().unwrap().problem();
    stripe.fake.set_endpoint("http://127.0.0.1:1/gateway/notices");
    assert_eq!(problem(&stripe.gateway), None);
    assert!(problem(&with_accounts).unwrap().contains("connected accounts"));
    stripe.fake.listen_to_connected_accounts();
    assert!(problem(&stripe.gateway).unwrap().contains("account of the key"));
    assert_eq!(problem(&with_accounts), None);
    let setup = with_accounts.check_setup().unwrap();
    assert!(setup.has_accounts && setup.endpoints[0].is_connect);
    assert_eq!(setup.is_live, Some(false));
}

#[test]
fn secrets_are_in_no_debug_text_and_wrong_settings_are_refused() {
    let builder = || StripeGateway::builder("sk_live_topsecret").webhook_secret("whsec_topsecret");
    let text = format!("{:?} {:?}", builder(), builder().build().unwrap());
    assert!(!text.contains("topsecret"), "{text}");
    let field = |error: Error| error.fields()[0].path.clone();
    assert_eq!(field(StripeGateway::builder(" ").build().unwrap_err()), "secret_key");
    let error = StripeGateway::builder("sk_live_\ntopsecret").build().unwrap_err();
    assert!(!format!("{error} {error:?}").contains("topsecret"));
    assert_eq!(field(error), "secret_key");
    assert_eq!(field(builder().webhook_secret("").build().unwrap_err()), "webhook_secret");
    assert_eq!(field(builder().api_base("http://api.stripe.com").build().unwrap_err()), "api_base");
}
