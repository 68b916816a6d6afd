//! Generated request bodies with every kind of error, alone and in combination, for each operation that has a body. The
//! server must report exactly the expected field errors, and write nothing for a rejected request.

use crate::body_fields::{
    ALLOCATION_FIELDS, DISCOUNT_FIELDS, EVENT_FIELDS, IMPORT_FIELDS, ISSUE_FIELDS, ORDER_FIELDS, SCAN_FIELDS,
    SETTINGS_FIELDS, TICKET_TYPE_FIELDS, VALIDATE_FIELDS, WEBHOOK_FIELDS,
};
use crate::body_generator::{Body, BodyGenerator, Expected, Field, Placeholder, mutated, quoted};
use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, id};
use crate::common::log;
use serde_json::json;

/// How many bodies are generated from the fields of an operation.
const GENERATED: usize = 700;
/// How many valid bodies have some of their bytes changed.
const MUTATED: usize = 150;

const JSON: &[&str] = &["Content-Type: application/json"];

struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    fields: &'static [Field],
    /// The status of the response to a valid request.
    success: u16,
    /// Whether there may only be so many of the resources that it creates. They are deleted.
    is_limited: bool,
}

/// A server, and the ids of resources.
struct Setup {
    server: Server,
    event: String,
    /// A ticket type of the event, with a price of 12.50 and ten million seats.
    ticket_type: String,
    /// A free ticket type of the event, with ten million seats.
    free: String,
    /// Another event of the same organization.
    other_event: String,
    discount: String,
}

impl Setup {
    fn new() -> Self {
        log::capture();
        let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
        let mut client = server.client();
        let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
        client.patch(&format!("/v1/events/{event}"), &json!({"acceptsCompany": true})).expect(200);
        client
            .patch(&format!("/v1/ticket-types/{ticket_type}"), &json!({"quantity": 1e7, "maxPerOrder": 100}))
            .expect(200);
        let free = json!({"name": "Free", "price": 0, "quantity": 1e7, "maxPerOrder": 100});
        let free = id(&client.post(&format!("/v1/events/{event}/ticket-types"), &free).expect(201));
        let other_event = event_on_sale(&mut client, "other").event;
        let discount = json!({
            "eventId": event, "code": "ALWAYS", "type": "PERCENTAGE", "value": 50,
            "validFrom": "2000-01-01T00:00:00Z", "validTo": "9999-01-01T00:00:00Z",
        });
        let discount = id(&client.post("/v1/discounts", &discount).expect(201));
        Self { server, event, ticket_type, free, other_event, discount }
    }

    /// Sends generated bodies to an operation, and checks the responses and the log. Returns how many requests were
    /// accepted whose resources are still there.
    fn attack(&self, seed: u64, operation: &Operation<'_>) -> usize {
        let placeholders = [
            Placeholder { name: "$event", replacement: &self.event },
            Placeholder { name: "$ticket_type", replacement: &self.ticket_type },
            Placeholder { name: "$free", replacement: &self.free },
        ];
        let mut generator = BodyGenerator::new(seed, &placeholders);
        let mut client = self.server.client();
        let is_update = operation.method == "PATCH";
        let mut accepted = 0;
        let mut deleted = 0;
        let mut secrets = Vec::new();
        for _ in 0..GENERATED {
            let Body { text, expected } = generator.random_body(operation.fields, is_update);
            let response = client.send(operation.method, operation.path, JSON, text.as_bytes());
            match expected {
                Expected::Malformed => {
                    assert_eq!(response.status, 400, "{text}");
                    assert_eq!(response.code(), "malformed-request", "{text}");
                }
                Expected::Accepted => {
                    assert_eq!(response.status, operation.success, "{text}: {}", response.text());
                    accepted += 1;
                    collect_secrets(&response, &mut secrets);
                    deleted += usize::from(operation.is_limited && delete_created(&mut client, &response));
                }
                Expected::FieldErrors(expected_paths) => {
                    assert_eq!(response.status, 422, "{expected_paths:?}: {text}: {}", response.text());
                    let mut paths = response.paths();
                    paths.sort_unstable();
                    assert_eq!(paths, expected_paths, "{text}");
                }
            }
        }
        generator.assert_all_tried(operation.fields);
        assert!(accepted > GENERATED / 10, "{accepted} of {GENERATED}");
        for _ in 0..MUTATED {
            let text = generator.valid_body(operation.fields, is_update);
            let bytes = mutated(&mut generator.random, &text);
            let response = client.send(operation.method, operation.path, JSON, &bytes);
            if is_accepted(&response, operation, &bytes) {
                accepted += 1;
                deleted += usize::from(operation.is_limited && delete_created(&mut client, &response));
            }
        }
        let known_secrets = [self.server.key.as_str(), "ada@example.com", "ADA@", "@example.org"];
        let new_secrets = secrets.iter().map(String::as_str).take(50);
        log::capture().assert_clean(&known_secrets.into_iter().chain(new_secrets).collect::<Vec<_>>());
        accepted - deleted
    }

