//! Bodies that are wrong in every way there is, alone and together, for every operation that takes one: what they are
//! answered with is known beforehand, nothing is written for what is refused, and nothing breaks.

use crate::common::http::{Client, Response, Server, event_on_sale, id, order_of};
use crate::common::log;
use crate::common::outbox;
use crate::shapes::{
    DISCOUNT_FIELDS, EVENT_FIELDS, ISSUE_FIELDS, ORDER_FIELDS, SCAN_FIELDS, SETTINGS_FIELDS, TICKET_TYPE_FIELDS,
    VALIDATE_FIELDS, WEBHOOK_FIELDS,
};
use crate::values::{Body, Field, Maker, mutated, nested, quoted};
use serde_json::json;

/// How many bodies are made for an operation from its shape, and how many of changed bytes.
const MADE: usize = 700;
const MUTATED: usize = 150;

const JSON: &[&str] = &["Content-Type: application/json"];

/// One operation: where it is, what it takes, and what it answers where nothing is wrong.
struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    fields: &'static [Field],
    success: u16,
}

/// A server with things in it, and what they are called.
struct Shop {
    server: Server,
    event: String,
    /// A ticket type at 12.50, and one that costs nothing, of ten million each.
    seat: String,
    free: String,
    /// Of the same organization, and with nothing in it.
    other: String,
    discount: String,
}

impl Shop {
    fn open() -> Self {
        log::capture();
        let server = Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None);
        let mut client = server.client();
        let (event, seat) = event_on_sale(&mut client, "summer-night");
        client.patch(&format!("/v1/events/{event}"), &json!({"acceptsCompany": true})).expect(200);
        client.patch(&format!("/v1/ticket-types/{seat}"), &json!({"quantity": 1e7, "maxPerOrder": 100})).expect(200);
        let free = json!({"name": "Free", "price": 0, "quantity": 1e7, "maxPerOrder": 100});
        let free = id(&client.post(&format!("/v1/events/{event}/ticket-types"), &free).expect(201));
        let (other, _) = event_on_sale(&mut client, "other");
        let discount = json!({
            "eventId": event, "code": "ALWAYS", "type": "PERCENTAGE", "value": 50,
            "validFrom": "2000-01-01T00:00:00Z", "validTo": "9999-01-01T00:00:00Z",
        });
        let discount = id(&client.post("/v1/discounts", &discount).expect(201));
        Self { server, event, seat, free, other, discount }
    }

    /// Sends what was made for the operation, and asserts that each is answered as it must be. Gives how many were
    /// taken.
    fn attack(&self, seed: u64, operation: &Operation<'_>) -> usize {
        let names = [("$event", self.event.as_str()), ("$seat", &self.seat), ("$free", &self.free)];
        let mut maker = Maker::new(seed, &names);
        let mut client = self.server.client();
        let update = operation.method == "PATCH";
        let (mut taken, mut secrets) = (0, Vec::new());
        for _ in 0..MADE {
            let Body { text, wrong } = maker.any(operation.fields, update);
            let answer = client.send(operation.method, operation.path, JSON, text.as_bytes());
            match wrong {
                None => assert_eq!((answer.status, answer.code().as_str()), (400, "malformed-request"), "{text}"),
                Some(wrong) if wrong.is_empty() => {
                    assert_eq!(answer.status, operation.success, "{text}: {}", answer.text());
                    taken += 1;
                    secrets_of(&answer, &mut secrets);
                }
                Some(wrong) => {
                    assert_eq!(answer.status, 422, "{wrong:?}: {text}: {}", answer.text());
                    let mut told = answer.paths();
                    told.sort_unstable();
                    assert_eq!(told, wrong, "{text}");
                }
            }
        }
        maker.assert_tried(operation.fields);
        assert!(taken > MADE / 10, "{taken} of {MADE}");
        for _ in 0..MUTATED {
            let text = maker.good(operation.fields, update);
            let bytes = mutated(&mut maker.random, &text);
            let answer = client.send(operation.method, operation.path, JSON, &bytes);
            taken += usize::from(is_taken(&answer, operation, &bytes));
        }
        let known = [self.server.key.as_str(), "ada@example.com", "ADA@", "@example.org"];
        let some = secrets.iter().map(String::as_str).take(50);
        log::capture().assert_clean(&known.into_iter().chain(some).collect::<Vec<_>>());
        taken
    }

    /// The path of a new webhook endpoint.
    fn webhook(&self) -> String {
        let webhook = json!({"url": "https://example.com/hook", "events": ["ticket.issued"]});
        format!("/v1/webhooks/{}", id(&self.server.client().post("/v1/webhooks", &webhook).expect(201)))
    }

    /// How many things a list holds.
    fn count(&self, path: &str) -> usize {
        let (mut client, mut cursor, mut count) = (self.server.client(), String::new(), 0);
        loop {
            let page = client.get(&format!("{path}?limit=100{cursor}")).expect(200).json();
            count += page["data"].as_array().unwrap().len();
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return count,
            }
        }
    }

    /// How often a thing was changed.
    fn revision(&self, path: &str) -> usize {
        let answer = self.server.client().get(path).expect(200);
        answer.header("etag").unwrap().trim_matches('"').parse().unwrap()
    }

    /// Attacks an operation that makes things, which a list shows.
    fn attack_create(&self, seed: u64, operation: &Operation<'_>, list: &str) {
        let before = self.count(list);
        let taken = self.attack(seed, operation);
        assert_eq!(self.count(list), before + taken, "what was refused left nothing behind");
    }

    /// Attacks an operation that changes the thing at `path`.
    fn attack_update(&self, seed: u64, operation: &Operation<'_>, path: &str) {
        let before = self.revision(path);
        let taken = self.attack(seed, operation);
        assert_eq!(self.revision(path), before + taken, "what was refused changed nothing");
    }
}

