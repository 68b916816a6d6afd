//! The states of the pages that people see. With the variable `KEEP_PAGES`, each stays in that folder as a file of
//! HTML: `.ci/pages/run` opens them in a browser.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use ticketing::Builder;
use ticketing::documents::TicketDocuments;
use ticketing::environment::ManualClock;
use ticketing::organization::UpdateOrganization;
use ticketing::payment::{CheckoutState, GatewayPayment};

use crate::common::gateway::{FakeGateway, GatewayBehavior};
use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of};
use crate::common::pictures::{data_uri, png};
use crate::common::sales::HOLD;
use crate::http::ticket_pages::Paid;

/// Checks that a page says this, and keeps it.
#[track_caller]
fn keep(name: &str, page: &Response, says: &str) {
    assert!(page.text().replace('\u{A0}', " ").contains(says), "{name}: {says} is not in:\n{}", page.text());
    if let Some(folder) = std::env::var_os("KEEP_PAGES") {
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), page.text()).unwrap();
    }
}

struct Shop {
    server: Server,
    clock: ManualClock,
    organizer: Client,
    customer: Client,
    sale: EventOnSale,
}

impl Shop {
    fn open(gateway: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::new("2026-06-01T12:00:00Z".parse().unwrap());
        let documents =
            |builder: Builder| gateway(builder.clock(clock.clone())).ticket_documents(TicketDocuments::default());
        let server = Server::with(documents, |options| options.failed_authentications = 3);
        let (mut organizer, customer) = (server.client(), server.client_with(""));
        let sale = event_on_sale(&mut organizer, "summer-night");
        Self { server, clock, organizer, customer, sale }
    }

    /// Orders two tickets in German. Returns the id of the order, and the path of its checkout.
    fn order(&mut self) -> (String, String) {
        let mut order = order_of(&self.sale.event, &self.sale.ticket_type, 2);
        order["language"] = json!("de");
        let created = self.organizer.post("/v1/orders", &order).expect(201).json();
        let path = created["checkoutUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap();
        (created["order"]["id"].as_str().unwrap().to_owned(), format!("/{path}"))
    }

    fn cancel(&mut self, order: &str) {
        self.organizer.post_empty(&format!("/v1/orders/{order}/cancel")).expect(200);
    }

    fn submit(&mut self, page: &str, outcome: &str) {
        let form = "Content-Type: application/x-www-form-urlencoded";
        self.customer.send("POST", page, &[form], format!("outcome={outcome}").as_bytes()).expect(303);
    }
}

#[test]
fn the_page_to_which_customers_come_back_says_how_the_payment_has_ended() {
    let gateway = FakeGateway::new();
    let set = gateway.clone();
    let mut shop = Shop::open(|builder| builder.payment_gateway(set));
    let paid = |amount: &str| CheckoutState::Paid(GatewayPayment::new("pi_1", amount.parse().unwrap(), "EUR"));
    let come_back =
        |shop: &mut Shop, order: &str| shop.customer.get(&format!("/checkout/return/pay-{order}")).expect(200);
    for (name, state, says) in [
        ("return-not-yet", CheckoutState::Open, "Zurück zur Zahlung"),
        ("return-in-progress", CheckoutState::Processing, "Ihre Zahlung wird verarbeitet."),
        ("return-unknown", CheckoutState::Unknown, "Diese Seite sieht von selbst wieder nach."),
        ("return-closed", CheckoutState::Closed, "Diese Zahlung ist nicht mehr möglich."),
        ("return-mismatch", paid("24.00"), "Ihre Zahlung passt nicht zu dieser Bestellung. 24,00 € werden erstattet."),
        ("return-paid", paid("25.00"), "Tickets anzeigen"),
    ] {
        let (order, _) = shop.order();
        gateway.set_state(Some(state));
        keep(name, &come_back(&mut shop, &order), says);
    }

    gateway.set_state(Some(CheckoutState::Closed));
    let (order, _) = shop.order();
    shop.cancel(&order);
    keep(
        "return-cancelled",
        &come_back(&mut shop, &order),
        "Diese Bestellung ist storniert</strong>Es ist nichts zu bezahlen.",
    );
    let (order, _) = shop.order();
    let (late, _) = shop.order();
    shop.clock.advance(HOLD);
    keep("return-expired", &come_back(&mut shop, &order), "Bitte bestellen Sie noch einmal.");

    // Nothing is left for those who pay now.
    let seats = format!("/v1/ticket-types/{}", shop.sale.ticket_type);
    shop.organizer.patch(&seats, &json!({"quantity": 2})).expect(200);
    gateway.set_state(Some(paid("25.00")));
    keep("return-too-late", &come_back(&mut shop, &late), "zu spät. 25,00 € werden erstattet.");
    shop.server.service.run_maintenance().unwrap();
    keep("return-too-late-and-refunded", &come_back(&mut shop, &late), "zu spät. 25,00 € wurden erstattet.");
}

#[test]
fn the_checkout_of_the_sandbox_says_what_has_become_of_its_order() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let (_, page) = shop.order();
    keep("checkout-open", &shop.customer.get(&page).expect(200), "Noch 30 Minuten reserviert");
    shop.clock.advance(HOLD);
    keep("checkout-expired", &shop.customer.get(&page).expect(200), "Abgelaufen");
    for (name, outcome, says) in [
        ("checkout-failed", "failure", "Zahlung fehlgeschlagen"),
        ("checkout-paid", "success", "Tickets anzeigen"),
        ("checkout-cancelled", "cancel", "Diese Bestellung ist storniert</strong>Es ist nichts zu bezahlen."),
    ] {
        let (_, page) = shop.order();
        shop.submit(&page, outcome);
        keep(name, &shop.customer.get(&page).expect(200), says);
    }
    let (order, page) = shop.order();
    shop.submit(&page, "success");
    shop.cancel(&order);
    let refunded = shop.customer.get(&page).expect(200);
    keep("checkout-refunded", &refunded, "25,00 € wurden erstattet.");
    assert!(!refunded.text().contains("<button"), "{}", refunded.text());
    let (_, page) = shop.order();
    let event = format!("/v1/events/{}", shop.sale.event);
    shop.organizer.patch(&event, &json!({"status": "CANCELLED"})).expect(200);
    shop.server.service.run_maintenance().unwrap();
    keep(
        "checkout-of-cancelled-event",
        &shop.customer.get(&page).expect(200),
        "Diese Veranstaltung ist abgesagt</strong>Es ist nichts zu bezahlen.",
    );
    // The maintenance makes the refund.
    shop.submit(&page, "success");
    keep("checkout-refund-due", &shop.customer.get(&page).expect(200), "25,00 € werden erstattet.");
}

