//! The fake does what Stripe's documentation says.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use ticketing::environment::ManualClock;
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::common::fake_stripe::{FakeStripe, Fault, NotPayable, WEBHOOK_SECRET};
use crate::common::receiver::WebhookReceiver;
use crate::common::{NOW, at};

const SESSIONS: &str = "/v1/checkout/sessions";
const REFUNDS: &str = "/v1/refunds";

struct Stripe {
    fake: FakeStripe,
    clock: ManualClock,
    agent: Agent,
}

struct Reply {
    status: u16,
    is_replay: bool,
    body: Value,
}

impl Reply {
    fn of(mut response: Response<Body>) -> Self {
        let is_replay = response.headers().contains_key("idempotent-replayed");
        let body = response.body_mut().read_to_string().unwrap();
        Self { status: response.status().as_u16(), is_replay, body: serde_json::from_str(&body).unwrap() }
    }

    /// The code of an error, or else its parameter, or else its type.
    fn error(&self) -> &str {
        let error = &self.body["error"];
        error["code"].as_str().or(error["param"].as_str()).or(error["type"].as_str()).unwrap()
    }
}

/// The parameters of a session over 25 euros.
fn session() -> Vec<(String, String)> {
    let pairs = [
        ("mode", "payment"),
        ("success_url", "https://shop.example/return/{CHECKOUT_SESSION_ID}"),
        ("client_reference_id", "order_1"),
        ("metadata[order]", "order_1"),
        ("payment_intent_data[metadata][order]", "order_1"),
        ("line_items[0][quantity]", "1"),
        ("line_items[0][price_data][currency]", "eur"),
        ("line_items[0][price_data][unit_amount]", "2500"),
        ("line_items[0][price_data][product_data][name]", "2 × Seat"),
    ];
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The same with another value of one parameter.
fn session_with(name: &str, value: impl ToString) -> Vec<(String, String)> {
    let mut pairs = session();
    pairs.retain(|(known, _)| known != name);
    pairs.push((name.to_owned(), value.to_string()));
    pairs
}

impl Stripe {
    fn start() -> Self {
        let clock = ManualClock::new(at(NOW));
        let agent = Agent::config_builder().http_status_as_error(false).build().new_agent();
        Self { fake: FakeStripe::start(clock.clone()), clock, agent }
    }

    fn try_post(&self, path: &str, key: &str, form: &[(String, String)]) -> Result<Reply, ureq::Error> {
        let request = self.agent.post(self.fake.url() + path);
        let request = request.header("Authorization", format!("Bearer {}", self.fake.secret_key()));
        let pairs = form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        request.header("Idempotency-Key", key).send_form(pairs).map(Reply::of)
    }

    fn post(&self, path: &str, key: &str, form: &[(String, String)]) -> Reply {
        self.try_post(path, key, form).unwrap()
    }

    fn get(&self, path: &str) -> Reply {
        let request = self.agent.get(self.fake.url() + path);
        let request = request.header("Authorization", format!("Bearer {}", self.fake.secret_key()));
        Reply::of(request.call().unwrap())
    }

    /// Creates a session with a new key. Returns its id.
    fn open(&self) -> String {
        let key = format!("key-{}", self.fake.all("checkout.session").len());
        let reply = self.post(SESSIONS, &key, &session());
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.body["id"].as_str().unwrap().to_owned()
    }

    fn refund(&self, key: &str, intent: &str, amount: i64) -> Reply {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        self.post(REFUNDS, key, &[pair("payment_intent", intent.to_owned()), pair("amount", amount.to_string())])
    }

    /// The types of the events since the last call.
    fn events(&self) -> Vec<String> {
        self.fake.take_notices().into_iter().map(|notice| notice.kind).collect()
    }
}

#[test]
fn a_session_is_paid_once_and_its_payment_has_the_metadata() {
    let stripe = Stripe::start();
    let id = stripe.open();
    let open = stripe.get(&format!("{SESSIONS}/{id}")).body;
    assert_eq!(open["status"], "open");
    assert_eq!(open["payment_status"], "unpaid");
    assert_eq!(open["payment_intent"], Value::Null);
    assert_eq!(open["amount_total"], 2500);
    stripe.fake.pay(&id).unwrap();
    assert_eq!(stripe.fake.pay(&id), Err(NotPayable::Ended("complete".to_owned())));
    let paid = stripe.get(&format!("{SESSIONS}/{id}?expand[]=payment_intent")).body;
    assert_eq!(paid["status"], "complete");
    assert_eq!(paid["payment_status"], "paid");
    assert_eq!(paid["payment_intent"]["metadata"]["order"], "order_1");
    assert_eq!(paid["payment_intent"]["amount_received"], 2500);
    let refused = stripe.post(&format!("{SESSIONS}/{id}/expire"), "expire", &[]);
    assert_eq!(refused.status, 400);
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("This Checkout Session has a status of `complete`."), "{message}");
    let expected =
        ["payment_intent.created", "charge.succeeded", "payment_intent.succeeded", "checkout.session.completed"];
    assert_eq!(stripe.events(), expected);
}

