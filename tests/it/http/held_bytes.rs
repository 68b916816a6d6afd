//! What clients hold that send or receive slowly: bodies of requests, responses, documents and files.
#![expect(clippy::disallowed_methods, reason = "the tests measure the timeouts of real sockets")]

use std::io::Write;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use ticketing::Builder;
use ticketing::organization::{CreateApiKey, Scope};
use ticketing::server::{ServerOptions, router};
use tower::ServiceExt;

use crate::common::Fixture;
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of, other_organization_key};
use crate::common::random::Random;

/// How many bytes of large bodies one organization may have in memory.
const MOST: usize = 64 * 1024 * 1024;

/// Longer than anything takes that the tests wait for, on any machine.
const LONG: Duration = Duration::from_mins(2);

/// A server that closes no connection because its client is slow, unless others need what it holds.
fn start() -> Server {
    start_with(|builder| builder)
}

fn start_with(configure: impl FnOnce(Builder) -> Builder) -> Server {
    Server::with(
        |builder| configure(builder.sandbox_gateway()),
        |options| {
            options.request_timeout = Duration::from_hours(1);
            options.idle_timeout = Duration::from_hours(1);
            options.rate_limit = None;
        },
    )
}

/// A PNG file of 480 kB, which cannot be compressed.
fn logo(number: u64) -> String {
    let mut random = Random::new(number);
    let mut pixels = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
    for _ in 0..400 {
        let row: Vec<u8> = (0..1200).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        pixels.write_all(&[&[0], &row[..]].concat()).unwrap();
    }
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, &kind[..], data, &crc32fast::hash(&[kind, data].concat()).to_be_bytes()].concat()
    };
    let header = [&400_u32.to_be_bytes()[..], &400_u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let parts = [chunk(b"IHDR", &header), chunk(b"IDAT", &pixels.finish().unwrap()), chunk(b"IEND", &[])].concat();
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode([b"\x89PNG\r\n\x1a\n", &parts[..]].concat()))
}

/// Waits until the server works on this number of requests, besides that for the metrics.
fn wait_for_requests_under_way(client: &mut Client, number: usize) {
    let line = format!("ticketing_http_requests_under_way {}\n", number + 1);
    while !client.get("/metrics").expect(200).text().contains(&line) {}
}

/// Sends the head of a request, with a body of which this is the beginning.
fn begin(server: &Server, key: &str, path: &str, framing: &str, body: &[u8]) -> Client {
    let mut client = server.client_with("");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    client.write(&[head.as_bytes(), body].concat());
    client
}

/// Asks for a large response, and waits until its first byte has come, or until it is refused.
fn request(server: &Server, key: &str, path: &str) -> Client {
    let mut client = server.client_with("");
    client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {key}\r\n\r\n").as_bytes());
    client.wait_for_bytes();
    client
}

/// An event with six ticket types, whose list has 3.9 MB: sixteen of them have room in memory, and are requested at once.
fn event_with_large_list(client: &mut Client) -> EventOnSale {
    let on_sale = event_on_sale(client, "summer-night");
    let types = format!("/v1/events/{}/ticket-types", on_sale.event);
    client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &json!({"ticketLogo": logo(0)})).expect(200);
    for number in 1..6 {
        let body = json!({"name": "Seat", "price": 0, "quantity": 9, "ticketLogo": logo(number)});
        client.post(&types, &body).expect(201);
    }
    on_sale
}

/// Waits until one of the clients is answered, and returns the others and it.
fn wait_for_one_answer(mut clients: Vec<Client>) -> (Vec<Client>, Client) {
    let began = Instant::now();
    loop {
        let short = Duration::from_millis(1);
        let answered: Vec<_> = (0..clients.len()).filter(|index| clients[*index].has_bytes_within(short)).collect();
        if let [index] = answered[..] {
            let answered = clients.swap_remove(index);
            return (clients, answered);
        }
        assert!(answered.is_empty() && began.elapsed() < LONG, "{answered:?}");
    }
}

#[test]
fn bodies_that_are_only_announced_refuse_nothing() {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let gate = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.parse().unwrap());
    let gate = server.service.create_api_key(server.organization, gate).unwrap().key;
    let mut idle = Vec::new();
    for number in 0..600 {
        let (framing, body) = match number % 2 {
            0 => ("Transfer-Encoding: chunked", &b"1\r\n{\r\n"[..]),
            _ => ("Content-Length: 1048576", &b"{"[..]),
        };
        idle.push(begin(&server, gate.expose(), "/v1/tickets/scans", framing, body));
    }
    wait_for_requests_under_way(&mut server.client(), idle.len());
    client.get(&format!("/v1/events/{event}")).expect(200);
    client.get("/v1/orders").expect(200);
    client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
    client.patch(&format!("/v1/ticket-types/{ticket_type}"), &json!({"ticketLogo": logo(1)})).expect(200);
    server.client_with(&other_organization_key(&server.service)).get("/v1/events").expect(200);
}

