//! Exports over HTTP, on real sockets.

use std::time::Duration;

use base64::Engine as _;
use serde_json::json;
use sha2::{Digest, Sha256};
use ticketing::exports::ExportKind;
use ticketing::id::EventId;
use ticketing::organization::CreateApiKey;
use ticketing::ticket::{CheckInTicket, IssueTickets};
use ticketing::ticket_type::CreateTicketType;

use crate::common::http::{Client, Server, other_organization_key};
use crate::common::{eur, new_customer, new_event};

/// Starts a server with an event that has a paid order. Returns the id of the event.
fn start() -> (Server, String) {
    let server = Server::start();
    let mut client = server.client();
    let event = json!({
        "title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED",
    });
    let event = client.post("/v1/events", &event).expect(201).json()["id"].as_str().unwrap().to_owned();
    let ticket_type = json!({"name": "Seat", "price": 12.5, "quantity": 100_000});
    let ticket_type = client.post(&format!("/v1/events/{event}/ticket-types"), &ticket_type).expect(201).json();
    let order = json!({
        "eventId": event, "customer": {"name": "Ada", "email": "ada@example.com"},
        "items": [{"ticketId": ticket_type["id"], "quantity": 2}],
    });
    let order = client.post("/v1/orders", &order).expect(201).json();
    let order = order["order"]["id"].as_str().unwrap();
    client.post(&format!("/v1/orders/{order}/mark-paid"), &json!({"method": "CASH"})).expect(200);
    (server, event)
}