#[test]
fn a_parameter_that_is_unknown_malformed_or_missing_is_refused_and_the_key_stays_free() {
    let stripe = Stripe::start();
    let price = "line_items[0][price_data]";
    let cases = [
        ("clientreferenceid", "1", "parameter_unknown"),
        ("line_items[0][price_data][amount]", "1", "parameter_unknown"),
        ("line_items[0][quantity]", "1.5", "parameter_invalid_integer"),
        ("line_items[0][quantity]", "", "parameter_invalid_empty"),
        ("line_items[1][quantity]", "1", "parameter_missing"),
        ("line_items[2]", "1", "line_items"),
        ("mode", "pay", "mode"),
        ("locale", "en-US", "locale"),
        ("customer_email", "ada@localhost", "email_invalid"),
        ("success_url", "shop.example", "url_invalid"),
        (&format!("{price}[unit_amount]"), "12.50", "parameter_invalid_integer"),
        (&format!("{price}[unit_amount]"), "-1", "parameter_invalid_integer"),
        (&format!("{price}[unit_amount]"), "49", "amount_too_small"),
        (&format!("{price}[unit_amount]"), "1000000000000", "amount_too_large"),
        (&format!("{price}[currency]"), "EUR", "currency"),
        ("excluded_payment_method_types[0]", "cash", "excluded_payment_method_types"),
        ("payment_intent_data[application_fee_amount]", "100", "payment_intent_data[application_fee_amount]"),
    ];
    for (name, value, expected) in cases {
        let mut form = session_with(name, value);
        if name == "line_items[1][quantity]" {
            form.push(("line_items[1][price_data][unit_amount]".to_owned(), "1".to_owned()));
        }
        let reply = stripe.post(SESSIONS, &format!("{name}{value}"), &form);
        assert_eq!((reply.status, reply.error()), (400, expected), "{name}={value}");
    }
    // 49 cents were refused by the operation itself, and this is stored.
    let key = "locale".to_owned() + "en-US";
    assert_eq!(stripe.post(SESSIONS, &key, &session()).status, 200);
    let key = format!("{price}[unit_amount]49");
    assert_eq!(stripe.post(SESSIONS, &key, &session()).error(), "idempotency_error");
}

#[test]
fn isk_and_ugx_have_two_zeros_and_three_decimals_end_in_one() {
    let stripe = Stripe::start();
    let cases = [
        ("isk", 500, 200),
        ("isk", 550, 400),
        ("ugx", 500, 200),
        ("ugx", 5, 400),
        ("kwd", 5120, 200),
        ("kwd", 5124, 400),
        ("mga", 3, 200),
        ("jpy", 500, 200),
    ];
    for (currency, amount, status) in cases {
        let mut form = session_with("line_items[0][price_data][currency]", currency);
        form.retain(|(name, _)| !name.ends_with("[unit_amount]"));
        form.push(("line_items[0][price_data][unit_amount]".to_owned(), amount.to_string()));
        let reply = stripe.post(SESSIONS, &format!("{currency}{amount}"), &form);
        assert_eq!(reply.status, status, "{amount} {currency}: {}", reply.body);
    }
}

