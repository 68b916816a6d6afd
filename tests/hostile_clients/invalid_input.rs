//! Input that no operation accepts: bytes that are not JSON, malformed ids and paths, and queries of random bytes.

use serde_json::{Value, json};

use crate::common::http::{EventOnSale, Server, event_on_sale, order_of};
use crate::common::log;
use crate::common::random::Random;

const JSON: &[&str] = &["Content-Type: application/json"];

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None)
}

fn new_event(title: &str, slug: &str) -> Value {
    json!({"title": title, "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

/// Percent-encodes every byte.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn a_body_that_is_not_json_is_malformed_for_every_operation() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let text = new_event("Jazz Night", "jazz").to_string();
    let utf16 = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let mut garbage = vec![
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        [b"\xff\xfe".to_vec(), utf16(u16::to_le_bytes)].concat(),
        utf16(u16::to_be_bytes),
        // The first bytes of a gzip, a zip, a PDF and a PNG file.
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00".to_vec(),
        b"PK\x03\x04".to_vec(),
        b"%PDF-1.7".to_vec(),
        b"\x89PNG\r\n\x1a\n".to_vec(),
        b"title=Jazz&slug=jazz".to_vec(),
        b"<event><title>Jazz</title></event>".to_vec(),
        b"--- \ntitle: Jazz\n".to_vec(),
        text.replace('"', "'").into_bytes(),
        text.replace("Night", "\u{0}Night").into_bytes(),
        // Invalid UTF-8: overlong, surrogate, beyond Unicode, incomplete.
        [text.as_bytes(), b"\xc0\x80"].concat(),
        text.as_bytes().iter().map(|byte| if *byte == b'J' { 0xed } else { *byte }).collect(),
        b"{\"title\":\"\xed\xa0\x80\"}".to_vec(),
        b"{\"title\":\"\xf4\x90\x80\x80\"}".to_vec(),
        b"{\"title\":\"\xc3".to_vec(),
        vec![0; 1000],
        vec![0xff; 100_000],
    ];
    garbage.extend((1..text.len()).map(|length| text.as_bytes()[..length].to_vec()));
    let mut random = Random::new(1);
    // No JSON document starts with this byte.
    garbage.extend((0..200).map(|length| [vec![b'\x80' | 1], random.bytes(length)].concat()));
    for bytes in &garbage {
        let response = client.send("POST", "/v1/events", JSON, bytes);
        assert_eq!((response.status, response.code().as_str()), (400, "malformed-request"), "{bytes:?}");
    }
    for (method, path) in [
        ("PATCH", format!("/v1/events/{event}")),
        ("PATCH", format!("/v1/events/{event}/settings")),
        ("POST", format!("/v1/events/{event}/page-views")),
        ("POST", format!("/v1/events/{event}/ticket-types")),
        ("PATCH", format!("/v1/ticket-types/{ticket_type}")),
        ("POST", "/v1/orders".to_owned()),
        ("POST", "/v1/orders/order_0000000000001/cancel".to_owned()),
        ("POST", "/v1/tickets/issue".to_owned()),
        ("POST", "/v1/tickets/check-in".to_owned()),
        ("POST", "/v1/tickets/check-out".to_owned()),
        ("POST", "/v1/discounts".to_owned()),
        ("POST", "/v1/discounts/validate".to_owned()),
        ("PATCH", "/v1/discounts/disc_0000000000001".to_owned()),
        ("POST", "/v1/webhooks".to_owned()),
        ("PATCH", "/v1/webhooks/webhook_0000000000001".to_owned()),
        ("POST", "/v1/webhooks/webhook_0000000000001/rotate-secret".to_owned()),
        ("POST", "/v1/webhooks/webhook_0000000000001/deliveries/delivery_0000000000001/resend".to_owned()),
    ] {
        for bytes in garbage.iter().step_by(20) {
            let response = client.send(method, &path, JSON, bytes);
            assert_eq!(
                (response.status, response.code().as_str()),
                (400, "malformed-request"),
                "{method} {path} {bytes:?}"
            );
        }
    }
    let events = client.get("/v1/events").json();
    assert_eq!((events["data"].as_array().unwrap().len(), &events["data"][0]["pageViews"]), (1, &json!(0)));
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn a_malformed_id_is_not_found() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"].clone();
    let order = order["id"].as_str().unwrap();
    let long = "a".repeat(7000);
    let upper = event.replacen("event", "EVENT", 1);
    let number = event.split_once('_').unwrap().1.to_owned();
    let doubled = format!("{event}{event}");
    let fullwidth = event.replace('0', "%EF%BC%90");
    let ends = [
        format!("{event}%00"),
        format!("{event}%0a"),
        format!("{event}%20"),
        format!("{event};x"),
        format!("{event}."),
    ];
    let mut ids = vec![
        "%00",
        "%ff",
        "%c3",
        "%",
        "%2",
        "%zz",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..;",
        "*",
        "%25",
        "'%20OR%201=1--",
        "null",
        "undefined",
        "0",
        "-1",
        "event_",
        "_",
        "event_zzzzzzzzzzzzz",
        "event_00000000000000",
        "%F0%9F%8E%B7",
        order,
        &ticket_type,
        &long,
        &upper,
        &number,
        &doubled,
        &fullwidth,
    ];
    ids.extend(ends.iter().map(String::as_str));
    for id in ids {
        for (method, path) in [
            ("GET", format!("/v1/events/{id}")),
            ("PATCH", format!("/v1/events/{id}")),
            ("DELETE", format!("/v1/events/{id}")),
            ("GET", format!("/v1/events/{id}/summary")),
            ("GET", format!("/v1/events/{id}/ticket-types")),
            ("POST", format!("/v1/events/{id}/page-views")),
        ] {
            let response = match method {
                "PATCH" => client.send(method, &path, JSON, b"{}"),
                _ => client.send(method, &path, &[], b""),
            };
            // Some of these do not even match a route.
            assert_eq!((response.status, response.code().as_str()), (404, "not-found"), "{method} {path}");
        }
        let anonymous = server.client_with("").get(&format!("/v1/events/{id}"));
        assert_eq!(anonymous.status, 401, "{id}");
        // A dot that a mail program has appended to a link is taken away.
        let expected = if id.ends_with('.') { 308 } else { 404 };
        assert_eq!(server.client_with("").get(&format!("/checkout/{id}")).status, expected, "{id}");
    }
    // A percent-encoded id is the id.
    client.get(&format!("/v1/events/{}", percent_encoded(event.as_bytes()))).expect(200);
    for path in [
        "/v1/../v1/events",
        "/v1/./events",
        "/v1/%2e%2e/health/live",
        "/v1/events/%2e%2e/orders",
        "/v1//events",
        "/v1/events%2f",
        "/v2/events",
        "/v1/events/",
        "/v1/events/a/b",
        "/v1/summary",
        "/metrics/",
        "//v1/events",
    ] {
        client.get(path).expect(404);
    }
    server.service.run_maintenance().expect("a run");
    assert_eq!(client.get(&format!("/v1/events/{event}")).expect(200).json()["pageViews"], 0);
}

#[test]
fn a_query_of_random_bytes_is_read_or_refused_by_the_name_of_its_parameter() {
    let server = server();
    let mut client = server.client();
    let mut random = Random::new(2);
    for _ in 0..300 {
        let length = random.below(40);
        let bytes = random.bytes(length);
        let name = random.pick(&["q", "limit", "cursor", "status", "startsFrom", "isPublic"]);
        let response = client.get(&format!("/v1/events?{name}={}", percent_encoded(&bytes)));
        match response.status {
            200 => assert!(std::str::from_utf8(&bytes).is_ok() && name == "q", "{name} {bytes:?}"),
            400 => assert!(std::str::from_utf8(&bytes).is_err(), "{name} {bytes:?}"),
            _ => assert_eq!(response.paths(), [name], "{bytes:?}"),
        }
    }
}
