//! Request bodies that arrive after the head, and `Expect: 100-continue`. The server authenticates and authorizes a
//! request before it waits for the body or sends `100 Continue`.

use std::time::Duration;

use crate::common::http::{Client, Response, Server};
use serde_json::json;
use ticketing::organization::Scope;

/// A request in two parts, which are sent separately.
struct Request {
    head: String,
    body: String,
}

/// A request that creates an event, with these additional header lines.
fn creation(key: &str, slug: &str, lines: &[&str]) -> Request {
    let event =
        json!({"title": "Jazz", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    let body = event.to_string();
    let chunked = lines.iter().any(|line| line.starts_with("Transfer-Encoding"));
    let length = if chunked { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let common_lines = format!("X-Api-Key: {key}\r\nContent-Type: application/json\r\n");
    let head = format!("POST /v1/events HTTP/1.1\r\nHost: a\r\n{common_lines}{length}{lines}\r\n");
    Request { head, body }
}

/// Waits so that the server probably receives the previous bytes separately. No assertion depends on it.
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn response(client: &mut Client) -> Response {
    client.read_response().unwrap()
}

/// A key with which no event can be created.
struct RejectedKey {
    key: String,
    /// The status of the response.
    status: u16,
}

fn rejected_keys(server: &Server) -> [RejectedKey; 3] {
    [
        RejectedKey { key: String::new(), status: 401 },
        RejectedKey { key: "tk_nonsense".to_owned(), status: 401 },
        RejectedKey { key: server.key_with([Scope::OrdersRead]), status: 403 },
    ]
}

#[test]
fn a_body_may_arrive_after_the_head_and_in_pieces() {
    let server = Server::start();
    let mut client = server.client();
    for (number, pieces) in [1, 2, 7].into_iter().enumerate() {
        let Request { head, body } = creation(&server.key, &format!("event-{number}"), &[]);
        client.write(head.as_bytes());
        for piece in body.as_bytes().chunks(body.len().div_ceil(pieces)) {
            pause();
            client.write(piece);
        }
        response(&mut client).expect(201);
    }
    let Request { head, body } = creation(&server.key, "chunked", &["Transfer-Encoding: chunked"]);
    client.write(head.as_bytes());
    for piece in body.as_bytes().chunks(40) {
        pause();
        client.write(format!("{:x}\r\n", piece.len()).as_bytes());
        client.write(&[piece, b"\r\n"].concat());
    }
    client.write(b"0\r\n\r\n");
    response(&mut client).expect(201);
    assert_eq!(client.get("/v1/events").json()["data"].as_array().unwrap().len(), 4);
}

#[test]
fn several_requests_may_arrive_in_one_packet_with_their_bodies() {
    let server = Server::start();
    let mut client = server.client();
    let requests = ["one", "two", "three"].map(|slug| {
        let Request { head, body } = creation(&server.key, slug, &[]);
        head + &body
    });
    client.write(requests.concat().as_bytes());
    for slug in ["one", "two", "three"] {
        assert_eq!(response(&mut client).expect(201).json()["slug"], slug);
    }
}

#[test]
fn a_rejected_key_gets_its_response_before_the_body_arrives() {
    let server = Server::start();
    for RejectedKey { key, status } in rejected_keys(&server) {
        for lines in [&[][..], &["Transfer-Encoding: chunked"]] {
            let mut client = server.client();
            client.write(creation(&key, "never", lines).head.as_bytes());
            response(&mut client).expect(status);
            // The server cannot know where the next request begins.
            assert!(client.is_closed_within(Duration::from_secs(30)));
        }
    }
}

#[test]
fn a_rejected_key_gets_the_same_response_if_the_body_has_arrived() {
    let server = Server::start();
    for RejectedKey { key, status } in rejected_keys(&server) {
        let mut client = server.client();
        let Request { head, body } = creation(&key, "never", &[]);
        client.write((head + &body).as_bytes());
        response(&mut client).expect(status);
    }
    assert_eq!(server.client().get("/v1/events").json()["data"], json!([]));
}

#[test]
fn a_client_that_expects_100_continue_gets_it_if_its_key_is_accepted() {
    let server = Server::start();
    let mut client = server.client();
    let Request { head, body } = creation(&server.key, "expecting", &["Expect: 100-continue"]);
    client.write(head.as_bytes());
    assert!(response(&mut client).expect(100).headers.is_empty());
    client.write(body.as_bytes());
    response(&mut client).expect(201);
    client.get("/v1/events").expect(200);
}

#[test]
fn a_client_that_expects_100_continue_does_not_get_it_if_its_request_is_rejected() {
    let server = Server::with(|builder| builder, |options| options.failed_authentications = 2);
    let read_only = RejectedKey { key: server.key_with([Scope::EventsRead]), status: 403 };
    // The two failed authentications of `rejected_keys` use up the limit on them.
    let throttled = RejectedKey { key: "tk_nonsense".to_owned(), status: 429 };
    let expect = ["Expect: 100-continue"];
    for RejectedKey { key, status } in rejected_keys(&server).into_iter().chain([throttled, read_only]) {
        let mut client = server.client();
        client.write(creation(&key, "never", &expect).head.as_bytes());
        response(&mut client).expect(status);
    }
    // The body would be too large.
    let mut client = server.client();
    let Request { head, .. } = creation(&server.key, "never", &expect);
    let large = head.replace("Content-Length: ", "Content-Length: 9999999");
    client.write(large.as_bytes());
    response(&mut client).expect(413);
}

#[test]
fn an_incomplete_body_has_no_effect() {
    let server = Server::start();
    let mut client = server.client();
    let Request { head, body } = creation(&server.key, "broken", &[]);
    client.write((head + &body[..body.len() - 1]).as_bytes());
    pause();
    drop(client);
    let Request { head, .. } = creation(&server.key, "broken", &["Transfer-Encoding: chunked"]);
    let mut client = server.client();
    client.write((head + "zz\r\n{}\r\n0\r\n\r\n").as_bytes());
    if let Ok(response) = client.read_response() {
        assert_eq!(response.expect(400).code(), "malformed-request");
    }
    assert_eq!(server.client().get("/v1/events").json()["data"], json!([]));
}