#[test]
fn a_session_can_be_open_from_30_minutes_to_less_than_24_hours() {
    let stripe = Stripe::start();
    let now = at(NOW).millis() / 1000;
    for (after, status) in [(30 * 60 - 1, 400), (30 * 60, 200), (24 * 3600 - 1, 200), (24 * 3600, 400)] {
        let form = session_with("expires_at", now + after);
        assert_eq!(stripe.post(SESSIONS, &format!("{after}"), &form).status, status, "{after}");
    }
}

#[test]
fn a_session_expires_by_its_clock_or_on_request_and_is_then_not_payable() {
    let stripe = Stripe::start();
    let now = at(NOW).millis() / 1000;
    let reply = stripe.post(SESSIONS, "short", &session_with("expires_at", now + 1860));
    let short = reply.body["id"].as_str().unwrap();
    let closed = stripe.open();
    assert_eq!(stripe.post(&format!("{SESSIONS}/{closed}/expire"), "close", &[]).body["status"], "expired");
    stripe.clock.advance(Duration::from_secs(1859));
    assert!(stripe.fake.is_payable(short));
    stripe.clock.advance(Duration::from_secs(1));
    for id in [short, &closed] {
        assert!(!stripe.fake.is_payable(id));
        assert_eq!(stripe.fake.pay(id), Err(NotPayable::Ended("expired".to_owned())));
    }
    assert_eq!(stripe.events(), ["checkout.session.expired", "checkout.session.expired"]);
}

#[test]
fn a_key_repeats_its_first_answer_for_a_day_and_refuses_other_parameters() {
    let stripe = Stripe::start();
    let first = stripe.post(SESSIONS, "key", &session());
    let again = stripe.post(SESSIONS, "key", &session());
    assert_eq!((again.status, again.is_replay, &again.body), (200, true, &first.body));
    let other = stripe.post(SESSIONS, "key", &session_with("client_reference_id", "order_2"));
    assert_eq!((other.status, other.error()), (400, "idempotency_error"));
    stripe.clock.advance(Duration::from_hours(24));
    let later = stripe.post(SESSIONS, "key", &session());
    assert!(!later.is_replay && later.body["id"] != first.body["id"]);
}

#[test]
fn a_server_error_is_stored_under_its_key_whether_or_not_it_had_an_effect() {
    let stripe = Stripe::start();
    for (key, fault, sessions) in [("1", Fault::ServerError, 0), ("2", Fault::ServerErrorAfterEffect, 1)] {
        stripe.fake.fail("POST", SESSIONS, fault, 1);
        assert_eq!(stripe.post(SESSIONS, key, &session()).status, 500);
        let again = stripe.post(SESSIONS, key, &session());
        assert_eq!((again.status, again.is_replay), (500, true));
        assert_eq!(stripe.fake.all("checkout.session").len(), sessions);
    }
    stripe.fake.fail("POST", SESSIONS, Fault::RateLimited, 1);
    assert_eq!(stripe.post(SESSIONS, "3", &session()).status, 429);
    assert_eq!(stripe.post(SESSIONS, "3", &session()).status, 200);
}

