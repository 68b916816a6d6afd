//! The page to which Stripe sends the customer back: `/checkout/return/{session}`.

use std::time::Duration;

use serde_json::{Value, json};
use ticketing::environment::ManualClock;

use crate::common::fake_stripe::FakeStripe;
use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of};
use crate::common::{HOLD, NOW, at};
use crate::stripe::gateway::gateway;

const SESSIONS: &str = "/v1/checkout/sessions";

/// After what time Stripe is asked again about a session.
const PAUSE: Duration = Duration::from_secs(4);

struct Shop {
    server: Server,
    fake: FakeStripe,
    /// The clock of both.
    clock: ManualClock,
    organizer: Client,
    customer: Client,
    sale: EventOnSale,
}

/// An order, and its session at Stripe.
struct Ordered {
    id: String,
    session: String,
}

impl Shop {
    fn open() -> Self {
        let clock = ManualClock::new(at(NOW));
        let fake = FakeStripe::start(clock.clone());
        let server = Server::with(|builder| builder.clock(clock.clone()).payment_gateway(gateway(&fake)), |_| {});
        let mut organizer = server.client();
        let sale = event_on_sale(&mut organizer, "summer-night");
        let customer = server.client_with("");
        Self { server, fake, clock, organizer, customer, sale }
    }

    fn order_with(&mut self, urls: Option<&Value>) -> Ordered {
        let mut order = order_of(&self.sale.event, &self.sale.ticket_type, 2);
        if let Some(urls) = urls {
            order["checkoutRedirectUrls"] = urls.clone();
        }
        let created = self.organizer.post("/v1/orders", &order).expect(201).json();
        let url = created["checkoutUrl"].as_str().unwrap();
        let session = url.rsplit('/').next().unwrap().to_owned();
        Ordered { id: created["order"]["id"].as_str().unwrap().to_owned(), session }
    }

    fn order(&mut self) -> Ordered {
        self.order_with(None)
    }

    fn come_back(&mut self, session: &str) -> Response {
        self.customer.get(&format!("/checkout/return/{session}"))
    }