/// The codes of tickets, the token of the checkout and the secret in an answer.
fn secrets_of(answer: &Response, secrets: &mut Vec<String>) {
    if ![200, 201].contains(&answer.status) {
        return;
    }
    let answer = answer.json();
    let link = answer["checkoutUrl"].as_str().and_then(|link| link.rsplit_once('/'));
    secrets.extend(link.map(|(_, token)| token.to_owned()));
    let tickets = answer["issuedTickets"].as_array().into_iter().flatten();
    secrets.extend(answer["secret"].as_str().map(str::to_owned));
    secrets.extend(tickets.filter_map(|ticket| ticket["code"].as_str()).map(str::to_owned));
}

/// Asserts that an answer is one that there is, and says whether something was done.
fn is_taken(answer: &Response, operation: &Operation<'_>, bytes: &[u8]) -> bool {
    match answer.status {
        status if status == operation.success => status < 300,
        400 | 404 | 409 | 422 => {
            answer.problem();
            false
        }
        _ => panic!("{}: {}: {}", answer.status, String::from_utf8_lossy(bytes), answer.text()),
    }
}

const fn post<'a>(path: &'a str, fields: &'static [Field], success: u16) -> Operation<'a> {
    Operation { method: "POST", path, fields, success }
}

const fn patch<'a>(path: &'a str, fields: &'static [Field]) -> Operation<'a> {
    Operation { method: "PATCH", path, fields, success: 200 }
}

#[test]
fn a_new_event_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack_create(1, &post("/v1/events", EVENT_FIELDS, 201), "/v1/events");
}

#[test]
fn an_events_update_is_wrong_in_every_way() {
    let shop = Shop::open();
    // Nothing in it has a price: its currency may change.
    let event =
        json!({"title": "Jazz", "slug": "jazz", "startDate": "9000-01-01T00:00:00Z", "deliveryMethod": "DIGITAL"});
    let path = format!("/v1/events/{}", id(&shop.server.client().post("/v1/events", &event).expect(201)));
    shop.attack_update(2, &patch(&path, EVENT_FIELDS), &path);
}

#[test]
fn an_events_settings_are_wrong_in_every_way() {
    let shop = Shop::open();
    let path = format!("/v1/events/{}", shop.event);
    shop.attack_update(3, &patch(&format!("{path}/settings"), SETTINGS_FIELDS), &path);
}

#[test]
fn a_new_ticket_type_is_wrong_in_every_way() {
    let shop = Shop::open();
    let path = format!("/v1/events/{}/ticket-types", shop.event);
    shop.attack_create(4, &post(&path, TICKET_TYPE_FIELDS, 201), &path);
}

#[test]
fn a_ticket_types_update_is_wrong_in_every_way() {
    let shop = Shop::open();
    let path = format!("/v1/ticket-types/{}", shop.seat);
    shop.attack_update(5, &patch(&path, TICKET_TYPE_FIELDS), &path);
}

#[test]
fn a_new_order_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack_create(6, &post("/v1/orders", ORDER_FIELDS, 201), "/v1/orders");
}

#[test]
fn an_issue_of_tickets_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack(7, &post("/v1/tickets/issue", ISSUE_FIELDS, 201));
}

#[test]
fn a_scan_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack(8, &post("/v1/tickets/check-in", SCAN_FIELDS, 404));
    shop.attack(9, &post("/v1/tickets/check-out", SCAN_FIELDS, 404));
}