#[test]
fn a_key_in_use_is_refused_and_a_lost_answer_is_repeated() {
    let refused_while_in_use = || {
        let stripe = Stripe::start();
        stripe.fake.fail("POST", SESSIONS, Fault::Slow(Duration::from_millis(500)), 1);
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| stripe.post(SESSIONS, "key", &session()).status);
            while stripe.fake.requests().is_empty() {
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_millis(50));
            let other = stripe.post(SESSIONS, "key", &session());
            assert_eq!(slow.join().unwrap(), 200);
            (other.status != 200).then(|| (other.status, other.error().to_owned()))
        })
    };
    // On a slow machine the first request may have been answered before the second arrives.
    let refused = std::iter::repeat_with(refused_while_in_use).take(20).find_map(|refused| refused);
    assert_eq!(refused, Some((409, "idempotency_key_in_use".to_owned())));
    let stripe = Stripe::start();
    stripe.post(SESSIONS, "key", &session());
    stripe.fake.fail("POST", SESSIONS, Fault::CloseBefore, 1);
    assert!(stripe.try_post(SESSIONS, "before", &session()).is_err());
    assert_eq!(stripe.fake.all("checkout.session").len(), 1);
    stripe.fake.fail("POST", SESSIONS, Fault::CloseAfter, 1);
    assert!(stripe.try_post(SESSIONS, "after", &session()).is_err());
    assert_eq!(stripe.fake.all("checkout.session").len(), 2);
    assert!(stripe.post(SESSIONS, "after", &session()).is_replay);
}

#[test]
fn refunds_add_up_to_the_payment_at_most_and_may_fail_later() {
    let stripe = Stripe::start();
    let session = stripe.open();
    assert_eq!(stripe.refund("none", "pi_none", 1).error(), "resource_missing");
    let intent = stripe.fake.pay(&session).unwrap();
    let part = stripe.refund("part", &intent, 1000).body;
    assert_eq!(part["status"], "succeeded");
    assert_eq!(stripe.refund("more", &intent, 1501).error(), "amount");
    stripe.fake.refund_outside(&intent, None);
    assert_eq!(stripe.refund("again", &intent, 1).error(), "charge_already_refunded");
    let listed = stripe.get(&format!("{REFUNDS}?payment_intent={intent}")).body;
    let amounts: Vec<_> = listed["data"].as_array().unwrap().iter().map(|refund| refund["amount"].clone()).collect();
    assert_eq!(amounts, [1500, 1000]);
    stripe.events();
    stripe.fake.fail_refund(part["id"].as_str().unwrap());
    assert_eq!(stripe.events(), ["refund.updated", "charge.refund.updated", "refund.failed"]);
    assert_eq!(stripe.refund("retry", &intent, 1000).status, 200);
}

#[test]
fn a_disputed_payment_is_not_refunded() {
    let stripe = Stripe::start();
    let intent = stripe.fake.pay(&stripe.open()).unwrap();
    let dispute = stripe.fake.dispute(&intent);
    assert_eq!(stripe.refund("key", &intent, 100).error(), "charge_disputed");
    stripe.fake.close_dispute(&dispute, true);
    assert_eq!(stripe.refund("won", &intent, 100).status, 200);
}

#[test]
fn a_delayed_payment_completes_the_session_before_it_is_paid() {
    let stripe = Stripe::start();
    let id = stripe.open();
    stripe.fake.pay_later(&id, "sepa_debit").unwrap();
    let waiting = stripe.fake.get(&id);
    assert_eq!((waiting["status"].as_str(), waiting["payment_status"].as_str()), (Some("complete"), Some("unpaid")));
    stripe.fake.settle_later(&id, true);
    assert_eq!(stripe.fake.get(&id)["payment_status"], "paid");
    assert_eq!(stripe.events().last().unwrap(), "checkout.session.async_payment_succeeded");
    let form = session_with("excluded_payment_method_types[0]", "sepa_debit");
    let id = stripe.post(SESSIONS, "excluded", &form).body["id"].as_str().unwrap().to_owned();
    assert_eq!(stripe.fake.pay_later(&id, "sepa_debit"), Err(NotPayable::NotOffered));
}

