//! No key, secret or signature is in a log, at any level: neither in that of this crate and the server, nor in that of
//! the HTTP client, which logs each byte of a request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use ticketing::environment::SystemClock;
use ticketing::payment::NoticeHeaders;
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{FakeStripe, Fault, WEBHOOK_SECRET};
use crate::common::http::{EventOnSale, Server, event_on_sale, order_of};
use crate::common::log;
use crate::common::processes::alone;
use crate::stripe::Shop;
use crate::stripe::gateway::gateway;

/// What the HTTP client and the TLS library log, which use the crate `log`.
struct ClientLog(Mutex<Vec<ClientLine>>);

struct ClientLine {
    thread: ThreadId,
    target: String,
    text: String,
}

static CLIENT_LOG: ClientLog = ClientLog(Mutex::new(Vec::new()));

impl ::log::Log for ClientLog {
    fn enabled(&self, _: &::log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &::log::Record<'_>) {
        let text = record.args().to_string();
        let line = ClientLine { thread: std::thread::current().id(), target: record.target().to_owned(), text };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn flush(&self) {}
}

impl ClientLog {
    /// Captures everything from now on. Fails if another test has begun to.
    fn capture() {
        let _ = ::log::set_logger(&CLIENT_LOG);
        ::log::set_max_level(::log::LevelFilter::Trace);
    }

    /// The lines, and the requests and answers of each thread as text. The client logs them in rows of 16 bytes, as
    /// hexadecimal digits and, at the end, as text.
    fn texts(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut texts: Vec<_> = lines.iter().map(|line| format!("{} {}", line.target, line.text)).collect();
        let mut of_threads: HashMap<_, String> = HashMap::new();
        for line in lines.iter().filter(|line| line.target.starts_with("ureq_proto")) {
            let row = line.text.char_indices().rev().nth(15).map_or("", |(at, _)| &line.text[at..]);
            of_threads.entry(line.thread).or_default().push_str(row);
        }
        texts.extend(of_threads.into_values());
        texts
    }
}

/// Asserts that both logs have lines, and none of them a secret.
fn assert_no_secrets(log: &log::CapturedLog, secrets: &[&str]) {
    let client_lines = CLIENT_LOG.texts();
    // The requests are read from the rows.
    assert!(client_lines.iter().any(|text| text.contains("POST./v1/checkout/sessions.HTTP/1.1..")));
    assert!(client_lines.iter().any(|text| text.contains("authorization:.Bearer.{{{{{{{{")));
    assert!(!log.lines().is_empty());
    for line in log.lines().iter().chain(&client_lines) {
        assert!(!secrets.iter().any(|secret| line.contains(secret)), "{line}");
    }
}

#[test]
fn nothing_secret_is_logged_by_the_server() {
    alone(concat!(module_path!(), "::nothing_secret_is_logged_by_the_server"), || {
        let log = log::capture();
        ClientLog::capture();
        let fake = FakeStripe::start(SystemClock);
        let server = Server::with(|builder| builder.payment_gateway(gateway(&fake)), |_| {});
        fake.set_endpoint(&format!("http://{}/gateway/notices", server.address));
        let mut client = server.client();
        let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
        let order = order_of(&event, &ticket_type, 2);
        let created = client.post("/v1/orders", &order).expect(201).json();
        let session = created["checkoutUrl"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let path = format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap());
        client.post_empty(&format!("{path}/checkout")).expect(200);
        server.client_with("").get(&format!("/checkout/return/{session}")).expect(200);
        fake.pay(&session).unwrap();
        let mut secrets = vec![fake.secret_key(), WEBHOOK_SECRET.to_owned(), server.key.clone()];
        for notice in fake.take_notices() {
            let signature = fake.sign(&notice);
            assert_eq!(fake.deliver_with(&notice, "t=1,v1=deadbeefdeadbeef"), 400);
            assert_eq!(fake.deliver_with(&notice, &signature), 200);
            secrets.extend(signature.split("v1=").skip(1).map(|rest| rest.split(',').next().unwrap().to_owned()));
        }
        assert_eq!(client.get(&path).expect(200).json()["status"], "COMPLETED");
        fake.fail("POST", "/v1/refunds", Fault::ServerError, 1);
        client.post_empty(&format!("{path}/cancel")).expect(200);
        fake.fail("POST", "/v1/checkout/sessions", Fault::ServerError, 1);
        client.post("/v1/orders", &order).expect(502);
        let secrets: Vec<_> = secrets.iter().map(String::as_str).chain(["deadbeefdeadbeef"]).collect();
        assert_no_secrets(log, &secrets);
        assert!(log.lines().iter().all(|line| !line.contains("ada@example.com")));
    });
}

#[test]
fn nothing_secret_is_logged_when_all_goes_well_and_when_nothing_does() {
    alone(concat!(module_path!(), "::nothing_secret_is_logged_when_all_goes_well_and_when_nothing_does"), || {
        let log = log::capture();
        ClientLog::capture();
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
        shop.cancel(order);
        shop.run(30);
        let other = StripeGateway::builder("sk_test_wrong_key_in_test").api_base(shop.fake.url());
        let other = other.webhook_secret(WEBHOOK_SECRET).build().unwrap();
        let error = other.check_setup().unwrap_err();
        let texts = format!("{error:?} {error} {other:?} {:?}", gateway(&shop.fake));
        for secret in [key.as_str(), WEBHOOK_SECRET, "sk_test_wrong_key_in_test"] {
            assert!(!texts.contains(secret), "{texts}");
        }
        let secrets = [key.as_str(), WEBHOOK_SECRET, "deadbeefdeadbeef", "sk_test_wrong_key_in_test"];
        assert_no_secrets(log, &secrets);
        // The client's log has whole answers, also those that other tests of this process read meanwhile.
        assert!(log.lines().iter().all(|line| !line.contains("visa")));
    });
}