#[test]
fn pages_of_tickets_say_that_the_order_is_cancelled_or_the_event_over() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let order = order_of(&shop.sale.event, &shop.sale.ticket_type, 2);
    let (past, cancelled) = (Paid::new(&mut shop.organizer, &order), Paid::new(&mut shop.organizer, &order));
    shop.cancel(&cancelled.order);
    let page = shop.customer.get(&cancelled.page).expect(200);
    keep("order-cancelled", &page, "Entry is no longer possible. €25.00 will be refunded.");
    assert!(!page.text().contains("Your tickets"), "{}", page.text());
    let title = "<title>This order is cancelled: Summer Night</title>";
    assert!(page.text().contains(title), "{}", page.text());
    assert_eq!(page.text().matches("is cancelled").count(), 2, "in the title, and once below: {}", page.text());
    keep("ticket-of-cancelled-order", &shop.customer.get(&cancelled.ticket(0)).expect(200), "This ticket is cancelled");
    shop.clock.set("9000-06-03T12:00:00Z".parse().unwrap());
    keep("order-over", &shop.customer.get(&past.page).expect(200), "This event is over");
    keep("ticket-over", &shop.customer.get(&past.ticket(0)).expect(200), "This event is over");
    for path in [&past.page, &past.ticket(0)] {
        let page = shop.customer.get(path).expect(200);
        let codes = page.text().matches("<svg ").count();
        assert!(!page.text().contains("Add to calendar") && page.text().contains("Download") && codes > 0, "{path}");
    }
}

