//! Input that no operation accepts: bytes that are not JSON, wrong content types, malformed ids and paths, invalid
//! query strings, wildcards in searches, and invalid request ids.

use serde_json::{Value, json};

use crate::common::http::{self, EventOnSale, Server, event_on_sale, id, order_of};
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
fn a_content_type_that_is_not_json_is_refused_before_the_body_is_parsed() {
    let server = server();
    let mut client = server.client();
    for (number, types) in [
        &["Content-Type: application/json ; charset=UTF-8"][..],
        &["content-type:application/json;charset=\"utf-8\";x=y"],
        &["Content-Type: application/json;"],
        &["Content-Type:\tapplication/json\t"],
    ]
    .into_iter()
    .enumerate()
    {
        let body = new_event("Jazz", &format!("jazz-{number}")).to_string();
        client.send("POST", "/v1/events", types, body.as_bytes()).expect(201);
    }
    let long = format!("Content-Type: application/json{}", "x".repeat(5000));
    for types in [
        &[][..],
        &["Content-Type:"],
        &["Content-Type: application/json", "Content-Type: application/json"],
        &["Content-Type: application/json", "Content-Type: text/plain"],
        &["Content-Type: text/plain", "Content-Type: application/json"],
        &["Content-Type: application/json, text/plain"],
        &["Content-Type: text/json"],
        &["Content-Type: application/json5"],
        &["Content-Type: application/merge-patch+json"],
        &["Content-Type: application /json"],
        &["Content-Type: \"application/json\""],
        &["Content-Type: ;application/json"],
        &["Content-Type: multipart/form-data; boundary=application/json"],
        &["Content-Type: application/jsön"],
        &[&long],
    ] {
        let response = client.send("POST", "/v1/events", types, b"\xff\xff");
        assert_eq!((response.status, response.code().as_str()), (415, "unsupported-media-type"), "{types:?}");
    }
    assert_eq!(client.get("/v1/events").json()["data"].as_array().unwrap().len(), 4);
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
    ] {
        client.get(path).expect(404);
    }
    server.service.run_maintenance().expect("a run");
    assert_eq!(client.get(&format!("/v1/events/{event}")).expect(200).json()["pageViews"], 0);
}

#[test]
fn every_invalid_query_parameter_is_reported() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let other_key = http::other_organization_key(&server.service);
    let others_event = id(&server.client_with(&other_key).post("/v1/events", &new_event("Jazz", "jazz")).expect(201));
    let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"].clone();
    let order = order["id"].as_str().unwrap();
    let invalid_cursors =
        ["", "0", "null", "%00", "%20", order, &ticket_type, &others_event, "event_0000000000001", "event_"];
    for cursor in invalid_cursors {
        assert_eq!(client.get(&format!("/v1/events?cursor={cursor}")).paths(), ["cursor"], "{cursor}");
    }
    for limit in [
        "0",
        "-1",
        "101",
        "1.5",
        "",
        "+5",
        "1e1e1",
        "0x10",
        "ten",
        "1e30",
        "1e400",
        "%00",
        "5%00",
        "%20",
        "5%20",
        "%EF%BC%95",
    ] {
        assert_eq!(client.get(&format!("/v1/events?limit={limit}")).paths(), ["limit"], "{limit}");
    }
    for limit in ["1", "100", "1e1", "10.0", "010"] {
        client.get(&format!("/v1/events?limit={limit}")).expect(200);
    }
    for (path, query, invalid) in [
        ("events", "limit=1&limit=1", &["limit"][..]),
        ("events", "q=a&q=b&isPublic=true&isPublic=true", &["isPublic", "q"]),
        (
            "events",
            "status=published&isPublic=1&startsFrom=now&startsBefore=",
            &["isPublic", "startsBefore", "startsFrom", "status"],
        ),
        ("events", "q=%00&limit=0&cursor=x", &["cursor", "limit", "q"]),
        (
            "orders",
            "eventId=%00&customerEmail=%00&status=&createdFrom=1&createdBefore=2026-01-01T00:00:00%2B00:00",
            &["createdBefore", "createdFrom", "customerEmail", "eventId", "status"],
        ),
        (
            "tickets",
            "eventId=&ticketId=&orderId=&status=CHECKED&customerEmail=%00",
            &["customerEmail", "eventId", "orderId", "status", "ticketId"],
        ),
        ("discounts", "eventId=&code=%00&isActive=yes", &["code", "eventId", "isActive"]),
        ("webhooks", "limit=101&cursor=%00", &["cursor", "limit"]),
        (
            "webhooks/webhook_0000000000001/deliveries",
            "success=1&eventType=order.completed&cursor=x",
            &["cursor", "eventType", "success"],
        ),
    ] {
        let mut reported = client.get(&format!("/v1/{path}?{query}")).paths();
        reported.sort_unstable();
        assert_eq!(reported, invalid, "{path}?{query}");
    }
    for query in ["q=%", "%=q", "q=%c3", "q=%ff", "q=%u0041", "limit=1&q=%zz", "%00%ff=1"] {
        for path in ["events", "orders", "tickets", "discounts", "webhooks"] {
            let response = client.get(&format!("/v1/{path}?{query}"));
            assert_eq!((response.status, response.code().as_str()), (400, "malformed-request"), "{path}?{query}");
        }
    }
    for (query, unknown) in [
        ("%00=1", &["\0"][..]),
        ("Limit=0", &["Limit"]),
        ("limit%5B%5D=0", &["limit[]"]),
        ("unknown=%00", &["unknown"]),
        ("=", &[""]),
        ("LIMIT=0&CURSOR=x", &["LIMIT", "CURSOR"]),
        ("$where=1", &["$where"]),
    ] {
        assert_eq!(client.get(&format!("/v1/events?{query}")).paths(), unknown, "{query}");
    }
    client.get("/v1/events?&&&").expect(200);
    // A filter that is valid but matches nothing returns an empty page.
    for query in ["eventId=event_0000000000001", "eventId=nothing", "customerEmail=%25@example.com"] {
        assert_eq!(client.get(&format!("/v1/orders?{query}")).expect(200).json()["data"], json!([]), "{query}");
    }
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

