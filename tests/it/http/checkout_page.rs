//! The checkout page of the sandbox gateway: payment, failure, cancellation, redirects and headers.

use crate::common::http;
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of};
use crate::common::{FakeGateway, GatewayBehavior};
use crate::http::walkthrough::Document;
use serde_json::json;
use std::time::Duration;
use ticketing::environment::ManualClock;
use ticketing::payment::CheckoutState;

fn path_of(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

/// Submits the form of the checkout page with this outcome.
fn submit(client: &mut Client, page: &str, outcome: &str) -> http::Response {
    let form = "Content-Type: application/x-www-form-urlencoded";
    client.send("POST", page, &[form], format!("outcome={outcome}").as_bytes())
}

#[test]
fn a_ticket_paid_on_the_checkout_page_is_checked_in_once() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");

    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201);
    let order = created.json()["order"].clone();
    assert_eq!(created.header("location").unwrap(), format!("/v1/orders/{}", order["id"].as_str().unwrap()));
    assert_eq!((order["status"].as_str(), order["total"].as_f64()), (Some("PENDING"), Some(25.0)));
    assert_eq!(created.json()["issuedTickets"], json!([]));
    let page = path_of(created.json()["checkoutUrl"].as_str().unwrap());

    let mut customer = server.client_with("");
    let shown = customer.get(&page).expect(200);
    assert_eq!(shown.header("content-type"), Some("text/html; charset=utf-8"));
    for text in [
        "Summer Night",
        "Seat",
        "€25.00",
        "Pay €25.00",
        "No money is charged.",
        "Choose how the payment ends:",
        r#"value="failure""#,
        r#"value="cancel""#,
    ] {
        assert!(shown.text().contains(text), "{text}: {}", shown.text());
    }

    let failed = submit(&mut customer, &page, "failure").expect(303);
    // Relative to the page: its own last segment.
    assert_eq!(failed.header("location"), page.rsplit('/').next());
    let document = Document::of(&server);
    document.check(&document.operation("finish_checkout"), &failed);
    document.check(&document.operation("show_checkout"), &shown);
    let again = customer.get(&page).expect(200);
    assert!(again.text().contains("Payment failed") && again.text().contains("<button"));

    submit(&mut customer, &page, "success").expect(303);
    let paid = customer.get(&page).expect(200);
    assert!(paid.text().contains("Paid") && !paid.text().contains("<button"));

    let order = client.get(created.header("location").unwrap()).expect(200).json();
    assert_eq!(order["status"], "COMPLETED");
    let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
    let scan = json!({"code": code.to_lowercase(), "eventId": event});
    assert_eq!(client.post("/v1/tickets/check-in", &scan).expect(200).json()["status"], "CHECKED_IN");
    let refused = client.post("/v1/tickets/check-in", &scan).expect(409);
    assert_eq!(refused.problem()["reason"], "already-checked-in");
}

#[test]
fn a_failed_checkout_is_renewed_and_only_the_new_page_can_be_paid() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json();
    let order = format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap());
    let checkout = format!("{order}/checkout");
    let first = path_of(created["checkoutUrl"].as_str().unwrap());

    let open = client.post_empty(&checkout).expect(200).json();
    assert_eq!((&open["checkoutUrl"], &open["renewed"]), (&created["checkoutUrl"], &json!(false)));
    submit(&mut client, &first, "failure").expect(303);
    let key = "Idempotency-Key: again";
    let renewed = client.send("POST", &checkout, &[key], b"").expect(200);
    let document = Document::of(&server);
    document.check(&document.operation("renew_checkout"), &renewed);
    assert_eq!(renewed.json()["renewed"], true);
    let second = path_of(renewed.json()["checkoutUrl"].as_str().unwrap());
    assert_ne!(second, first);
    let replayed = client.send("POST", &checkout, &[key], b"").expect(200);
    assert_eq!((replayed.json(), replayed.header("idempotent-replayed")), (renewed.json(), Some("true")));
    assert_eq!(client.get(&checkout).expect(200).json()["renewals"], 1);

    for gone in [submit(&mut client, &first, "success"), client.get(&first)] {
        assert!(gone.expect(410).text().contains("This link was replaced by a newer one."));
    }
    submit(&mut client, &second, "success").expect(303);
    assert_eq!(client.get(&order).expect(200).json()["status"], "COMPLETED");
    let refused = client.post_empty(&checkout).expect(409);
    document.check(&document.operation("renew_checkout"), &refused);
    assert_eq!(refused.problem()["reason"], "order-not-pending");
}

