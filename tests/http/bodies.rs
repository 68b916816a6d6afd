//! Bodies that come later than their head, and clients that ask before they send one: nobody waits for a body, or asks
//! for it, before its sender was let in.

use std::time::Duration;

use crate::common::http::{Client, Response, Server};
use serde_json::json;
use ticketing::Scope;

/// The head of a request that creates an event, and its body.
fn parts(key: &str, slug: &str, lines: &[&str]) -> (String, String) {
    let event =
        json!({"title": "Jazz", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"});
    let body = event.to_string();
    let chunked = lines.iter().any(|line| line.starts_with("Transfer-Encoding"));
    let length = if chunked { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let own = format!("X-Api-Key: {key}\r\nContent-Type: application/json\r\n");
    (format!("POST /v1/events HTTP/1.1\r\nHost: a\r\n{own}{length}{lines}\r\n"), body)
}

/// Long enough that what was sent before is likely to be there by itself. Nothing depends on it.
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn answer(client: &mut Client) -> Response {
    client.read_response().unwrap()
}

/// Keys that do not let in, and what is answered to them.
fn refused(server: &Server) -> [(String, u16); 3] {
    [(String::new(), 401), ("tk_nonsense".to_owned(), 401), (server.key_with([Scope::OrdersRead]), 403)]
}

#[test]
fn a_body_may_come_later_and_in_pieces() {
    let server = Server::start();
    let mut client = server.client();
    for (number, pieces) in [1, 2, 7].into_iter().enumerate() {
        let (head, body) = parts(&server.key, &format!("event-{number}"), &[]);
        client.write(head.as_bytes());
        for piece in body.as_bytes().chunks(body.len().div_ceil(pieces)) {
            pause();
            client.write(piece);
        }
        answer(&mut client).expect(201);
    }
    let (head, body) = parts(&server.key, "chunked", &["Transfer-Encoding: chunked"]);
    client.write(head.as_bytes());
    for piece in body.as_bytes().chunks(40) {
        pause();
        client.write(format!("{:x}\r\n", piece.len()).as_bytes());
        client.write(&[piece, b"\r\n"].concat());
    }
    client.write(b"0\r\n\r\n");
    answer(&mut client).expect(201);
    assert_eq!(client.get("/v1/events").json()["data"].as_array().unwrap().len(), 4);
}

#[test]
fn a_body_in_the_same_packet_as_its_head_is_taken_too_also_of_several_requests() {
    let server = Server::start();
    let mut client = server.client();
    let requests = ["one", "two", "three"].map(|slug| {
        let (head, body) = parts(&server.key, slug, &[]);
        head + &body
    });
    client.write(requests.concat().as_bytes());
    for slug in ["one", "two", "three"] {
        assert_eq!(answer(&mut client).expect(201).json()["slug"], slug);
    }
}

#[test]
fn who_is_not_let_in_is_answered_before_the_body_comes() {
    let server = Server::start();
    for (key, status) in refused(&server) {
        for lines in [&[][..], &["Transfer-Encoding: chunked"]] {
            let mut client = server.client();
            client.write(parts(&key, "never", lines).0.as_bytes());
            answer(&mut client).expect(status);
            // The rest of such a connection could be anything.
            assert!(client.is_closed_within(Duration::from_secs(30)));
        }
    }
}

#[test]
fn who_is_not_let_in_is_answered_the_same_where_the_body_is_there() {
    let server = Server::start();
    for (key, status) in refused(&server) {
        let mut client = server.client();
        let (head, body) = parts(&key, "never", &[]);
        client.write((head + &body).as_bytes());
        answer(&mut client).expect(status);
    }
    assert_eq!(server.client().get("/v1/events").json()["data"], json!([]));
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on_once_it_was_let_in() {
    let server = Server::start();
    let mut client = server.client();
    let (head, body) = parts(&server.key, "asked", &["Expect: 100-continue"]);
    client.write(head.as_bytes());
    assert!(answer(&mut client).expect(100).headers.is_empty());
    client.write(body.as_bytes());
    answer(&mut client).expect(201);
    client.get("/v1/events").expect(200);
}

#[test]
fn a_client_that_asks_first_and_is_not_let_in_is_never_told_to_go_on() {
    let server = Server::with(|builder| builder, |options| options.failed_authentications = 2);
    let limited = server.key_with([Scope::EventsRead]);
    let expect = ["Expect: 100-continue"];
    for (key, status) in refused(&server).into_iter().chain([("tk_nonsense".to_owned(), 429), (limited, 403)]) {
        let mut client = server.client();
        client.write(parts(&key, "never", &expect).0.as_bytes());
        answer(&mut client).expect(status);
    }
    // Nor where the body would be too large.
    let mut client = server.client();
    let (head, _) = parts(&server.key, "never", &expect);
    let large = head.replace("Content-Length: ", "Content-Length: 9999999");
    client.write(large.as_bytes());
    answer(&mut client).expect(413);
}

#[test]
fn a_body_that_breaks_off_does_nothing() {
    let server = Server::start();
    let mut client = server.client();
    let (head, body) = parts(&server.key, "broken", &[]);
    client.write((head + &body[..body.len() - 1]).as_bytes());
    pause();
    drop(client);
    let (head, _) = parts(&server.key, "broken", &["Transfer-Encoding: chunked"]);
    let mut client = server.client();
    client.write((head + "zz\r\n{}\r\n0\r\n\r\n").as_bytes());
    if let Ok(answer) = client.read_response() {
        assert_eq!(answer.expect(400).code(), "malformed-request");
    }
    assert_eq!(server.client().get("/v1/events").json()["data"], json!([]));
}