#[test]
fn the_key_of_a_door_link_holds_an_eighth_of_what_its_organization_may() {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, .. } = event_on_sale(&mut client, "summer-night");
    let gate = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.parse().unwrap());
    let gate = server.service.create_api_key(server.organization, gate).unwrap().key;
    // Without the last byte.
    let body = vec![b' '; 1024 * 1024 - 1];
    let idle = |key: &str| begin(&server, key, "/v1/tickets/scans", "Content-Length: 1048576", &body);
    let of_gate = (0..9).map(|_| idle(gate.expose())).collect();
    let (_of_gate, mut refused) = wait_for_one_answer(of_gate);
    assert_eq!(refused.read_response().unwrap().expect(503).header("retry-after"), Some("1"));
    // The control: the organization has room for more.
    let mut of_organization = idle(&server.key);
    of_organization.write(b" ");
    of_organization.read_response().unwrap().expect(400);
    client.get(&format!("/v1/events/{event}")).expect(200);
}

#[test]
fn a_body_that_does_not_move_loses_to_another_when_there_is_no_room() {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let body = vec![b' '; 1024 * 1024 - 1];
    let idle = || begin(&server, &server.key, "/v1/orders", "Content-Length: 1048576", &body);
    let began = Instant::now();
    let mut slow: Vec<_> = (0..64).map(|_| idle()).collect();
    wait_for_requests_under_way(&mut server.client(), 64);
    // One of them goes on.
    slow[0].write(b" ");
    slow.remove(0).read_response().unwrap().expect(400);
    slow.push(idle());
    wait_for_requests_under_way(&mut server.client(), 64);
    // It changes nothing: what was changed is answered, and its response gets room at once.
    let no_order = json!(" ".repeat(1024 * 1024 - 2));
    // Until all the bodies have arrived, there is room for another.
    let is_closed = loop {
        let is_refused = server.client().post("/v1/orders", &no_order).status == 503;
        for client in &mut slow {
            // The other body was there first. It begins again.
            if client.has_bytes_within(Duration::from_millis(1)) {
                *client = idle();
            }
        }
        let closed = slow.iter_mut().map(|client| client.is_closed_within(Duration::from_millis(10)));
        let is_closed: Vec<bool> = closed.collect();
        if !is_refused && is_closed.contains(&true) {
            break is_closed;
        }
        client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
        assert!(began.elapsed() < LONG, "the room is never needed, or never free");
    };
    let closed = is_closed.iter().filter(|is_closed| **is_closed).count();
    assert_eq!(closed, 1, "as many as there have to be: {is_closed:?}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    // It belongs to those that began first, not to that which moved last.
    assert_eq!(is_closed.last(), Some(&false));
}

#[test]
fn a_router_without_the_server_counts_responses_too() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let change = ticketing::ticket_type::UpdateTicketType::default().ticket_logo(logo(1));
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).expect("a logo");
    let key = fixture.service.create_api_key(fixture.caller.organization(), CreateApiKey::new("Test")).expect("a key");
    let app: Router = router(fixture.service.clone(), &ServerOptions::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let get = |path: String| {
        let request = Request::get(path).header("X-Api-Key", key.key.expose()).body(Body::empty()).expect("a request");
        runtime.block_on(app.clone().oneshot(request)).expect("a response")
    };
    let large = || get(format!("/v1/ticket-types/{}", ticket_type.id));
    let mut unread: Vec<_> = std::iter::repeat_with(large).take_while(|response| response.status() == 200).collect();
    let received = unread.pop().expect("a response");
    let received = runtime.block_on(axum::body::to_bytes(received.into_body(), usize::MAX)).expect("a body");
    assert_eq!(unread.len() + 1, MOST / received.len());
    assert_eq!(get("/v1/events".to_owned()).status(), 200);
    drop(received);
    assert_eq!(large().status(), 200);
}

/// A server, an order with six pictures in its document, and the document's length. The document is kept, so that many
/// requests for it take less than the five seconds after which they lose to others.
#[cfg(feature = "documents")]
fn start_with_large_document() -> (Server, EventOnSale, crate::http::ticket_pages::Paid, usize) {
    let server = start_with(|builder| builder.ticket_documents(Default::default()));
    let mut client = server.client();
    let on_sale = event_with_large_list(&mut client);
    let types = client.get(&format!("/v1/events/{}/ticket-types", on_sale.event)).expect(200).json();
    let items = types["data"].as_array().unwrap().iter().map(|of| json!({"ticketId": of["id"], "quantity": 1}));
    let mut order = order_of(&on_sale.event, "", 1);
    order["items"] = items.collect();
    let paid = crate::http::ticket_pages::Paid::new(&mut client, &order);
    let length = client.get(&format!("/v1/orders/{}/document", paid.order)).expect(200).body.len();
    assert!(length > 2_500_000, "{length} bytes");
    (server, on_sale, paid, length)
}