    /// Creates a webhook endpoint and returns its path.
    fn create_webhook(&self) -> String {
        let webhook = json!({"url": "https://example.com/hook", "events": ["ticket.issued"]});
        format!("/v1/webhooks/{}", id(&self.server.client().post("/v1/webhooks", &webhook).expect(201)))
    }

    /// Returns the number of resources in a list, on all of its pages.
    fn count(&self, path: &str) -> usize {
        let mut client = self.server.client();
        let mut cursor = String::new();
        let mut count = 0;
        loop {
            let page = client.get(&format!("{path}?limit=100{cursor}")).expect(200).json();
            count += page["data"].as_array().unwrap().len();
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return count,
            }
        }
    }

    /// The revision of a resource.
    fn revision(&self, path: &str) -> usize {
        let response = self.server.client().get(path).expect(200);
        response.header("etag").unwrap().trim_matches('"').parse().unwrap()
    }

    /// Attacks an operation that creates resources, which `list` contains.
    fn attack_create(&self, seed: u64, operation: &Operation<'_>, list: &str) {
        let before = self.count(list);
        let accepted = self.attack(seed, operation);
        assert_eq!(self.count(list), before + accepted, "a rejected request created a resource");
    }

    /// Attacks an operation that updates the resource at `path`.
    fn attack_update(&self, seed: u64, operation: &Operation<'_>, path: &str) {
        let before = self.revision(path);
        let accepted = self.attack(seed, operation);
        assert_eq!(self.revision(path), before + accepted, "a rejected request changed the resource");
    }
}

/// Collects the ticket codes, the checkout token and the webhook secret in a response.
fn collect_secrets(response: &Response, secrets: &mut Vec<String>) {
    if ![200, 201].contains(&response.status) {
        return;
    }
    let body = response.json();
    let checkout_url = body["checkoutUrl"].as_str().and_then(|url| url.rsplit_once('/'));
    secrets.extend(checkout_url.map(|(_, token)| token.to_owned()));
    secrets.extend(body["secret"].as_str().map(str::to_owned));
    let tickets = body["issuedTickets"].as_array().into_iter().flatten();
    secrets.extend(tickets.filter_map(|ticket| ticket["code"].as_str()).map(str::to_owned));
}

/// Deletes the resource that a request has created. Returns true.
fn delete_created(client: &mut Client, response: &Response) -> bool {
    client.send("DELETE", response.header("location").expect("it was created"), &[], b"").expect(204);
    true
}

/// Asserts that the status is one that the operation may return, and returns whether the request was accepted.
fn is_accepted(response: &Response, operation: &Operation<'_>, bytes: &[u8]) -> bool {
    match response.status {
        status if status == operation.success => status < 300,
        400 | 404 | 409 | 422 => {
            response.problem();
            false
        }
        _ => panic!("{}: {}: {}", response.status, String::from_utf8_lossy(bytes), response.text()),
    }
}

const fn post<'a>(path: &'a str, fields: &'static [Field], success: u16) -> Operation<'a> {
    Operation { method: "POST", path, fields, success, is_limited: false }
}

const fn patch<'a>(path: &'a str, fields: &'static [Field]) -> Operation<'a> {
    Operation { method: "PATCH", path, fields, success: 200, is_limited: false }
}

#[test]
fn errors_in_a_new_event_are_reported() {
    let setup = Setup::new();
    setup.attack_create(1, &post("/v1/events", EVENT_FIELDS, 201), "/v1/events");
}

