//! Saved requests, changed at random: bodies, queries, cursors, heads, and the URLs of webhook endpoints. The server
//! answers each as the rules say, and never with an internal error.
//!
//! `TICKETING_FUZZ_INPUTS` is the number of inputs of each kind. What was found to fail is in `regressions`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use serde_json::{Value, json};

use crate::common::Fixture;
use crate::common::fuzz::{corpus, fuzz};
use crate::common::http::{Server, event_on_sale, order_of};
use crate::common::log;
use ticketing::webhook::{CreateWebhook, EventType};

macro_rules! regressions {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile_clients/regressions/", $name, ".txt")
    };
}

/// What a query may not contain: the rest is sent as it is.
const NOT_IN_QUERIES: &AsciiSet = &CONTROLS.add(b' ').add(b'#').add(b'"').add(b'<').add(b'>').add(b'\\');

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None)
}

/// Replaces a placeholder in saved inputs.
fn fill(corpus: &mut [Vec<u8>], placeholder: &str, value: &str) {
    for input in corpus {
        *input = String::from_utf8(input.clone()).unwrap().replace(placeholder, value).into_bytes();
    }
}

/// What is wrong with the status of the response to a JSON body, by the opinion of another reader.
fn judge_body(body: &[u8], status: u16) -> Result<(), String> {
    let parsed = serde_json::from_slice::<Value>(body);
    let expected: &[u16] = match &parsed {
        Err(_) => &[400],
        Ok(Value::Object(_)) => &[201, 409, 422],
        Ok(_) => &[422],
    };
    if expected.contains(&status) { Ok(()) } else { Err(format!("status {status}, and {parsed:?}")) }
}

