//! The program when the disk fails: it ends, and the next start finds everything that was acknowledged.

#![cfg(all(feature = "program", unix))]

use serde_json::{Value, json};

use crate::common::program::{Server, program};
use crate::common::sync_shim::SyncShim;

/// Sends a JSON body. Returns the status and the whole response.
fn post(server: &Server, key: &str, path: &str, body: &Value) -> (u16, String) {
    server.send("POST", path, key, &body.to_string())
}

fn json_of(response: &str) -> Value {
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn after_a_failed_sync_the_server_ends_with_status_1_and_the_next_start_has_every_order() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let key = server.key().to_owned();
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "startDate": "9000-06-01T18:00:00Z",
        "deliveryMethod": "DIGITAL", "status": "PUBLISHED",
    });
    let event = json_of(&post(&server, &key, "/v1/events", &event).1)["id"].clone();
    let types = format!("/v1/events/{}/ticket-types", event.as_str().unwrap());
    let ticket_type = json!({"name": "Seat", "price": 0, "quantity": 100_000});
    let ticket_type = json_of(&post(&server, &key, &types, &ticket_type).1)["id"].clone();
    let order = json!({
        "eventId": event, "customer": {"name": "Ada", "email": "ada@example.com"},
        "items": [{"ticketId": ticket_type, "quantity": 1}],
    });
    server.stop("TERM");

    let Some(shim) = SyncShim::for_database(&folder.path().join("ticketing.db")) else { return };
    let log = folder.path().join("log");
    let mut command = program(folder.path(), &["--listen", "127.0.0.1:0"]);
    shim.fail_at(1, &mut command).stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start_program(&mut command);
    let mut acknowledged = Vec::new();
    let refused = loop {
        // The server may have ended already.
        let Some((status, response)) = server.try_send("POST", "/v1/orders", &key, &order.to_string()) else {
            break None;
        };
        match status {
            201 => acknowledged.push(json_of(&response)["order"]["id"].as_str().unwrap().to_owned()),
            _ => break Some((status, response)),
        }
    };
    if let Some((status, response)) = refused {
        assert_eq!(status, 503, "{response}");
        assert!(response.to_lowercase().contains("\r\nretry-after: 1\r\n"), "{response}");
        assert_eq!(json_of(&response)["type"], "urn:ticketing:problem:unavailable");
        if let Some((status, response)) = server.try_send("GET", "/health/ready", "", "") {
            assert_eq!(status, 503, "{response}");
        }
    }
    assert_eq!(server.wait().code(), Some(1));
    let log = std::fs::read_to_string(log).unwrap();
    let last = log.lines().last().unwrap();
    assert_eq!(
        last,
        "the server has ended: the disk failed to sync the database: writes are refused until all programs that use it \
         are restarted"
    );
    assert!(folder.path().join("ticketing.db-wal").exists());

    let server = Server::start(folder.path(), &[]);
    assert!(!acknowledged.is_empty());
    for id in acknowledged {
        assert_eq!(server.get(&format!("/v1/orders/{id}"), &key).0, 200, "{id}");
    }
    assert_eq!(post(&server, &key, "/v1/orders", &order).0, 201);
    assert_eq!(server.stop("TERM").0.code(), Some(0));
}
