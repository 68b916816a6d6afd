//! Searches that take very long: what other requests do meanwhile, and when the searches end.

use std::time::Duration;

use crate::common::http::{Client, Server, other_organization_key};
use ticketing::event::ListEvents;
use ticketing::{Builder, TicketingService};

/// Starts a server on whose database every search of events takes for ever, unless there are none.
fn start(configure: impl FnOnce(Builder) -> Builder) -> Server {
    let server = Server::with(configure, |_| {});
    let event = serde_json::json!({
        "title": "Jazz", "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
    });
    server.client().post("/v1/events", &event).expect(201);
    server.skip_final_check();
    server.database().run(
        "ALTER TABLE events RENAME TO stored_events;
        CREATE VIEW events AS SELECT * FROM stored_events WHERE 0 < (
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
            SELECT count(*) FROM numbers WHERE n <> stored_events.id)",
    );
    server
}

/// A request that needs a connection for searches, and reads no events.
const OTHER_SEARCH: &str = "/v1/orders?reference=none";

/// Sends a search without reading the response.
fn begin_search(client: &mut Client, key: &str) {
    let request = format!("GET /v1/events?q=jazz HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n");
    client.write(request.as_bytes());
}

#[test]
fn searches_that_never_end_fail_after_their_time_and_other_requests_are_served_meanwhile() {
    // Far more than the other searches take.
    let server = start(|builder| builder.search_timeout(Duration::from_secs(3)));
    let other = other_organization_key(&server.service);
    let mut searches: Vec<Client> = (0..6).map(|_| server.client()).collect();
    for search in &mut searches {
        begin_search(search, &server.key);
    }
    let mut busy = server.client();
    let mut other = server.client_with(&other);
    for _ in 0..20 {
        busy.get("/v1/webhooks").expect(200);
        other.get("/v1/orders").expect(200);
        other.get("/v1/orders?status=PENDING").expect(200);
        other.get("/health/ready").expect(200);
    }
    for mut search in searches {
        let response = search.read_response().unwrap();
        assert_eq!((response.status, response.code().as_str()), (503, "unavailable"));
        assert!(response.header("retry-after").is_some());
    }
}

#[test]
fn a_search_ends_when_the_program_no_longer_waits_for_it() {
    // One connection for look-ups and one for searches, which are never too long.
    let server = start(|builder| builder.readers(2).search_timeout(Duration::from_hours(1)));
    let (service, organization) = (server.service.clone(), server.organization);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let list = move |service: &TicketingService| {
        service.list_events(&service.act_for(organization)?, ListEvents::default().q("jazz"))
    };
    let listing = runtime.spawn(async move { service.run(list).await });
    let mut client = server.client();
    while client.get(OTHER_SEARCH).status == 200 {
        // The search has not begun yet.
    }
    listing.abort();
    assert_search_ends(&server);
}

/// Starts a server with one connection for searches, which are never too long.
fn start_with_one_search() -> Server {
    start(|builder| builder.readers(2).search_timeout(Duration::from_hours(1)))
}

/// Waits until the only connection for searches is in use.
fn wait_for_search(server: &Server) {
    let mut client = server.client();
    while client.get(OTHER_SEARCH).status == 200 {
        // The search has not begun yet.
    }
}

/// Asserts that the connection for searches becomes free. A list waits for it for some seconds.
fn assert_search_ends(server: &Server) {
    let mut client = server.client();
    let ended = (0..6).any(|_| client.get(OTHER_SEARCH).status == 200);
    assert!(ended, "the search goes on");
}

#[test]
fn a_search_ends_when_its_client_closes_the_connection() {
    let server = start_with_one_search();
    let mut client = server.client();
    begin_search(&mut client, &server.key);
    wait_for_search(&server);
    drop(client);
    assert_search_ends(&server);
}

#[test]
fn a_search_ends_when_its_client_resets_the_connection() {
    let server = start_with_one_search();
    let mut client = server.client();
    // The system resets a connection that is closed with unread bytes.
    client.write(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.wait_for_bytes();
    begin_search(&mut client, &server.key);
    wait_for_search(&server);
    drop(client);
    assert_search_ends(&server);
}

#[test]
fn a_client_that_closes_only_its_side_is_told_that_its_long_search_was_given_up() {
    let server = start_with_one_search();
    let mut client = server.client();
    client.write(
        format!(
            "GET /v1/events?q=jazz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: long-search\r\nX-Api-Key: {}\r\n\r\n",
            server.key
        )
        .as_bytes(),
    );
    client.end();
    let response = client.read_response().unwrap();
    assert_eq!((response.status, response.code().as_str()), (503, "unavailable"));
    assert_eq!(response.header("x-request-id"), Some("long-search"));
    assert_eq!(response.problem()["instance"], "/v1/events");
    assert_search_ends(&server);
}