#[test]
fn a_renewal_that_the_gateway_refuses_is_502_and_leaves_the_order_as_it_is() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json();
    let order = format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap());
    gateway.set_state(Some(CheckoutState::Closed));
    gateway.on_checkout(GatewayBehavior::Refuse);
    let refused = client.post_empty(&format!("{order}/checkout")).expect(502);
    let document = Document::of(&server);
    document.check(&document.operation("renew_checkout"), &refused);
    assert_eq!(refused.problem()["type"], "urn:ticketing:problem:payment-gateway-failed");
    assert!(!refused.text().contains("blocked"), "{}", refused.text());
    assert_eq!(client.get(&order).expect(200).json()["status"], "PENDING");
    gateway.on_checkout(GatewayBehavior::Succeed);
    assert_eq!(client.post_empty(&format!("{order}/checkout")).expect(200).json()["renewed"], true);
}

#[test]
fn the_checkout_page_redirects_to_the_urls_of_the_order() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let urls = json!({
        "success": "https://shop.example/thanks?a=1", "failure": "https://shop.example/sorry",
        "cancel": "https://shop.example/bye",
    });
    for outcome in ["success", "failure", "cancel"] {
        let mut order = order_of(&event, &ticket_type, 1);
        order["checkoutRedirectUrls"] = urls.clone();
        let created = client.post("/v1/orders", &order).expect(201).json();
        let page = path_of(created["checkoutUrl"].as_str().unwrap());
        let response = submit(&mut client, &page, outcome).expect(303);
        assert_eq!(response.header("location"), urls[outcome].as_str());
    }
}

#[test]
fn the_checkout_page_shows_the_event_the_order_and_amounts_that_add_up() {
    let clock = ManualClock::new("2026-06-01T12:00:00Z".parse().unwrap());
    let server = Server::with(|builder| builder.sandbox_gateway().clock(clock.clone()), |_| {});
    let mut client = server.client();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "2026-07-01T22:30:00Z",
        "timezone": "Europe/Berlin", "location": "Riverside <Park>", "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = http::id(&client.post("/v1/events", &event).expect(201));
    let path = format!("/v1/events/{event}/ticket-types");
    let seat = http::id(&client.post(&path, &json!({"name": "Seat", "price": 12.5, "quantity": 100})).expect(201));
    let lounge = json!({"name": "Lounge", "price": 1199.99, "quantity": 100});
    let lounge = http::id(&client.post(&path, &lounge).expect(201));
    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "FIXED_AMOUNT", "value": 122.5,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "2030-01-01T00:00:00Z",
    });
    client.post("/v1/discounts", &discount).expect(201);
    let mut order = order_of(&event, &seat, 2);
    order["items"].as_array_mut().unwrap().push(json!({"ticketId": lounge, "quantity": 1}));
    order["discountCode"] = json!("EARLY");
    let created = client.post("/v1/orders", &order).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());

    // 2 x 12.50 + 1,199.99 - 122.50 = 1,102.49. In Berlin it is summer: two hours ahead of UTC.
    let shown = client.get(&page).expect(200);
    let number = created["order"]["id"].as_str().unwrap().strip_prefix("order_").unwrap();
    for text in [
        "Thursday, 2 July 2026, 00:30",
        "Berlin, UTC+2",
        "Riverside &#60;Park&#62;",
        "<span>Seat <small>2 × €12.50</small></span> <b>€25.00</b>",
        "<span>Lounge <small>1 × €1,199.99</small></span> <b>€1,199.99</b>",
        "<span>Discount EARLY</span> <b>−€122.50</b>",
        "<span>Total</span> <b>€1,102.49</b>",
        &format!("<footer>Order {number}</footer>"),
        // The hold lasts 30 minutes.
        "Reserved for 30 more minutes",
    ] {
        assert!(shown.text().replace('\u{A0}', " ").contains(text), "{text}: {}", shown.text());
    }
    clock.advance(Duration::from_mins(30));
    let expired = client.get(&page).expect(200);
    assert!(expired.text().contains("Expired") && expired.text().contains(number), "{}", expired.text());
    assert!(!expired.text().contains("Reserved for"), "{}", expired.text());
}