#[test]
fn changed_bodies_are_refused_exactly_if_they_are_no_json() {
    let server = server();
    let client = RefCell::new(server.client());
    let mut bodies = corpus(include_str!("corpus/bodies.txt"));
    fill(&mut bodies, "$slug", "fuzzed");
    fuzz(&bodies, regressions!("bodies"), 1500, |body| {
        // Without a body, there would be no JSON to judge.
        if body.is_empty() {
            return Ok(());
        }
        let json = ["Content-Type: application/json"];
        let response = client.borrow_mut().send("POST", "/v1/events", &json, body);
        judge_body(body, response.status)
    });
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn control_a_wrong_answer_to_a_body_is_noticed() {
    assert_eq!(judge_body(b"{\"a\":1}", 422), Ok(()));
    for (body, status) in [("{\"a\":1", 422), ("{\"a\":1}", 400), ("[]", 201), ("{}", 500), ("\u{1}", 201)] {
        assert!(judge_body(body.as_bytes(), status).is_err(), "{body} {status}");
    }
}

#[test]
fn changed_queries_are_answered_without_internal_errors() {
    let server = server();
    let client = RefCell::new(server.client());
    let lists = ["events", "orders", "tickets", "discounts", "webhooks", "refunds"];
    fuzz(&corpus(include_str!("corpus/queries.txt")), regressions!("queries"), 1500, |query| {
        let encoded = percent_encode(query, NOT_IN_QUERIES);
        let list = lists[query.len() % lists.len()];
        let response = client.borrow_mut().get(&format!("/v1/{list}?{encoded}"));
        let expected = [200, 400, 404, 422].contains(&response.status);
        if expected { Ok(()) } else { Err(format!("/v1/{list}: {}", response.status)) }
    });
    log::capture().assert_clean(&[&server.key]);
}

#[test]
fn changed_cursors_are_refused_or_lead_to_a_page_of_the_list() {
    let server = server();
    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "summer-night");
    for _ in 0..4 {
        client.post("/v1/orders", &order_of(&on_sale.event, &on_sale.ticket_type, 1)).expect(201);
    }
    let ids = |page: &Value| -> Vec<String> {
        page["data"].as_array().unwrap().iter().map(|order| order["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&client.get("/v1/orders").expect(200).json());
    let known: HashSet<_> = all.iter().cloned().collect();
    let cursors: Vec<_> = all.iter().map(|id| id.clone().into_bytes()).collect();
    let client = RefCell::new(client);
    fuzz(&cursors, regressions!("cursors"), 1500, |cursor| {
        let encoded = percent_encode(cursor, percent_encoding::NON_ALPHANUMERIC);
        let response = client.borrow_mut().get(&format!("/v1/orders?limit=2&cursor={encoded}"));
        match response.status {
            400 if std::str::from_utf8(cursor).is_err() => Ok(()),
            422 if response.paths() == ["cursor"] => Ok(()),
            200 if ids(&response.json()).iter().all(|id| known.contains(id)) => Ok(()),
            status => Err(format!("status {status}: {}", response.text())),
        }
    });
    log::capture().assert_clean(&[&server.key]);
}

/// What is wrong with the responses on a connection.
fn judge_responses(received: &[u8]) -> Result<(), String> {
    let received = String::from_utf8_lossy(received);
    let is_response = received.is_empty() || received.starts_with("HTTP/1.");
    let is_internal_error = ["HTTP/1.0 500", "HTTP/1.1 500"].iter().any(|line| received.contains(line));
    if !is_response || is_internal_error { Err(received.into_owned()) } else { Ok(()) }
}

#[test]
fn control_an_internal_error_is_noticed() {
    assert_eq!(judge_responses(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Ok(()));
    judge_responses(b"HTTP/1.1 200 OK\r\n\r\n{}HTTP/1.1 500 Internal Server Error\r\n\r\n").unwrap_err();
    judge_responses(b"{}").unwrap_err();
}

#[test]
fn changed_requests_end_with_responses_that_are_no_internal_errors() {
    let server = server();
    let mut heads = corpus(include_str!("corpus/heads.txt"));
    fill(&mut heads, "$key", &server.key);
    fuzz(&heads, regressions!("heads"), 1000, |bytes| {
        let mut connection = TcpStream::connect(server.address).map_err(|error| error.to_string())?;
        connection.set_read_timeout(Some(Duration::from_secs(30))).map_err(|error| error.to_string())?;
        // The server may respond and close the connection before it has read everything.
        let _ = connection.write_all(bytes).and_then(|()| connection.shutdown(Shutdown::Write));
        let mut received = Vec::new();
        match connection.read_to_end(&mut received) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err("the connection stays open".to_owned());
            }
            _ => {}
        }
        judge_responses(&received)
    });
    server.client().post("/v1/events", &json!({})).expect(422);
    log::capture().assert_clean(&[&server.key]);
}

/// What is wrong with a webhook URL that was accepted, by the opinion of another reader of URLs.
fn judge_url(url: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("accepted, but {what}"));
    let parsed: ureq::http::Uri = match url.parse() {
        Ok(parsed) => parsed,
        Err(error) => return wrong(&error.to_string()),
    };
    let host = parsed.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    if parsed.scheme_str() != Some("https") || host.is_empty() {
        return wrong("it is no https URL");
    }
    if host == "localhost" || host.trim_end_matches('.').ends_with(".localhost") {
        return wrong("it is this machine");
    }
    let is_inside = |address: Ipv4Addr| {
        address.is_loopback() || address.is_private() || address.is_link_local() || address.is_unspecified()
    };
    match host.parse() {
        Ok(IpAddr::V4(address)) if is_inside(address) => wrong("the address is not public"),
        Ok(IpAddr::V6(address))
            if address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4_mapped().is_some_and(is_inside) =>
        {
            wrong("the address is not public")
        }
        _ => Ok(()),
    }
}

#[test]
fn changed_webhook_urls_are_refused_or_lead_outside() {
    let fixture = Fixture::new();
    let accepted = RefCell::new(0);
    fuzz(&corpus(include_str!("corpus/webhook_urls.txt")), regressions!("webhook_urls"), 1500, |url| {
        let url = String::from_utf8_lossy(url).into_owned();
        let new = CreateWebhook::new(&url, [EventType::TicketIssued]);
        match fixture.service.create_webhook(&fixture.caller, new) {
            Ok(created) => {
                *accepted.borrow_mut() += 1;
                fixture.service.delete_webhook(&fixture.caller, created.endpoint.id).unwrap();
                judge_url(&url)
            }
            Err(error) if !error.fields().is_empty() && error.fields().iter().all(|field| field.path == "url") => {
                Ok(())
            }
            Err(error) => Err(format!("{error:?}")),
        }
    });
    assert!(accepted.into_inner() > 0);
}

#[test]
fn control_a_webhook_url_that_leads_inside_is_noticed() {
    assert_eq!(judge_url("https://example.com/hook"), Ok(()));
    for url in ["http://example.com/", "https://", "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://a b/"] {
        assert!(judge_url(url).is_err(), "{url}");
    }
}