#[test]
fn errors_in_an_event_update_are_reported() {
    let setup = Setup::new();
    // The currency of this event may change, because it has no prices.
    let event =
        json!({"title": "Jazz", "slug": "jazz", "startDate": "9000-01-01T00:00:00Z", "deliveryMethod": "DIGITAL"});
    let path = format!("/v1/events/{}", id(&setup.server.client().post("/v1/events", &event).expect(201)));
    setup.attack_update(2, &patch(&path, EVENT_FIELDS), &path);
}

#[test]
fn errors_in_event_settings_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/events/{}", setup.event);
    setup.attack_update(3, &patch(&format!("{path}/settings"), SETTINGS_FIELDS), &path);
}

#[test]
fn errors_in_a_new_ticket_type_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/events/{}/ticket-types", setup.event);
    let create = Operation { is_limited: true, ..post(&path, TICKET_TYPE_FIELDS, 201) };
    setup.attack_create(4, &create, &path);
}

#[test]
fn errors_in_a_ticket_type_update_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/ticket-types/{}", setup.ticket_type);
    setup.attack_update(5, &patch(&path, TICKET_TYPE_FIELDS), &path);
}

#[test]
fn errors_in_a_new_order_are_reported() {
    let setup = Setup::new();
    setup.attack_create(6, &post("/v1/orders", ORDER_FIELDS, 201), "/v1/orders");
}

#[test]
fn errors_in_a_request_to_issue_tickets_are_reported() {
    let setup = Setup::new();
    setup.attack(7, &post("/v1/tickets/issue", ISSUE_FIELDS, 201));
}

#[test]
fn errors_in_a_new_allocation_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/ticket-types/{}/allocations", setup.ticket_type);
    setup.attack_create(15, &post(&path, ALLOCATION_FIELDS, 201), "/v1/allocations");
}

#[test]
fn errors_in_an_import_of_tickets_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/ticket-types/{}/imports", setup.ticket_type);
    setup.attack_create(16, &post(&path, IMPORT_FIELDS, 201), "/v1/allocations");
}

#[test]
fn errors_in_a_scan_are_reported() {
    let setup = Setup::new();
    setup.attack(8, &post("/v1/tickets/check-in", SCAN_FIELDS, 404));
    setup.attack(9, &post("/v1/tickets/check-out", SCAN_FIELDS, 404));
}

#[test]
fn errors_in_a_new_discount_are_reported() {
    let setup = Setup::new();
    setup.attack_create(10, &post("/v1/discounts", DISCOUNT_FIELDS, 201), "/v1/discounts");
}

#[test]
fn errors_in_a_discount_update_are_reported() {
    let setup = Setup::new();
    let path = format!("/v1/discounts/{}", setup.discount);
    // An update has no eventId, which is the first field.
    setup.attack_update(11, &patch(&path, &DISCOUNT_FIELDS[1..]), &path);
}

#[test]
fn errors_in_a_discount_validation_are_reported() {
    let setup = Setup::new();
    setup.attack(12, &post("/v1/discounts/validate", VALIDATE_FIELDS, 200));
}

#[test]
fn errors_in_a_new_webhook_endpoint_are_reported() {
    let setup = Setup::new();
    let create = Operation { is_limited: true, ..post("/v1/webhooks", WEBHOOK_FIELDS, 201) };
    setup.attack_create(13, &create, "/v1/webhooks");
}

#[test]
fn errors_in_a_webhook_endpoint_update_are_reported() {
    let setup = Setup::new();
    let path = setup.create_webhook();
    setup.attack_update(14, &patch(&path, WEBHOOK_FIELDS), &path);
}

