//! The memory of the server: with an address space of 512 MiB it answers the largest requests that are allowed, and
//! those that would need more if they were not refused.
#![cfg(all(feature = "program", target_os = "linux"))]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::program::{Server, program, try_send_to};
use crate::common::threads::run_at_once;
use crate::common::{LARGEST_FILE, pixel_logo};

const CLIENTS: usize = 8;

/// Starts the server with an address space of 512 MiB.
fn start(folder: &Path) -> Server {
    let server = program(folder, &["--listen", "127.0.0.1:0", "--rate-limit", "0"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 524288 && exec \"$0\" \"$@\""]).arg(server.get_program()).args(server.get_args());
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    // What is reserved counts although it is not used: the allocator would reserve 64 MiB for each of many threads, and
    // 256 requests at a time, each on a thread with a stack of 2 MiB, would take the whole address space.
    limited.env("MALLOC_ARENA_MAX", "2").env("RUST_MIN_STACK", "524288").current_dir(folder).stdin(Stdio::null());
    Server::start_program(&mut limited)
}

struct Setup {
    _folder: tempfile::TempDir,
    server: Server,
    event: String,
    ticket_type: String,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path());
        let mut setup = Self { _folder: folder, server, event: String::new(), ticket_type: String::new() };
        setup.event = setup.create("/v1/events", &event("main"));
        let free = json!({"name": "Free", "price": 0, "quantity": 1_000_000, "maxPerOrder": 100});
        setup.ticket_type = setup.create(&format!("/v1/events/{}/ticket-types", setup.event), &free);
        setup
    }

    /// Sends a request and returns its status. Panics if there is no response.
    fn status(&self, method: &str, path: &str, body: &str) -> u16 {
        status(self.server.address(), self.server.key(), method, path, body)
    }

    /// Creates a resource and returns its id.
    fn create(&self, path: &str, body: &Value) -> String {
        let (status, response) = self.server.send("POST", path, self.server.key(), &body.to_string());
        assert_eq!(status, 201, "{response}");
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        serde_json::from_str::<Value>(body).unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// Sends the same requests from all clients at once. Each must get the status.
    fn send_from_all(&self, requests: &[(&str, String, String, u16)]) {
        for (method, path, body, expected) in requests {
            let (address, key) = (self.server.address(), self.server.key());
            let statuses = run_at_once(CLIENTS, |_| status(address, key, method, path, body));
            let beginning: String = body.chars().take(100).collect();
            assert_eq!(statuses, [*expected; CLIENTS], "{method} {path} {beginning}");
        }
    }

    /// Asserts that the server works and ends in an orderly way.
    fn finish(self) {
        assert_eq!(self.status("GET", "/health/live", ""), 200);
        assert_eq!(self.status("POST", "/v1/orders", &self.order(&[1]).to_string()), 201);
        let (status, _) = self.server.stop("TERM");
        assert!(status.success(), "{status}");
    }

    /// An order with an item for each of these quantities.
    fn order(&self, quantities: &[i64]) -> Value {
        let item = |quantity: &i64| json!({"ticketId": self.ticket_type, "quantity": quantity});
        let customer = json!({"name": "Ada", "email": "ada@example.com"});
        json!({"eventId": self.event, "customer": customer, "items": quantities.iter().map(item).collect::<Vec<_>>()})
    }
}

/// Sends a request and returns its status. Panics if there is no response.
fn status(address: &str, key: &str, method: &str, path: &str, body: &str) -> u16 {
    let beginning: String = body.chars().take(100).collect();
    let response = try_send_to(address, method, path, key, body);
    response.unwrap_or_else(|| panic!("no response to {method} {path} {beginning}")).0
}

fn event(slug: &str) -> Value {
    let start = "9000-06-01T18:00:00Z";
    json!({"title": "Jazz", "slug": slug, "startDate": start, "deliveryMethod": "DIGITAL", "status": "PUBLISHED"})
}

/// A list of as many copies of an entry as fit into a body of 1 MiB.
fn list_of(entry: &str) -> String {
    let count = 1_040_000 / (entry.len() + 1);
    format!("[{}]", vec![entry; count].join(","))
}