/// Each refund is named on each page, whatever became of the order and of the event.
#[test]
fn all_pages_of_an_order_name_what_went_back_and_what_will() {
    let gateway = FakeGateway::new();
    let set = gateway.clone();
    let mut shop = Shop::open(|builder| builder.payment_gateway(set));
    let payment = CheckoutState::Paid(GatewayPayment::new("pi_1", "25.00".parse().unwrap(), "EUR"));
    gateway.set_state(Some(payment));
    let paid = |shop: &mut Shop| {
        let (order, _) = shop.order();
        let back = format!("/checkout/return/pay-{order}");
        keep("paid", &shop.customer.get(&back).expect(200), "Ihre Tickets sind ausgestellt.");
        let details = shop.organizer.get(&format!("/v1/orders/{order}/details")).expect(200).json();
        let page = format!("/{}", details["documentsUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap());
        (order, back, page)
    };
    let check = |shop: &mut Shop, name: &str, (_, back, page): &(String, String, String), says: &str| {
        for (kind, path) in [("return", back), ("order", page)] {
            keep(&format!("{kind}-{name}"), &shop.customer.get(path).expect(200), says);
        }
    };
    gateway.on_refund(GatewayBehavior::Unavailable);
    let part = paid(&mut shop);
    let tickets = shop.organizer.get(&format!("/v1/tickets?orderId={}", part.0)).expect(200).json();
    let refund = json!({"tickets": [tickets["data"][0]["id"]]});
    shop.organizer.post(&format!("/v1/orders/{}/refunds", part.0), &refund).expect(200);
    check(&mut shop, "part-refund-due", &part, "<strong>Bezahlt</strong>12,50 € werden erstattet.");
    let whole = paid(&mut shop);
    shop.cancel(&whole.0);
    let says =
        "<strong>Diese Bestellung ist storniert</strong>Einlass ist nicht mehr möglich. 25,00 € werden erstattet.";
    check(&mut shop, "cancelled-refund-due", &whole, says);

    gateway.on_refund(GatewayBehavior::Succeed);
    shop.clock.advance(Duration::from_hours(1));
    shop.server.service.run_maintenance().unwrap();
    check(&mut shop, "part-refunded", &part, "<strong>Bezahlt</strong>12,50 € wurden erstattet.");
    check(&mut shop, "cancelled-refunded", &whole, "Einlass ist nicht mehr möglich. 25,00 € wurden erstattet.");
    // The receipt has it too: 2 x 12.50, of which one went back.
    for path in [&part.1, &part.2] {
        let page = shop.customer.get(path).expect(200).text().replace('\u{A0}', " ");
        for line in [
            "<span>Seat <small>2 × 12,50 €</small></span> <b>25,00 €</b>",
            "<span>Gesamtbetrag</span> <b>25,00 €</b>",
            "<span>Online bezahlt <small>1. Juni 2026</small></span> <b>25,00 €</b>",
            "<span>Erstattet <small>1. Juni 2026</small></span> <b>−12,50 €</b>",
        ] {
            assert!(page.contains(line), "{line} is not in:\n{page}");
        }
    }

    let kept = paid(&mut shop);
    let event = format!("/v1/events/{}", shop.sale.event);
    shop.organizer.patch(&event, &json!({"status": "CANCELLED"})).expect(200);
    let abgesagt = "<strong>Diese Veranstaltung ist abgesagt</strong>Einlass ist nicht mehr möglich.";
    let says = format!("{abgesagt} Wenden Sie sich wegen der Erstattung an den Veranstalter.");
    check(&mut shop, "of-cancelled-event", &kept, &says);
    for path in [&kept.1, &kept.2] {
        let page = shop.customer.get(path).expect(200).text().to_owned();
        assert!(!page.contains("Ihre Tickets") && !page.contains("Tickets anzeigen"), "{page}");
    }
    gateway.on_refund(GatewayBehavior::Unavailable);
    shop.cancel(&kept.0);
    check(&mut shop, "of-cancelled-event-refund-due", &kept, &format!("{abgesagt} 25,00 € werden erstattet."));
    gateway.on_refund(GatewayBehavior::Succeed);
    shop.clock.advance(Duration::from_hours(1));
    shop.server.service.run_maintenance().unwrap();
    check(&mut shop, "of-cancelled-event-refunded", &kept, &format!("{abgesagt} 25,00 € wurden erstattet."));
}

#[test]
fn the_receipt_names_who_buys_who_sells_and_how_it_was_paid() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let name = UpdateOrganization::default().name("Philharmonic");
    shop.server.service.update_organization(shop.server.organization, name).unwrap();
    let event = format!("/v1/events/{}", shop.sale.event);
    shop.organizer.patch(&event, &json!({"acceptsCompany": true})).expect(200);
    let mut order = order_of(&shop.sale.event, &shop.sale.ticket_type, 2);
    order["customer"]["companyName"] = json!("Ada & Sons");
    order["shippingAddress"] = json!({"street": "1 Main Street", "zip": "12345", "city": "Town", "country": "GB"});
    let created = shop.organizer.post("/v1/orders", &order).expect(201).json();
    let id = created["order"]["id"].as_str().unwrap();
    let checkout = format!("/{}", created["checkoutUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap());
    shop.organizer.post(&format!("/v1/orders/{id}/mark-paid"), &json!({"how": "TRANSFER"})).expect(200);
    let details = shop.organizer.get(&format!("/v1/orders/{id}/details")).expect(200).json();
    let page = format!("/{}", details["documentsUrl"].as_str().unwrap().splitn(4, '/').nth(3).unwrap());
    for (name, path) in [("checkout-receipt", &checkout), ("order-receipt", &page)] {
        let page = shop.customer.get(path).expect(200);
        keep(name, &page, "<span>Paid by bank transfer <small>1 June 2026</small></span> <b>€25.00</b>");
        for text in [
            "<dt>Company</dt><dd>Ada &#38; Sons</dd>",
            "<dt>Delivery address</dt><dd>1 Main Street</dd><dd>12345 Town</dd><dd>GB</dd>",
            &format!("<footer>Philharmonic · Order {}</footer>", &id["order_".len()..]),
        ] {
            assert!(page.text().contains(text), "{text} is not in:\n{}", page.text());
        }
    }
    let title = "<title>Paid: Summer Night</title>";
    assert!(shop.customer.get(&checkout).expect(200).text().contains(title));
}

/// 12.50 less 20 % is 10.00. 3 x 12.50 less 20.00 is 17.50, which is no price of one of the three.
#[test]
fn a_ticket_has_the_price_that_was_paid_for_it_or_none() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    for (code, kind, value) in [("PERCENT", "PERCENTAGE", 20), ("AMOUNT", "FIXED_AMOUNT", 20)] {
        let discount = json!({
            "eventId": shop.sale.event, "code": code, "type": kind, "value": value,
            "validFrom": "2020-01-01T00:00:00Z", "validTo": "2100-01-01T00:00:00Z",
        });
        shop.organizer.post("/v1/discounts", &discount).expect(201);
    }
    for (code, quantity, price) in [
        (None, 2, Some("<dt>Price</dt><dd>€12.50</dd>")),
        (Some("PERCENT"), 2, Some("<dt>Price</dt><dd>€10.00</dd>")),
        (Some("AMOUNT"), 3, None),
    ] {
        let mut order = order_of(&shop.sale.event, &shop.sale.ticket_type, quantity);
        order["discountCode"] = json!(code);
        let paid = Paid::new(&mut shop.organizer, &order);
        for path in [&paid.page, &paid.ticket(0)] {
            let page = shop.customer.get(path).expect(200);
            match price {
                Some(price) => assert!(page.text().contains(price), "{price} is not in:\n{}", page.text()),
                None => assert!(!page.text().contains("<dt>Price"), "{}", page.text()),
            }
        }
    }
}

#[test]
fn the_page_of_a_ticket_has_a_small_logo() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let paid = Paid::new(&mut shop.organizer, &order_of(&shop.sale.event, &shop.sale.ticket_type, 1));
    let ticket_type = format!("/v1/ticket-types/{}", shop.sale.ticket_type);
    let mut page_with = |file: &[u8]| {
        shop.organizer.patch(&ticket_type, &json!({"ticketLogo": data_uri(file)})).expect(200);
        shop.customer.get(&paid.ticket(0)).expect(200)
    };
    let small = png(300, 100, 1_000);
    let page = page_with(&small);
    keep("ticket-logo", &page, &format!("<img class=\"logo\" src=\"{}\" alt=\"Logo\">", data_uri(&small)));
    let large = page_with(&png(300, 100, 5_000));
    assert!(!large.text().contains("<img"), "{}", large.text());
}

#[test]
fn a_customer_who_comes_back_while_the_gateway_is_silent_sees_the_order_and_waits() {
    let gateway = FakeGateway::new();
    let set = gateway.clone();
    let mut shop = Shop::open(|builder| builder.payment_gateway(set));
    gateway.set_state(Some(CheckoutState::Open));
    gateway.on_look_up(GatewayBehavior::Unavailable);
    let (order, _) = shop.order();
    let back = format!("/checkout/return/pay-{order}");
    let page = shop.customer.get(&back).expect(200);
    keep("return-silent", &page, "Wir wissen noch nicht, ob Ihre Zahlung eingegangen ist.");
    assert_eq!(page.header("refresh"), Some("5;url=?times=1"));
    for text in ["Summer Night", "25,00\u{A0}€", &order["order_".len()..]] {
        assert!(page.text().contains(text), "{text} is not in:\n{}", page.text());
    }
    // The same for an order that was cancelled meanwhile: the payment may have been made before.
    let (cancelled, _) = shop.order();
    shop.cancel(&cancelled);
    let page = shop.customer.get(&format!("/checkout/return/pay-{cancelled}")).expect(200);
    keep("return-silent-cancelled", &page, "ist storniert</strong>Wir wissen noch nicht");
    assert_eq!(page.header("refresh"), Some("5;url=?times=1"));

    gateway.on_look_up(GatewayBehavior::Succeed);
    shop.clock.advance(Duration::from_secs(5));
    let page = shop.customer.get(&format!("{back}?times=1")).expect(200);
    keep("return-answers-again", &page, "Noch nicht bezahlt");
    assert_eq!(page.header("refresh"), None);
}

#[test]
fn each_problem_of_a_visitor_has_a_page() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let german = ["Accept: text/html", "Accept-Language: de"];
    let form = [german[0], german[1], "Content-Type: application/x-www-form-urlencoded"];
    let mut customer = shop.server.client_with("");
    let (order, page) = shop.order();
    let details = shop.organizer.get(&format!("/v1/orders/{order}/details")).expect(200).json();
    assert!(details["documentsUrl"].is_null(), "{details}");
    keep("home", &customer.send("GET", "/", &german, b"").expect(200), "API-Dokumentation");
    keep(
        "problem-no-page",
        &customer.send("GET", "/nothing", &german, b"").expect(404),
        "Wir finden diese Seite nicht",
    );
    keep("problem-form", &customer.send("POST", &page, &form, b"outcome=x").expect(400), "geht so nicht");
    keep(
        "problem-no-checkout",
        &customer.send("GET", "/checkout/x", &german, b"").expect(404),
        "Wir finden diesen Bezahlvorgang nicht",
    );
    shop.submit(&page, "failure");
    shop.organizer.post_empty(&format!("/v1/orders/{order}/checkout")).expect(200);
    keep("problem-replaced", &customer.send("GET", &page, &german, b"").expect(410), "Es gibt einen neueren Link");
    let paid = Paid::new(&mut shop.organizer, &order_of(&shop.sale.event, &shop.sale.ticket_type, 1));
    shop.cancel(&paid.order);
    let document = paid.document(0);
    keep(
        "problem-cancelled",
        &customer.send("GET", &document, &german, b"").expect(410),
        "Diese Tickets sind storniert",
    );
    let pages = (0..9).map(|_| customer.send("GET", "/tickets/0", &german, b"")).collect::<Vec<_>>();
    keep("problem-no-ticket", &pages[0], "Wir finden dieses Ticket nicht");
    let braked = pages.iter().find(|page| page.status == 429).unwrap();
    keep("problem-too-many-requests", braked, "Zu viele");

    shop.server.skip_final_check();
    let page = Paid::new(&mut shop.organizer, &order_of(&shop.sale.event, &shop.sale.ticket_type, 1)).page;
    shop.server.database_without_constraints().run("UPDATE tickets SET expires_at = -1");
    let mut customer = shop.server.client_with("");
    let failed = customer.send("GET", &page, &german, b"").expect(500);
    keep("problem-internal", &failed, "Etwas ist schiefgegangen");
    // The server has the service open.
    shop.server.service.clone().close(Duration::ZERO).unwrap_err();
    let busy = customer.send("GET", &page, &german, b"").expect(503);
    keep("problem-busy", &busy, "Der Server ist ausgelastet");
}