#[cfg(feature = "documents")]
#[test]
fn whoever_has_paid_finds_the_tickets_and_the_checkout_speaks_the_language_of_the_order() {
    let server = Server::with(
        |builder| builder.sandbox_gateway().ticket_documents(ticketing::documents::TicketDocuments::default()),
        |_| {},
    );
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut order = order_of(&event, &ticket_type, 2);
    order["language"] = json!("de");
    let created = client.post("/v1/orders", &order).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    let mut customer = server.client_with("");
    let open = customer.get(&page).expect(200);
    assert!(open.text().contains("25,00\u{A0}€ bezahlen") && !open.text().contains("Tickets anzeigen"));
    submit(&mut customer, &page, "success").expect(303);
    let paid = customer.get(&page).expect(200);
    let details = format!("/v1/orders/{}/details", created["order"]["id"].as_str().unwrap());
    let details = client.get(&details).expect(200).json();
    let tickets = details["documentsUrl"].as_str().unwrap();
    assert!(paid.text().contains(&format!("<a href=\"{tickets}\">Tickets anzeigen</a>")), "{}", paid.text());
    assert_eq!(customer.get(&path_of(tickets)).expect(200).text().matches("<svg ").count(), 2);
    // The control: without ticket documents there is no such page.
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    submit(&mut client, &page, "success").expect(303);
    assert!(!client.get(&page).expect(200).text().contains("<nav"));
}

#[test]
fn browsers_get_a_page_for_unknown_paths_and_programs_a_problem() {
    let server = Server::start();
    let mut client = server.client_with("");
    for (method, path) in [("GET", "/nothing"), ("GET", "/checkout/a/b"), ("POST", "/")] {
        let page = client.send(method, path, &["Accept: text/html,*/*;q=0.8", "Accept-Language: nl"], b"").expect(404);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'; "));
        assert!(page.text().contains("<h1>We kunnen deze pagina niet vinden</h1>"), "{}", page.text());
        assert_eq!(client.get(path).expect(404).problem()["status"], 404);
    }
    // Below /v1, everybody is a program.
    let unknown = client.send("GET", "/v1/nothing", &["Accept: text/html"], b"").expect(401);
    assert_eq!(unknown.header("content-type"), Some("application/problem+json"));
}