    fn status(&mut self, order: &Ordered) -> String {
        let order = self.organizer.get(&format!("/v1/orders/{}", order.id)).expect(200).json();
        order["status"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_customer_who_has_paid_gets_the_tickets_without_any_notice() {
    let mut shop = Shop::open();
    let order = shop.order();
    shop.fake.pay(&order.session).unwrap();
    for _ in 0..2 {
        let page = shop.come_back(&order.session).expect(200);
        assert!(page.text().contains("Paid") && page.text().contains(&order.id["order_".len()..]), "{}", page.text());
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(shop.status(&order), "COMPLETED");
    }
}

#[test]
fn the_customer_is_sent_to_the_order_s_own_page_for_the_true_outcome() {
    let mut shop = Shop::open();
    let urls = json!({
        "success": "https://shop.example/thanks?a=1", "failure": "https://shop.example/sorry",
        "cancel": "https://shop.example/bye",
    });
    let paid = shop.order_with(Some(&urls));
    shop.fake.pay(&paid.session).unwrap();
    let open = shop.order_with(Some(&urls));
    let cancelled = shop.order_with(Some(&urls));
    shop.organizer.post_empty(&format!("/v1/orders/{}/cancel", cancelled.id)).expect(200);
    for (order, outcome, status) in
        [(&paid, "success", "COMPLETED"), (&open, "cancel", "PENDING"), (&cancelled, "failure", "CANCELLED")]
    {
        let response = shop.come_back(&order.session).expect(303);
        assert_eq!(response.header("location"), urls[outcome].as_str(), "{outcome}");
        assert_eq!(shop.status(order), status);
    }
}

#[test]
fn a_customer_who_has_not_paid_is_told_so_and_can_still_pay() {
    let mut shop = Shop::open();
    let order = shop.order();
    let page = shop.come_back(&order.session).expect(200);
    assert!(page.text().contains("Not paid yet"), "{}", page.text());
    let session = shop.fake.get(&order.session)["url"].as_str().unwrap().to_owned();
    assert!(page.text().contains(&format!("<a href=\"{session}\">Back to payment</a>")), "{}", page.text());
    assert_eq!(shop.status(&order), "PENDING");
    shop.fake.pay(&order.session).unwrap();
    shop.clock.advance(PAUSE);
    assert!(shop.come_back(&order.session).expect(200).text().contains("Paid"));
}

#[test]
fn a_page_that_is_loaded_again_and_again_asks_stripe_once_in_four_seconds() {
    let mut shop = Shop::open();
    let order = shop.order();
    let asked = |shop: &Shop| shop.fake.requests_to("GET", SESSIONS).len();
    for round in 1..=3 {
        assert!(shop.come_back(&order.session).expect(200).text().contains("Not paid yet"));
        for _ in 0..50 {
            let page = shop.come_back(&order.session).expect(200);
            assert!(page.text().contains("do not know yet"), "{}", page.text());
            assert_eq!(page.header("refresh"), Some("5;url=?times=1"), "it looks again by itself");
        }
        for (times, refresh) in [
            ("1", "10;url=?times=2"),
            ("2", "20;url=?times=3"),
            ("3", "60;url=?times=4"),
            ("4", "60;url=?times=4"),
            ("-1", "5;url=?times=1"),
        ] {
            let again = shop.come_back(&format!("{}?times={times}", order.session)).expect(200);
            assert_eq!(again.header("refresh"), Some(refresh), "less and less often");
        }
        assert_eq!(asked(&shop), round);
        shop.clock.advance(PAUSE);
    }
    shop.fake.pay(&order.session).unwrap();
    let page = shop.come_back(&order.session).expect(200);
    assert!(page.text().contains("Paid") && page.header("refresh").is_none());
    assert_eq!(asked(&shop), 4);
}

#[test]
fn a_customer_who_comes_back_too_late_is_told_that_the_money_goes_back() {
    let mut shop = Shop::open();
    // All seats but the two of this order are sold when it has expired.
    let order = shop.order();
    shop.fake.pay(&order.session).unwrap();
    shop.clock.advance(HOLD);
    let seats = format!("/v1/ticket-types/{}", shop.sale.ticket_type);
    shop.organizer.patch(&seats, &json!({"quantity": 1})).expect(200);
    let page = shop.come_back(&order.session).expect(200);
    assert!(page.text().contains("too late"), "{}", page.text());
    shop.server.service.run_maintenance().unwrap();
    assert_eq!(shop.fake.all("refund").len(), 1);
    assert_ne!(shop.status(&order), "COMPLETED");
}

#[test]
fn a_customer_who_goes_back_needs_no_id_of_the_session() {
    let mut shop = Shop::open();
    let urls = json!({
        "success": "https://shop.example/thanks", "failure": "https://shop.example/sorry",
        "cancel": "https://shop.example/bye",
    });
    let order = shop.order_with(Some(&urls));
    let without_urls = shop.order();
    let back = |shop: &Shop, order: &Ordered| {
        let session = shop.fake.get(&order.session);
        let url = session["cancel_url"].as_str().unwrap().to_owned();
        assert!(!url.contains('{') && !url.contains(&order.session), "{url}");
        url.rsplit('/').next().unwrap().to_owned()
    };
    let reference = back(&shop, &order);
    let response = shop.come_back(&reference).expect(303);
    assert_eq!(response.header("location"), Some("https://shop.example/bye"));
    assert_eq!(shop.status(&order), "PENDING");
    let other = back(&shop, &without_urls);
    assert!(shop.come_back(&other).expect(200).text().contains("Not paid yet"));
    // Both ways to come back are one checkout, about which Stripe is asked once in a while.
    shop.come_back(&order.session).expect(200);
    assert_eq!(shop.fake.requests_to("GET", SESSIONS).len(), 2);
    shop.clock.advance(PAUSE);
    shop.fake.pay(&order.session).unwrap();
    let response = shop.come_back(&reference).expect(303);
    assert_eq!(response.header("location"), Some("https://shop.example/thanks"));
    assert_eq!(shop.status(&order), "COMPLETED");

    // Nobody can guess it.
    let (id, token) = reference.split_once('-').unwrap();
    assert!(id == order.id && token.len() >= 32, "{reference}");
    let (_, other_token) = other.split_once('-').unwrap();
    let changed = format!("{id}-{}", token.chars().rev().collect::<String>());
    for wrong in [id, &format!("{id}-"), &format!("{id}-{other_token}"), &changed, &format!("{reference}0"), "-", token]
    {
        shop.come_back(wrong).expect(404);
    }
}

#[test]
fn a_customer_who_goes_back_before_the_session_is_recorded_is_not_lost() {
    let mut shop = Shop::open();
    let order = shop.order();
    let url = shop.fake.get(&order.session)["cancel_url"].as_str().unwrap().to_owned();
    shop.server
        .database()
        .run("UPDATE orders SET payment_reference = NULL, payment_link = NULL, payment_status = NULL");
    let page = shop.come_back(url.rsplit('/').next().unwrap()).expect(200);
    assert!(page.text().contains("do not know yet"), "{}", page.text());
    shop.server.skip_final_check();
}

#[test]
fn an_unknown_checkout_is_not_found_and_nobody_is_asked() {
    let mut shop = Shop::open();
    let before = shop.fake.requests().len();
    for session in ["cs_test_unknown", "order_1", "%ff", "..%2f..%2fv1%2frefunds", &"x".repeat(2000)] {
        let page = shop.come_back(session).expect(404);
        assert!(page.text().contains("<h1>"), "{session}");
    }
    assert_eq!(shop.fake.requests().len(), before);
    let order = shop.order();
    shop.customer.post(&format!("/checkout/return/{}", order.session), &json!({})).expect(405);
    shop.server.skip_final_check();
}