#[test]
fn very_long_values_are_stored_completely_or_rejected() {
    let setup = Setup::new();
    let mut client = setup.server.client();
    let event = |client: &mut Client, title: &str, slug: &str| {
        let body = format!(
            "{{\"title\":{},\"slug\":{},\"startDate\":\"9000-01-01T00:00:00Z\",\"deliveryMethod\":\"DIGITAL\"}}",
            quoted(title),
            quoted(slug)
        );
        client.send("POST", "/v1/events", JSON, body.as_bytes())
    };
    // 255 characters each.
    let title = "\u{202e}ä\"\\\u{200d}".repeat(51);
    let slug = "a-".repeat(127) + "a";
    let created = event(&mut client, &title, &slug).expect(201).json();
    assert!(created["title"] == title.as_str() && created["slug"] == slug.as_str());
    assert_eq!(event(&mut client, &title, &slug).expect(409).json()["reason"], "slug-taken");
    assert_eq!(event(&mut client, &title, &(slug.clone() + "-")).paths(), ["slug"]);
    assert_eq!(event(&mut client, &(title + "🎷"), &(slug + "a")).paths(), ["title", "slug"]);
    assert_eq!(event(&mut client, &"🎷".repeat(200_000), &"a".repeat(100_000)).paths(), ["title", "slug"]);
    // Numbers may have any number of digits.
    let path = format!("/v1/ticket-types/{}", setup.ticket_type);
    for (digits, price) in [("0".repeat(100_000), 0.0), (format!("5{}", "0".repeat(100_000)), 0.5)] {
        let body = format!("{{\"price\":0.{digits}}}");
        assert_eq!(client.send("PATCH", &path, JSON, body.as_bytes()).expect(200).json()["price"], price);
    }
    let many_digits = format!("{{\"price\":1{}e-100000}}", "0".repeat(100_000));
    assert_eq!(client.send("PATCH", &path, JSON, many_digits.as_bytes()).expect(200).json()["price"], 1);
    let email = format!("{}@example.com", "a".repeat(100_000));
    let guest = json!({"ticketId": setup.ticket_type, "quantity": 1, "customer": {"name": "A", "email": email}});
    assert_eq!(client.post("/v1/tickets/issue", &guest).paths(), ["customer.email"]);
    let scan = json!({"code": "A".repeat(1_000_000)});
    assert_eq!(client.post("/v1/tickets/check-in", &scan).paths(), ["code"]);
}

#[test]
fn the_first_100_errors_are_listed_and_the_detail_says_that_there_are_more() {
    let setup = Setup::new();
    let mut client = setup.server.client();
    // The customer, and two fields of each item.
    let errors = |items: usize| 1 + 2 * items;
    let expected = |items: usize| {
        let of_item = |index| [format!("items[{index}].ticketId"), format!("items[{index}].quantity")];
        let paths = std::iter::once("customer".to_owned()).chain((0..items).flat_map(of_item));
        paths.take(100).collect::<Vec<_>>()
    };
    for items in [49, 50, 100] {
        let body = format!("{{\"eventId\":\"{}\",\"items\":[{}]}}", setup.event, vec!["{}"; items].join(","));
        let refused = client.send("POST", "/v1/orders", JSON, body.as_bytes()).expect(422);
        assert_eq!(refused.paths(), expected(items));
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        let says_more = detail.ends_with("; only the first 100 errors are listed, and there are more");
        assert_eq!(says_more, errors(items) > 100, "{detail}");
    }
    // A body of 1 MB with an error in each of 70,000 entries.
    let metadata: Vec<_> = (0..70_000).map(|number| format!("\"{number}\":0")).collect();
    let body = format!("{{\"metadata\":{{{}}}}}", metadata.join(","));
    let refused = client.send("PATCH", &format!("/v1/events/{}", setup.event), JSON, body.as_bytes()).expect(422);
    assert_eq!(refused.json()["errors"].as_array().unwrap().len(), 100);
}

#[test]
fn a_ticket_with_the_longest_validity_can_be_checked_in() {
    let setup = Setup::new();
    let mut client = setup.server.client();
    let ticket_type = json!({
        "name": "Forever", "price": 0, "quantity": 10, "validityDays": i64::MAX, "validityHours": i64::MAX,
        "sortOrder": i64::MAX,
        "allowedDates": [], "validUntil": "9999-12-31T23:59:59.999Z",
    });
    let path = format!("/v1/events/{}/ticket-types", setup.other_event);
    let ticket_type = id(&client.post(&path, &ticket_type).expect(201));
    let guest =
        json!({"ticketId": ticket_type, "quantity": 1, "customer": {"name": "Ada", "email": "ada@example.com"}});
    let issued = client.post("/v1/tickets/issue", &guest).expect(201).json();
    let code = issued["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
    let checked_in = client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200).json();
    assert_eq!(checked_in["expiresAt"], "9999-12-31T23:59:59.999Z");
    client.post("/v1/tickets/check-out", &json!({"code": code})).expect(200);
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    log::capture().assert_clean(&[&setup.server.key, &code, "ada@example.com"]);
}