#[test]
fn an_event_is_delivered_with_a_signature_for_each_secret() {
    let stripe = Stripe::start();
    let receiver = WebhookReceiver::start();
    stripe.fake.set_endpoint_with(
        &receiver.url("/hook"),
        &[WEBHOOK_SECRET, "whsec_old"],
        &["checkout.session.completed"],
    );
    stripe.fake.pay(&stripe.open()).unwrap();
    let notices = stripe.fake.take_notices();
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!(stripe.fake.deliver(notice), 204);
    let [request] = &receiver.wait_for(1)[..] else { panic!() };
    assert_eq!(request.body, notice.body.as_bytes());
    let signature = request.header("Stripe-Signature").unwrap();
    assert!(signature.starts_with("t=1780315200,v1=") && signature.matches(",v1=").count() == 2, "{signature}");
}

#[test]
fn lists_are_filtered_by_the_time_of_creation_in_pages_and_expanded() {
    let stripe = Stripe::start();
    let now = at(NOW).millis() / 1000;
    let sales: Vec<_> = (0..3)
        .map(|_| {
            let sale = stripe.fake.sell(None, 2500, "eur", &[]);
            stripe.fake.refund_outside(&sale.1, Some(500));
            stripe.clock.advance(Duration::from_secs(1));
            sale
        })
        .collect();
    let ids = |query: &str| {
        let list = stripe.get(&format!("{SESSIONS}?{query}")).body;
        list["data"].as_array().unwrap().iter().map(|session| session["id"].clone()).collect::<Vec<_>>()
    };
    let expected = |indexes: &[usize]| indexes.iter().map(|index| sales[*index].0.clone()).collect::<Vec<_>>();
    assert_eq!(ids("limit=2"), expected(&[2, 1]));
    assert_eq!(ids(&format!("limit=2&starting_after={}", sales[1].0)), expected(&[0]));
    for (query, indexes) in [
        (format!("created[gte]={}&created[lt]={}", now + 1, now + 2), vec![1]),
        (format!("created[gt]={}&created[lte]={}", now, now + 2), vec![2, 1]),
        (format!("created[gte]={}", now + 3), vec![]),
    ] {
        assert_eq!(ids(&query), expected(&indexes), "{query}");
    }
    let list = stripe.get(&format!("{SESSIONS}?expand[]=data.payment_intent.latest_charge.balance_transaction")).body;
    let charge = &list["data"][0]["payment_intent"]["latest_charge"];
    assert_eq!((charge["amount"].as_i64(), charge["balance_transaction"]["fee"].as_i64()), (Some(2500), Some(60)));
    let list = stripe.get(&format!("{REFUNDS}?expand[]=data.balance_transaction")).body;
    assert_eq!(list["data"][0]["balance_transaction"]["net"], -500);
    assert_eq!(list["data"][0]["payment_intent"], sales[2].1);
    for (query, parameter) in [
        ("created[from]=1", "parameter_unknown"),
        ("expand[]=payment_intent", "expand"),
        ("expand[]=data.customer", "expand"),
        ("limit=101", "limit"),
    ] {
        assert_eq!(stripe.get(&format!("{SESSIONS}?{query}")).error(), parameter, "{query}");
    }
}

/// "If a refund fails or you cancel it, the amount of the refund returns to your Stripe balance."
#[test]
fn the_balance_has_every_payment_and_refund_less_the_fees() {
    let stripe = Stripe::start();
    let balance = || {
        let transactions = stripe.fake.all("balance_transaction");
        transactions.iter().map(|transaction| transaction["net"].as_i64().unwrap()).sum::<i64>()
    };
    let (_, intent) = stripe.fake.sell(None, 2500, "eur", &[]);
    assert_eq!(balance(), 2440);
    let refund = stripe.fake.refund_outside(&intent, Some(1000));
    assert_eq!(balance(), 1440);
    stripe.fake.fail_refund(refund["id"].as_str().unwrap());
    assert_eq!(balance(), 2440);
    let dispute = stripe.fake.dispute(&intent);
    assert_eq!(balance(), -2060);
    stripe.fake.close_dispute(&dispute, true);
    assert_eq!(balance(), 440);
}
