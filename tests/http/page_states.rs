//! The states of the pages that people see. With the variable `KEEP_PAGES`, each stays in that folder as a file of
//! HTML: `.ci/pages/run` opens them in a browser.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use ticketing::Builder;
use ticketing::documents::TicketDocuments;
use ticketing::environment::ManualClock;
use ticketing::payment::{CheckoutState, GatewayPayment};

use crate::common::gateway::FakeGateway;
use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of};
use crate::common::sales::HOLD;
use crate::ticket_pages::Paid;

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
        ("return-in-progress", CheckoutState::Processing, "Ihre Zahlung ist unterwegs."),
        ("return-unknown", CheckoutState::Unknown, "Diese Seite sieht von selbst wieder nach."),
        ("return-closed", CheckoutState::Closed, "Diese Zahlung ist nicht mehr möglich."),
        ("return-mismatch", paid("24.00"), "Ihre Zahlung passt nicht zu dieser Bestellung."),
        ("return-paid", paid("25.00"), "Tickets anzeigen"),
    ] {
        let (order, _) = shop.order();
        gateway.set_state(Some(state));
        keep(name, &come_back(&mut shop, &order), says);
    }

    gateway.set_state(Some(CheckoutState::Closed));
    let (order, _) = shop.order();
    shop.cancel(&order);
    keep("return-cancelled", &come_back(&mut shop, &order), "Diese Bestellung wurde storniert. Falls Sie bezahlt");
    let (order, _) = shop.order();
    let (late, _) = shop.order();
    shop.clock.advance(HOLD);
    keep("return-expired", &come_back(&mut shop, &order), "Falls Sie danach bezahlt haben");

    // Nothing is left for those who pay now.
    let seats = format!("/v1/ticket-types/{}", shop.sale.ticket_type);
    shop.organizer.patch(&seats, &json!({"quantity": 2})).expect(200);
    gateway.set_state(Some(paid("25.00")));
    keep("return-too-late", &come_back(&mut shop, &late), "zu spät. Sie wird erstattet.");
    shop.server.service.run_maintenance().unwrap();
    keep("return-too-late-and-refunded", &come_back(&mut shop, &late), "zu spät und wurde erstattet.");
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
        ("checkout-cancelled", "cancel", "Storniert"),
    ] {
        let (_, page) = shop.order();
        shop.submit(&page, outcome);
        keep(name, &shop.customer.get(&page).expect(200), says);
    }
    let (order, page) = shop.order();
    shop.submit(&page, "success");
    shop.cancel(&order);
    keep("checkout-refunded", &shop.customer.get(&page).expect(200), "Erstattet");
    let (_, page) = shop.order();
    let event = format!("/v1/events/{}", shop.sale.event);
    shop.organizer.patch(&event, &json!({"status": "CANCELLED"})).expect(200);
    shop.server.service.run_maintenance().unwrap();
    keep("checkout-of-cancelled-event", &shop.customer.get(&page).expect(200), "Die Veranstaltung wurde abgesagt");
    // The maintenance makes the refund.
    shop.submit(&page, "success");
    keep("checkout-refund-due", &shop.customer.get(&page).expect(200), "Ihre Zahlung wird erstattet");
}

#[test]
fn pages_of_tickets_say_that_the_order_is_cancelled_or_the_event_over() {
    let mut shop = Shop::open(Builder::sandbox_gateway);
    let order = order_of(&shop.sale.event, &shop.sale.ticket_type, 2);
    let (past, cancelled) = (Paid::new(&mut shop.organizer, &order), Paid::new(&mut shop.organizer, &order));
    shop.cancel(&cancelled.order);
    let page = shop.customer.get(&cancelled.page).expect(200);
    keep("order-cancelled", &page, "This order is cancelled");
    assert_eq!(page.text().matches("is cancelled").count(), 1, "it is said once: {}", page.text());
    keep("ticket-of-cancelled-order", &shop.customer.get(&cancelled.ticket(0)).expect(200), "This ticket is cancelled");
    shop.clock.set("9000-06-03T12:00:00Z".parse().unwrap());
    keep("order-over", &shop.customer.get(&past.page).expect(200), "This event is over");
    keep("ticket-over", &shop.customer.get(&past.ticket(0)).expect(200), "This event is over");
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
    keep("problem-root", &customer.send("GET", "/", &german, b"").expect(404), "API");
    keep(
        "problem-no-page",
        &customer.send("GET", "/nothing", &german, b"").expect(404),
        "Wir finden diese Seite nicht",
    );
    keep("problem-form", &customer.send("POST", &page, &form, b"outcome=x").expect(400), "geht so nicht");
    keep(
        "problem-no-checkout",
        &customer.send("GET", "/checkout/x", &german, b"").expect(404),
        "Wir finden diese Kasse",
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