#[test]
fn the_largest_requests_that_are_refused_leave_the_server_alive() {
    let setup = Setup::new();
    let megabyte = "x".repeat(1_000_000);
    let settings = format!("/v1/events/{}/settings", setup.event);
    let types = format!("/v1/events/{}/ticket-types", setup.event);
    let post = |path: &str, body: String, status| ("POST", path.to_owned(), body, status);
    let patch = |path: &str, body: String, status| ("PATCH", path.to_owned(), body, status);
    let item = format!("{{\"ticketId\":\"{}\",\"quantity\":1}}", setup.ticket_type);
    let mut long_name = setup.order(&[1]);
    long_name["customer"]["name"] = json!(megabyte);
    let nested = |levels: usize| format!("{}{}{}", "[".repeat(levels), list_of("0"), "]".repeat(levels));
    setup.send_from_all(&[
        // Long texts, and long lists of wrong entries.
        post("/v1/events", json!({"title": megabyte}).to_string(), 422),
        post(&types, json!({"name": megabyte, "price": 0, "quantity": 1}).to_string(), 422),
        post("/v1/orders", long_name.to_string(), 422),
        post("/v1/orders", format!("{{\"items\":{}}}", list_of("{}")), 422),
        post("/v1/orders", format!("{{\"items\":{}}}", list_of(&item)), 422),
        post("/v1/discounts", format!("{{\"applicableTicketTypes\":{}}}", list_of("\"x\"")), 422),
        post("/v1/discounts/validate", format!("{{\"ticketItems\":{}}}", list_of("{}")), 422),
        patch(&settings, format!("{{\"tags\":{}}}", list_of("0")), 422),
        patch(&settings, format!("{{\"locationMetadata\":{}}}", list_of("[0]")), 422),
        patch(&settings, format!("{{\"trackingPixels\":{}}}", list_of("{\"\":0}")), 422),
        patch(&settings, json!({"locationMetadata": megabyte}).to_string(), 422),
        // Values that no field reads, and that nest deep.
        patch(&settings, format!("{{\"x\":{}}}", list_of("[[[[[0]]]]]")), 200),
        patch(&settings, format!("{{\"x\":{}}}", list_of("{\"\":{\"\":0}}")), 200),
        patch(&settings, format!("{{\"x\":{}}}", nested(61)), 200),
        post("/v1/tickets/check-in", format!("{{\"code\":\"x\",\"x\":{}}}", nested(61)), 404),
        post("/v1/tickets/check-in", "[".repeat(1_000_000), 400),
        ("GET", format!("/v1/events?q={}b", "a".repeat(999)), String::new(), 422),
    ]);
    setup.finish();
}

#[test]
fn the_largest_requests_that_are_allowed_are_answered() {
    let setup = Setup::new();
    let types = format!("/v1/events/{}/ticket-types", setup.event);
    let logo = pixel_logo(LARGEST_FILE, 0);
    let text = "\"".repeat(20_000);
    for number in 0..30 {
        let ticket_type = json!({"name": "Logo", "price": 1, "quantity": 1, "ticketLogo": logo, "description": text});
        setup.create(&types, &ticket_type);
        let mut large = event(&format!("large-{number}"));
        large["description"] = json!(text);
        large["metadata"] = json!({"text": "\u{1}".repeat(16_000)});
        let id = setup.create("/v1/events", &large);
        let json = json!(vec!["x"; 4000]);
        let settings = json!({"locationMetadata": json, "trackingPixels": json});
        assert_eq!(setup.status("PATCH", &format!("/v1/events/{id}/settings"), &settings.to_string()), 200);
    }
    let order = setup.order(&[5; 100]).to_string();
    for path in [types, "/v1/events".to_owned()] {
        let page = [("GET", format!("{path}?limit=100"), String::new(), 200)];
        setup.send_from_all(&page);
        setup.send_from_all(&page);
    }
    // 100 items and 500 tickets each. The type allows 100 tickets an order, which is refused after everything else.
    setup.send_from_all(&[("POST", "/v1/orders".to_owned(), order, 409)]);
    setup.send_from_all(&[("POST", "/v1/orders".to_owned(), setup.order(&[1; 100]).to_string(), 201)]);
    for path in ["/v1/orders?limit=100", "/v1/tickets?limit=100"] {
        setup.send_from_all(&[("GET", path.to_owned(), String::new(), 200)]);
    }
    setup.finish();
}

#[test]
fn many_unfinished_forms_for_unknown_checkouts_are_refused_at_once() {
    let setup = Setup::new();
    let mut connections = Vec::new();
    for _ in 0..500 {
        let mut connection = TcpStream::connect(setup.server.address()).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = b"POST /checkout/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
        connection.write_all(head).unwrap();
        connections.push(connection);
    }
    for connection in &mut connections {
        // The server may close the connection while the client still sends.
        let _ = connection.write_all(&[b'x'; 100_000]);
        let mut status = [0; 12];
        connection.read_exact(&mut status).expect("a response");
        assert_eq!(&status, b"HTTP/1.1 404");
    }
    setup.finish();
}