#[test]
fn every_kind_is_sent_with_its_length_its_digest_and_the_name_of_its_event() {
    let (server, event) = start();
    let mut client = server.client();
    for kind in ExportKind::ALL {
        let formats: &[_] = if cfg!(feature = "xlsx") { &["csv", "xlsx"] } else { &["csv"] };
        for format in formats {
            let response = client.get(&format!("/v1/exports/{kind}?eventId={event}&format={format}")).expect(200);
            let header = |name: &str| response.header(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(header("content-length"), response.body.len().to_string());
            let digest = base64::prelude::BASE64_STANDARD.encode(Sha256::digest(&response.body));
            assert_eq!(header("repr-digest"), format!("sha-256=:{digest}:"));
            assert_eq!(header("cache-control"), "no-store");
            let name = header("content-disposition");
            let date = name.strip_prefix(&format!("attachment; filename=\"jazz-{kind}-")).expect(name);
            let date = date.strip_suffix(&format!(".{format}\"")).expect(name);
            assert!(date.len() == 10 && date.split('-').count() == 3, "{name}");
            assert_eq!(response.header("etag"), None);
            match *format {
                "csv" => {
                    assert_eq!(header("content-type"), "text/csv; charset=utf-8");
                    let rows = response.text().matches("\r\n").count() - 1;
                    assert_eq!(header("x-export-rows"), rows.to_string());
                }
                _ => assert!(response.body.starts_with(b"PK"), "{kind}"),
            }
        }
    }
    let settlement = client.get(&format!("/v1/events/{event}/settlement")).expect(200).json();
    assert_eq!(
        settlement["lines"][0],
        json!({"section": "SOLD", "label": "Seat", "count": 2, "amount": 25, "currency": "EUR"})
    );
    let head = client.send("HEAD", &format!("/v1/exports/orders?eventId={event}"), &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn what_is_unknown_or_missing_is_refused_as_documented() {
    let (server, event) = start();
    let mut client = server.client();
    client.get(&format!("/v1/exports/tickets?eventId={event}")).expect(404);
    let refused = |path: &str, fields: &[&str]| {
        let response = server.client().get(path).expect(422);
        assert_eq!(response.paths(), fields, "{path}");
    };
    refused(&format!("/v1/exports/orders?eventId={event}&format=pdf&dialect=libre"), &["format", "dialect"]);
    // The kind is that of the path.
    refused(&format!("/v1/exports/settlement?eventId={event}&kind=orders"), &["kind"]);
    let response = client.get(&format!("/v1/exports/settlement?eventId={event}")).expect(200);
    assert!(response.text().starts_with("\"section\""));
    let other = other_organization_key(&server.service);
    let mut other = server.client_with(&other);
    assert_eq!(other.get(&format!("/v1/exports/ledger?eventId={event}")).expect(422).paths(), ["eventId"]);
    other.get(&format!("/v1/events/{event}/settlement")).expect(404);
}

/// A server, and an event with so many orders of 15 kB.
fn start_with_orders(orders: usize) -> (Server, String) {
    let (server, event) = start();
    let service = &server.service;
    let caller = service.act_for(server.organization).unwrap();
    let event_id = event.parse().unwrap();
    let types = service.list_ticket_types(&caller, event_id, Default::default()).unwrap().data;
    let metadata = ticketing::Metadata::from([("note".to_owned(), "x".repeat(15_000))]);
    for _ in 0..orders {
        let customer = ticketing::order::NewCustomer::new("Ada", "ada@example.com");
        let mut order = ticketing::order::CreateOrder::new(event_id, customer, types[0].id, 1);
        order.metadata = Some(metadata.clone());
        service.create_order(&caller, order).unwrap();
    }
    (server, event)
}

/// Another event, with so many tickets that are checked in.
fn event_with_check_ins(server: &Server, tickets: usize) -> EventId {
    let caller = server.service.act_for(server.organization).unwrap();
    let in_future = new_event(|event| {
        event.start_date = "2100-06-01T18:00:00Z".parse().unwrap();
        event.end_date = None;
    });
    let event = server.service.create_event(&caller, in_future).unwrap().id;
    let seats = CreateTicketType::new("Seat", eur(0), 10_000);
    let seats = server.service.create_ticket_type(&caller, event, seats).unwrap().id;
    for issued in (0..tickets).step_by(10) {
        let quantity = (tickets - issued).min(10).try_into().unwrap();
        let request = IssueTickets::new(seats, new_customer(), quantity);
        for ticket in server.service.issue_tickets(&caller, request).unwrap().issued_tickets {
            server.service.check_in_ticket(&caller, CheckInTicket::new(ticket.code)).unwrap();
        }
    }
    event
}

fn begin_export(server: &Server, key: &str, event: &str) -> Client {
    let mut client = server.client();
    let path = format!("/v1/exports/orders?eventId={event}");
    client.write(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n").as_bytes());
    client
}

#[test]
fn an_organization_receives_two_files_at_a_time_until_their_keys_are_revoked() {
    // More than fits into the buffers of both sockets.
    let (server, event) = start_with_orders(100);
    let to_revoke = CreateApiKey::new("Lost");
    let to_revoke = server.service.create_api_key(server.organization, to_revoke).unwrap();
    let mut slow = [to_revoke.key.expose(), &server.key].map(|key| begin_export(&server, key, &event));
    slow.iter_mut().for_each(Client::wait_for_bytes);
    let path = format!("/v1/exports/orders?eventId={event}");
    let refused = server.client().get(&path).expect(503);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("unavailable", Some("1")));
    // Another organization has its own two.
    let other = other_organization_key(&server.service);
    let dates = "from=2026-01-01T00:00:00Z&before=2026-02-01T00:00:00Z";
    server.client_with(&other).get(&format!("/v1/exports/orders?{dates}")).expect(200);

    server.service.revoke_api_key(server.organization, to_revoke.api_key.id).unwrap();
    // Its key is looked up every five seconds.
    std::thread::sleep(Duration::from_secs(10));
    assert!(slow[0].read_response().is_err(), "a revoked key receives nothing more");
    assert!(slow[1].read_response().unwrap().expect(200).body.len() > 1_400_000);
    server.client().get(&path).expect(200);
}

#[test]
fn a_client_that_does_not_read_keeps_no_snapshot_and_other_exports_go_on() {
    let (server, event) = start_with_orders(700);
    let mut slow = begin_export(&server, &server.key, &event);
    // The permit of the snapshot is free again, although the file is not sent.
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let response = server.client().get(&format!("/v1/exports/orders?eventId={event}")).expect(200);
        sizes.push(response.body.len());
    }
    assert!(sizes[0] > 10_000_000, "{sizes:?}");
    let response = slow.read_response().unwrap();
    assert_eq!((response.status, response.body.len()), (200, sizes[0]));
}

#[test]
fn an_export_ends_when_its_client_closes_the_connection() {
    let (server, event) = start();
    server.skip_final_check();
    let large = event_with_check_ins(&server, 1001);
    // The rows of orders can be read for ever.
    server.database().run(
        "ALTER TABLE order_items RENAME TO stored_items;
        CREATE VIEW order_items AS SELECT * FROM stored_items WHERE 0 < (
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
            SELECT count(*) FROM numbers WHERE n <> stored_items.id)",
    );
    // It reads no orders, and has too many rows for the permits of small exports: it waits up to five seconds for the other
    // export of the organization.
    let other = || server.client().get(&format!("/v1/exports/check-ins?eventId={large}")).status;
    let mut client = server.client();
    let request = format!(
        "GET /v1/exports/orders?eventId={event} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\n\r\n",
        server.key
    );
    client.write(request.as_bytes());
    while other() == 200 {
        // The export has not begun yet.
    }
    drop(client);
    // By itself, it would end after two minutes.
    assert!((0..6).any(|_| other() == 200), "the export goes on");
}