#[test]
fn a_search_has_no_wildcards() {
    let server = server();
    let mut client = server.client();
    let titles = [
        "100% Jazz",
        "1000 Jazz",
        "Rock_Pop",
        "Rock Pop",
        "RockxPop",
        "Wow! 50",
        "Wow 50",
        "Back\\slash",
        "Backslash",
        "It's [a-z]* ?",
        "Its a",
        "Straße",
        "\u{202e}right",
        "ẞtra",
    ];
    for (number, title) in titles.iter().enumerate() {
        client.post("/v1/events", &new_event(title, &format!("n{number}"))).expect(201);
    }
    for (q, expected) in [
        ("%", &["100% Jazz"][..]),
        ("100%", &["100% Jazz"]),
        ("%jazz", &[]),
        ("_", &["Rock_Pop"]),
        ("rock_pop", &["Rock_Pop"]),
        ("k_p", &["Rock_Pop"]),
        ("!", &["Wow! 50"]),
        ("!%", &[]),
        ("!_", &[]),
        ("\\", &["Back\\slash"]),
        ("\\%", &[]),
        ("back\\s", &["Back\\slash"]),
        ("'", &["It's [a-z]* ?"]),
        ("[a-z]", &["It's [a-z]* ?"]),
        ("*", &["It's [a-z]* ?"]),
        ("?", &["It's [a-z]* ?"]),
        ("' OR ''='", &[]),
        ("STRASSE", &["Straße"]),
        ("STRAßE", &["Straße"]),
        ("\u{202e}", &["\u{202e}right"]),
        // The title and the slug are searched separately.
        ("jazz n", &[]),
    ] {
        let found = client.get(&format!("/v1/events?limit=100&q={}", percent_encoded(q.as_bytes()))).expect(200).json();
        let found: Vec<_> = found["data"].as_array().unwrap().iter().map(|event| event["title"].clone()).collect();
        assert_eq!(found, expected, "{q:?}");
    }
    assert_eq!(client.get(&format!("/v1/events?q={}", "a".repeat(101))).paths(), ["q"]);
    client.get(&format!("/v1/events?q={}", "%25".repeat(100))).expect(200);
}

#[test]
fn an_invalid_request_id_is_replaced() {
    let server = server();
    let mut client = server.client();
    for id in ["a b", "a\tb", "ä", "\u{202e}", "a\u{7f}", "a,\u{a0}b"] {
        let response = client.send("GET", "/v1/events/nothing", &[&format!("X-Request-Id: {id}")], b"");
        match response.status {
            404 => {
                let generated = response.header("x-request-id").unwrap();
                assert!(generated.len() == 32 && generated.bytes().all(|byte| byte.is_ascii_hexdigit()), "{generated}");
                assert_eq!(response.problem()["requestId"], generated);
            }
            // hyper rejects the header and closes the connection.
            status => {
                assert_eq!(status, 400, "{id:?}");
                client = server.client();
            }
        }
    }
    let twice = ["X-Request-Id: first", "X-Request-Id: second"];
    let response = client.send("GET", "/v1/events/nothing", &twice, b"").expect(404);
    assert_eq!(response.problem()["requestId"], response.header("x-request-id").unwrap());
    let markup = "\"}<script>\\";
    let response = client.send("GET", "/v1/events/nothing", &[&format!("X-Request-Id: {markup}")], b"").expect(404);
    assert_eq!(
        (response.header("x-request-id"), response.problem()["requestId"].as_str()),
        (Some(markup), Some(markup))
    );
}