#[test]
fn a_new_discount_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack_create(10, &post("/v1/discounts", DISCOUNT_FIELDS, 201), "/v1/discounts");
}

#[test]
fn a_discounts_update_is_wrong_in_every_way() {
    let shop = Shop::open();
    let path = format!("/v1/discounts/{}", shop.discount);
    // Its event is not named: it is one more field that nobody reads.
    shop.attack_update(11, &patch(&path, DISCOUNT_FIELDS.split_at(1).1), &path);
}

#[test]
fn a_validation_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack(12, &post("/v1/discounts/validate", VALIDATE_FIELDS, 200));
}

#[test]
fn a_new_webhook_endpoint_is_wrong_in_every_way() {
    let shop = Shop::open();
    shop.attack_create(13, &post("/v1/webhooks", WEBHOOK_FIELDS, 201), "/v1/webhooks");
}

#[test]
fn a_webhook_endpoints_update_is_wrong_in_every_way() {
    let shop = Shop::open();
    let path = shop.webhook();
    shop.attack_update(14, &patch(&path, WEBHOOK_FIELDS), &path);
}

#[test]
fn an_operation_without_a_body_takes_any_object_and_nothing_else() {
    let shop = Shop::open();
    let mut client = shop.server.client();
    let order = id_of_order(&client.post("/v1/orders", &order_of(&shop.event, &shop.seat, 1)).expect(201));
    let webhook = shop.webhook();
    let guest = json!({"ticketId": shop.seat, "quantity": 1, "customer": {"name": "Ada", "email": "ada@example.com"}});
    let issued = client.post("/v1/tickets/issue", &guest).expect(201).json();
    let ticket = issued["issuedTickets"][0]["id"].as_str().unwrap();
    let database = shop.server.database();
    outbox::record_attempt(&database, outbox::rows(&database)[0].id, 1, None);
    let deliveries = client.get(&format!("{webhook}/deliveries")).expect(200).json();
    let operations = [
        (format!("/v1/events/{}/page-views", shop.event), 204),
        (format!("/v1/orders/{order}/reminder-sent"), 200),
        (format!("/v1/orders/{order}/mark-paid"), 200),
        (format!("/v1/orders/{order}/cancel"), 200),
        (format!("/v1/tickets/{ticket}/cancel"), 200),
        (format!("{webhook}/rotate-secret"), 200),
        (format!("{webhook}/deliveries/{}/resend", deliveries["data"][0]["id"].as_str().unwrap()), 202),
    ];
    let resources = [
        format!("/v1/events/{}", shop.event),
        format!("/v1/orders/{order}"),
        format!("/v1/tickets/{ticket}"),
        webhook.clone(),
    ];
    let before = resources.each_ref().map(|path| client.get(path).expect(200).json());
    for (path, _) in &operations {
        for body in ["[]", "[{}]", "null", "\"\"", "\"{}\"", "0", "-0", "1e308", "true", &nested(64)] {
            assert_eq!(client.send("POST", path, JSON, body.as_bytes()).paths(), [""], "{path} {body}");
        }
        for body in [" ", "{", "}", "{}{}", "{\"a\":1e400}", "{\"a\":\"\\ud800\"}", "\u{feff}{}", "{}\0", &nested(65)] {
            let answer = client.send("POST", path, JSON, body.as_bytes()).expect(400);
            assert_eq!(answer.code(), "malformed-request", "{path} {body:?}");
        }
    }
    assert_eq!(resources.each_ref().map(|path| client.get(path).expect(200).json()), before, "nothing was done");
    let unread = format!("{{\"a\":{},\"a\":2,\"\\u0000\":null,\"status\":\"DRAFTED\"}}", nested(63));
    for (path, status) in &operations {
        client.send("POST", path, JSON, unread.as_bytes()).expect(*status);
    }
}