#[test]
fn the_root_tells_a_browser_in_its_language_what_the_server_is() {
    let server = Server::start();
    let mut client = server.client_with("");
    for (language, title, link) in [
        ("en", "Ticketing server", "API documentation"),
        ("de-AT", "Ticketserver", "API-Dokumentation"),
        ("fr", "Serveur de billetterie", "Documentation de l’API"),
        ("es", "Servidor de entradas", "Documentación de la API"),
        ("it", "Server di biglietteria", "Documentazione dell’API"),
        ("nl", "Ticketserver", "API-documentatie"),
    ] {
        let headers = [&*format!("Accept-Language: {language}"), "Accept: text/html,*/*;q=0.8"];
        let page = client.send("GET", "/", &headers, b"").expect(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'; "));
        assert!(page.text().contains(&format!("<h1>{title}</h1>")), "{}", page.text());
        let links = page.text().matches("<a href=\"").count();
        assert_eq!(links, 2, "{}", page.text());
        assert!(page.text().contains(&format!("<a href=\"/docs\">{link}</a>")), "{}", page.text());
        assert!(page.text().contains("<a href=\"/door/\">"), "{}", page.text());
    }
}

#[test]
fn a_checkout_link_with_something_appended_leads_to_the_checkout() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    let token = page.rsplit('/').next().unwrap();
    for (end, location) in [("/", format!("../{token}")), (".", token.to_owned()), (",", token.to_owned())] {
        let moved = client.get(&format!("{page}{end}")).expect(308);
        assert_eq!(moved.header("location"), Some(location.as_str()));
    }
}

#[test]
fn the_checkout_page_runs_no_script_and_loads_no_resource() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let with_script = json!({"name": "<script>alert('x')</script>", "price": 1, "quantity": 5});
    let ticket_type = http::id(&client.post(&format!("/v1/events/{event}/ticket-types"), &with_script).expect(201));
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = client.get(&path_of(created["checkoutUrl"].as_str().unwrap())).expect(200);
    assert!(page.text().contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;"));
    // The icon is part of the page, so that browsers do not ask for /favicon.ico.
    let (before_icon, rest) = page.text().split_once("<link rel=\"icon\" href=\"data:image/svg+xml,").unwrap();
    let (_, after_icon) = rest.split_once("\">").unwrap();
    for forbidden in ["<script", "src=", "href=", "url(", "@import"] {
        assert!(!before_icon.contains(forbidden) && !after_icon.contains(forbidden), "{forbidden}");
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(policy.contains("; img-src data:; ") && !policy.contains("http"), "{policy}");
    assert!(!policy.contains("form-action"), "form-action would block the redirect to the order's URL");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

#[test]
fn unknown_checkouts_and_invalid_outcomes_get_an_error_page() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    for body in ["", "outcome=", "outcome=paid", "outcome=success&outcome=cancel", "outcome=%zz", "other=success"] {
        let response =
            client.send("POST", &page, &["Content-Type: application/x-www-form-urlencoded"], body.as_bytes());
        assert_eq!(
            (response.status, response.header("content-type")),
            (400, Some("text/html; charset=utf-8")),
            "{body}"
        );
    }
    for path in ["/checkout/nothing", "/checkout/%FF", "/checkout/%00"] {
        let response = client.get(path);
        assert_eq!(
            (response.status, response.header("content-type")),
            (404, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert_eq!(submit(&mut client, path, "success").status, 404);
    }
    assert_eq!(client.delete(&page).expect(405).header("allow"), Some("GET,HEAD,POST"));
    assert_eq!(
        client.get(&format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap())).json()["status"],
        "PENDING"
    );
}

#[test]
fn a_form_has_at_most_4_kib() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
    let page = path_of(created["checkoutUrl"].as_str().unwrap());
    let form = |length: usize| format!("{:a<length$}", "outcome=failure&x=");
    let send = |client: &mut Client, form: &str| client.send("POST", &page, &[], form.as_bytes());
    send(&mut client, &form(4097)).expect(413);
    // Without a Content-Length, the form is refused as soon as it has too many bytes.
    let mut chunked = server.client_with("");
    let head = format!("POST {page} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    chunked.write(format!("{head}1001\r\n{}\r\n", form(4097)).as_bytes());
    assert_eq!(chunked.read_response().unwrap().status, 413);
    send(&mut client, &form(4096)).expect(303);
}

#[test]
fn a_form_for_an_unknown_checkout_is_refused_before_it_has_arrived() {
    let server = Server::start();
    let mut client = server.client_with("");
    client.write(b"POST /checkout/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\noutcome=");
    assert_eq!(client.read_response().unwrap().status, 404);
}