#[cfg(feature = "documents")]
#[test]
fn responses_count_until_they_are_received_and_small_ones_are_never_refused() {
    let (server, EventOnSale { event, ticket_type }, paid, length) = start_with_large_document();
    let mut client = server.client();
    let other = other_organization_key(&server.service);
    let path = format!("/v1/orders/{}/document", paid.order);
    let mut slow: Vec<_> = (0..MOST / length).map(|_| request(&server, &server.key, &path)).collect();
    let refused = client.get(&path).expect(503);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("unavailable", Some("1")));
    for path in ["/v1/events", "/v1/orders", "/v1/tickets"] {
        client.get(path).expect(200);
        server.client_with(&other).get(path).expect(200);
    }
    client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
    let received = slow.pop().unwrap().read_response().unwrap().expect(200);
    assert_eq!(received.body.len(), length);
    client.get(&path).expect(200);
}

#[cfg(feature = "documents")]
#[test]
fn what_a_change_returns_is_sent_although_other_responses_take_all_room() {
    let (server, EventOnSale { ticket_type, .. }, paid, length) = start_with_large_document();
    let path = format!("/v1/orders/{}/document", paid.order);
    let mut slow: Vec<_> = (0..MOST / length).map(|_| request(&server, &server.key, &path)).collect();
    // Until there is no room for another logo.
    let logo = format!("/v1/ticket-types/{ticket_type}");
    slow.extend((0..length / 640_000).map(|_| request(&server, &server.key, &logo)));
    let changed = server.client().patch(&logo, &json!({"name": "Changed"})).expect(200);
    assert_eq!(changed.json()["name"], "Changed");
    let received = slow.iter_mut().map(Client::read_response);
    assert_eq!(received.filter(|response| response.as_ref().is_ok_and(|it| it.status == 200)).count(), slow.len() - 1);
}

#[cfg(feature = "documents")]
#[test]
fn documents_that_nobody_receives_count_for_the_network_of_their_clients() {
    let (server, _, paid, length) = start_with_large_document();
    let path = format!("{}/tickets.pdf", paid.page);
    let mut slow: Vec<_> = (0..MOST / length).map(|_| request(&server, "", &path)).collect();
    let status = || server.client_with("").get(&path).status;
    assert_eq!(status(), 503);
    // The controls: what is small, and what belongs to the key.
    server.client_with("").get(&paid.page).expect(200);
    server.client().get(&format!("/v1/orders/{}/document", paid.order)).expect(200);
    slow.pop().unwrap().read_response().unwrap().expect(200);
    assert_eq!(status(), 200);
}

/// How many bytes the system keeps that the server has sent from this port and the client has not received.
#[cfg(target_os = "linux")]
fn unsent(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().filter(|row| row.split_whitespace().nth(1).unwrap().ends_with(&format!(":{port:04X}")));
    let queues = rows.map(|row| row.split_whitespace().nth(4).unwrap().split(':').next().unwrap().to_owned());
    queues.map(|bytes| u64::from_str_radix(&bytes, 16).unwrap()).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_keeps_little_of_a_response_that_its_client_does_not_receive() {
    let server = start();
    let mut client = server.client();
    let EventOnSale { event, .. } = event_with_large_list(&mut client);
    let path = format!("/v1/events/{event}/ticket-types");
    let length = client.get(&path).expect(200).body.len();
    assert!(length > 3_000_000, "{length} bytes");
    let mut slow = request(&server, &server.key, &path);
    std::thread::sleep(Duration::from_millis(500));
    // 128 KiB, and what is on its way.
    let unsent = unsent(server.address.port());
    assert!((1..=384 * 1024).contains(&unsent), "{unsent} bytes");
    assert_eq!(slow.read_response().unwrap().body.len(), length);
}

/// Sends many requests for a file at once to a router in a runtime of its own. Returns how many threads there are then.
#[cfg(target_os = "linux")]
fn threads_after_simultaneous_requests(path: &'static str) -> usize {
    let fixture = Fixture::new();
    let app: Router = router(fixture.service.clone(), &ServerOptions::default());
    let name = format!("once{}", path.len());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name(&name).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let lengths = runtime.block_on(async {
        let mut requests = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let request = Request::get(path).header("Accept-Encoding", "gzip").body(Body::empty()).expect("a request");
            let response = app.clone().oneshot(request);
            requests.spawn(async {
                let body = response.await.expect("a response").into_body();
                axum::body::to_bytes(body, usize::MAX).await.expect("a body").len()
            });
        }
        requests.join_all().await
    });
    assert!(lengths.iter().all(|length| *length == lengths[0] && *length > 10_000), "{lengths:?}");
    let names = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path().join("comm"));
    names.filter(|path| std::fs::read_to_string(path).is_ok_and(|comm| comm.trim() == name)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_a_hundred_clients_request_at_once_is_made_once() {
    for path in ["/docs/scalar.js", "/openapi.json"] {
        let threads = threads_after_simultaneous_requests(path);
        assert!(threads <= 4, "{threads} threads: two, and one that made {path}");
    }
}