fn id_of_order(answer: &Response) -> String {
    answer.json()["order"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_as_long_as_may_be_is_kept_whole_or_refused() {
    let shop = Shop::open();
    let mut client = shop.server.client();
    let event = |client: &mut Client, title: &str, slug: &str| {
        let body = format!(
            "{{\"title\":{},\"slug\":{},\"startDate\":\"9000-01-01T00:00:00Z\",\"deliveryMethod\":\"DIGITAL\"}}",
            quoted(title),
            quoted(slug)
        );
        client.send("POST", "/v1/events", JSON, body.as_bytes())
    };
    let (long, slug) = ("\u{202e}ä\"\\\u{1}🎷".repeat(10_000), "a-".repeat(50_000) + "a");
    let made = event(&mut client, &long, &slug).expect(201).json();
    assert!(made["title"] == long.as_str() && made["slug"] == slug.as_str());
    assert_eq!(event(&mut client, &long, &slug).expect(409).json()["reason"], "slug-taken");
    assert_eq!(event(&mut client, &long, &(slug + "-")).paths(), ["slug"]);
    // A number is a number, however many digits it is written with.
    let path = format!("/v1/ticket-types/{}", shop.seat);
    for (digits, kept) in [("0".repeat(100_000), 0.0), (format!("5{}", "0".repeat(100_000)), 0.5)] {
        let body = format!("{{\"price\":0.{digits}}}");
        assert_eq!(client.send("PATCH", &path, JSON, body.as_bytes()).expect(200).json()["price"], kept);
    }
    let many_digits = format!("{{\"price\":1{}e-100000}}", "0".repeat(100_000));
    assert_eq!(client.send("PATCH", &path, JSON, many_digits.as_bytes()).expect(200).json()["price"], 1);
    let addresses = format!("{}@example.com", "a".repeat(100_000));
    let guest = json!({"ticketId": shop.seat, "quantity": 1, "customer": {"name": "A", "email": addresses}});
    assert_eq!(client.post("/v1/tickets/issue", &guest).paths(), ["customer.email"]);
    let scan = json!({"code": "A".repeat(1_000_000)});
    client.post("/v1/tickets/check-in", &scan).expect(404);
}

#[test]
fn lists_of_ten_thousand_are_judged_entry_by_entry() {
    let shop = Shop::open();
    let mut client = shop.server.client();
    let many = |entry: &str| format!("[{}]", vec![entry; 10_000].join(","));
    let paths = |list: &str| -> Vec<String> { (0..10_000).map(|at| format!("{list}[{at}]")).collect() };
    let path = format!("/v1/events/{}/settings", shop.event);
    let tags = client.send("PATCH", &path, JSON, format!("{{\"tags\":{}}}", many("\"x\"")).as_bytes()).expect(200);
    assert_eq!(tags.json()["tags"].as_array().unwrap().len(), 10_000);
    let tags = client.send("PATCH", &path, JSON, format!("{{\"tags\":{}}}", many("0")).as_bytes());
    assert_eq!(tags.paths(), paths("tags"));
    let order = |items: &str| {
        let (event, customer) = (&shop.event, "{\"name\":\"Ada\",\"email\":\"ada@example.com\"}");
        format!("{{\"eventId\":\"{event}\",\"customer\":{customer},\"items\":{items}}}")
    };
    let item = format!("{{\"ticketId\":\"{}\",\"quantity\":1}}", shop.seat);
    let refused = client.send("POST", "/v1/orders", JSON, order(&many(&item)).as_bytes()).expect(409);
    assert_eq!(refused.json()["reason"], "max-per-order-exceeded");
    let refused = client.send("POST", "/v1/orders", JSON, order(&many("[]")).as_bytes());
    assert_eq!(refused.paths(), paths("items"));
    // Every one is told, and none is compared with every other: that would take longer than this client waits.
    let a_hundred_thousand = format!("[0{}]", ",0".repeat(100_000));
    let body = format!("{{\"applicableTicketTypes\":{a_hundred_thousand}}}");
    let refused = client.send("PATCH", &format!("/v1/discounts/{}", shop.discount), JSON, body.as_bytes());
    assert_eq!(refused.expect(422).json()["errors"].as_array().unwrap().len(), 100_001);
    assert_eq!(shop.count("/v1/orders"), 0);
}

#[test]
fn what_a_ticket_says_beyond_all_calendars_is_no_harm_at_the_door() {
    let shop = Shop::open();
    let mut client = shop.server.client();
    let forever = json!({
        "name": "Forever", "price": 0, "quantity": 10, "validityDays": i64::MAX, "validityHours": i64::MAX,
        "sortOrder": i64::MAX,
        "allowedDates": [], "validUntil": "9999-12-31T23:59:59.999Z",
    });
    let forever = id(&client.post(&format!("/v1/events/{}/ticket-types", shop.other), &forever).expect(201));
    let guest = json!({"ticketId": forever, "quantity": 1, "customer": {"name": "Ada", "email": "ada@example.com"}});
    let issued = client.post("/v1/tickets/issue", &guest).expect(201).json();
    let code = issued["issuedTickets"][0]["code"].as_str().unwrap().to_owned();
    let let_in = client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200).json();
    assert_eq!(let_in["expiresAt"], "9999-12-31T23:59:59.999Z");
    client.post("/v1/tickets/check-out", &json!({"code": code})).expect(200);
    client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
    log::capture().assert_clean(&[&shop.server.key, &code, "ada@example.com"]);
}
