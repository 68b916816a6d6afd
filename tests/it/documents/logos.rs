//! Logos at URLs: fetched over the transport of webhooks, kept, and left out with any trouble.

use std::time::Duration;

use ticketing::documents::{TicketDocument, TicketDocuments};
use ticketing::monitoring::LogoOutcome;
use ticketing::ticket::NewTicket;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Builder, TicketingService};

use crate::common::issuer::Issuer;
use crate::common::pictures::png;
use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::*;
use crate::documents::pictures::has_picture;
use crate::documents::tools::*;

fn response(status: &str, body: &[u8]) -> MockResponse {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n", body.len());
    MockResponse::Bytes([head.as_bytes(), body].concat())
}

/// Longer than a fetch takes, even on a busy machine.
const LONG: Duration = Duration::from_mins(2);

fn documents() -> TicketDocuments {
    TicketDocuments::default().logo_timeout(LONG)
}

/// A service that fetches logos from this machine.
fn local() -> Fixture {
    local_with(LONG)
}

fn local_with(timeout: Duration) -> Fixture {
    let documents = TicketDocuments::default().logo_timeout(timeout);
    Fixture::with_gateway(|builder| builder.ticket_documents(documents).allow_local_webhooks(true))
}

/// Issues a ticket of a type with this logo, which was stored earlier: `http:` URLs are not accepted any more.
fn with_logo(fixture: &Fixture, logo: &str) -> NewTicket {
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    store_logo(fixture, &ticket_type, logo);
    issue_to(fixture, &ticket_type, "Ada")
}

fn document(fixture: &Fixture, ticket: &NewTicket) -> TicketDocument {
    fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document")
}

fn count(service: &TicketingService, wanted: LogoOutcome) -> u64 {
    let logos = service.statistics().documents.logos;
    logos.into_iter().find_map(|(outcome, times)| (outcome == wanted).then_some(times)).expect("every outcome")
}

#[test]
fn a_logo_is_fetched_once_an_hour_and_kept_for_a_day_while_it_cannot_be_fetched() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(response("200 OK", &png(300, 90, 0)));
    let fixture = local();
    let ticket = with_logo(&fixture, &receiver.url("/logo.png"));
    let first = document(&fixture, &ticket);
    assert!(has_picture(&first));
    let request = receiver.requests().pop().expect("a request");
    assert!(request.head.starts_with("GET /logo.png HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("Accept"), Some("image/png, image/jpeg"));
    assert_eq!(request.header("Cookie").or(request.header("Authorization")), None);

    fixture.clock.advance(Duration::from_mins(59));
    assert_eq!(document(&fixture, &ticket), first);
    assert_eq!(receiver.requests().len(), 1);
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(document(&fixture, &ticket), first);
    assert_eq!(receiver.requests().len(), 2);

    receiver.set_default_response(MockResponse::Status(500));
    fixture.clock.advance(Duration::from_hours(23));
    assert_eq!(document(&fixture, &ticket), first);
    assert_eq!(receiver.requests().len(), 3);
    fixture.clock.advance(Duration::from_hours(1));
    let without = document(&fixture, &ticket);
    assert!(!has_picture(&without));
    assert_eq!(receiver.requests().len(), 4);
    assert_eq!((count(&fixture.service, LogoOutcome::Fetched), count(&fixture.service, LogoOutcome::Failed)), (2, 2));

    // The same as that of a service that has never had the logo.
    let other = fixture
        .second_service_with(|builder| builder.ticket_documents(TicketDocuments::default()).allow_local_webhooks(true));
    assert_eq!(other.get_ticket_document(&fixture.caller, ticket.id), Ok(without));
}

#[test]
fn after_each_failure_the_pause_is_twice_as_long_up_to_an_hour() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(MockResponse::Status(404));
    let fixture = local();
    let ticket = with_logo(&fixture, &receiver.url("/logo.png"));
    let without = document(&fixture, &ticket);
    let mut expected = 1;
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        fixture.clock.advance(Duration::from_mins(pause) - Duration::from_millis(1));
        assert_eq!(document(&fixture, &ticket), without);
        assert_eq!(receiver.requests().len(), expected);
        fixture.clock.advance(Duration::from_millis(1));
        assert_eq!(document(&fixture, &ticket), without);
        expected += 1;
        assert_eq!(receiver.requests().len(), expected);
    }
    receiver.set_default_response(response("200 OK", &png(300, 90, 0)));
    fixture.clock.advance(Duration::from_hours(1));
    let with = document(&fixture, &ticket);
    assert!(has_picture(&with) && !has_picture(&without));
}

#[test]
fn with_any_trouble_the_ticket_comes_without_its_logo() {
    let receiver = WebhookReceiver::start();
    let picture = png(300, 90, 0);
    let largest = 512 * 1024;
    let padding = largest - png(300, 90, 0).len();
    assert_eq!(png(300, 90, padding).len(), largest);
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\x89PNG\r\n\x1a\n".to_vec();
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", receiver.url("/other.png"));
    for (what, response, is_drawn) in [
        ("a picture", response("200 OK", &picture), true),
        ("the largest file", response("200 OK", &png(300, 90, padding)), true),
        ("a larger file", response("200 OK", &png(300, 90, padding + 1)), false),
        ("the widest picture", response("200 OK", &png(2000, 1, 0)), true),
        ("a wider picture", response("200 OK", &png(2001, 1, 0)), false),
        ("another status", response("203 Non-Authoritative Information", &picture), false),
        ("no status", MockResponse::Status(204), false),
        ("a redirect", MockResponse::Bytes(moved.into_bytes()), false),
        ("a page", response("200 OK", b"<!DOCTYPE html><title>Logo</title>"), false),
        ("a damaged picture", response("200 OK", &picture[..60]), false),
        ("a part", MockResponse::Last(cut), false),
        ("no answer", MockResponse::Close, false),
        ("no answer in time", MockResponse::Hang, false),
    ] {
        let hangs = matches!(response, MockResponse::Hang);
        let fixture = local_with(if hangs { Duration::from_millis(100) } else { LONG });
        receiver.set_default_response(response.clone());
        let ticket = with_logo(&fixture, &receiver.url("/logo.png"));
        assert_eq!(has_picture(&document(&fixture, &ticket)), is_drawn, "{what}");
    }
    let paths = receiver.requests();
    assert!(paths.iter().all(|request| request.head.starts_with("GET /logo.png ")), "a redirect was followed");
}

#[test]
fn no_logo_is_fetched_from_an_address_that_is_not_public() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(response("200 OK", &png(300, 90, 0)));
    let fixture = with_documents(documents());
    let port = receiver.address.port();
    for url in
        [receiver.url("/logo.png"), format!("https://127.0.0.1:{port}/logo.png"), format!("https://localhost:{port}/")]
    {
        let ticket = with_logo(&fixture, &url);
        assert!(!has_picture(&document(&fixture, &ticket)), "{url}");
    }
    assert_eq!(receiver.connections(), 0);
    assert_eq!(count(&fixture.service, LogoOutcome::Failed), 3);
}

#[test]
fn logos_are_fetched_over_the_transport_of_the_program() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver("logos.example.com");
    receiver.set_default_response(response("200 OK", &png(300, 90, 300_000)));
    let fixture = Fixture::with_gateway(|builder: Builder| {
        builder.ticket_documents(documents()).logo_transport(issuer.transport())
    });
    let url = |name: &str| format!("https://{name}:{}/logo.png", receiver.address.port());
    let edit = |ticket_type: &mut CreateTicketType| ticket_type.ticket_logo = Some(url("logos.example.com"));
    let ticket = issue_to(&fixture, &fixture.ticket_type_with(&fixture.event(), edit), "Ada");
    assert!(has_picture(&document(&fixture, &ticket)));
    assert_eq!(receiver.requests()[0].server_name.as_deref(), Some("logos.example.com"));
    // The certificate is for another name.
    let ticket = with_logo(&fixture, &url("example.com"));
    assert!(!has_picture(&document(&fixture, &ticket)));
}

#[test]
fn tickets_without_a_logo_do_not_wait_for_those_whose_logo_is_being_fetched() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(MockResponse::Hang);
    let fixture = local();
    let plain = issue_to(&fixture, &fixture.ticket_type(&fixture.event(), 1250, 10), "Ada");
    let tickets: Vec<_> = (0..4).map(|number| with_logo(&fixture, &receiver.url(&format!("/{number}")))).collect();
    std::thread::scope(|scope| {
        for ticket in &tickets {
            // Four at a time may be too many for those that are rendered.
            scope.spawn(|| drop(fixture.service.get_ticket_document(&fixture.caller, ticket.id)));
        }
        receiver.wait_for(4);
        // If they had the two turns of those that are rendered, this would be refused.
        document(&fixture, &plain);
        receiver.close_connections();
    });
}

#[test]
fn an_order_with_one_logo_fetches_it_once() {
    let receiver = WebhookReceiver::start();
    receiver.set_default_response(response("200 OK", &png(300, 90, 0)));
    let fixture = local();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    store_logo(&fixture, &ticket_type, &receiver.url("/logo.png"));
    let order = fixture.paid_order(&ticket_type, 5);
    let document = fixture.service.get_order_document(&fixture.caller, order.id).expect("a document");
    assert!(has_picture(&document));
    assert_eq!(receiver.requests().len(), 1);
}
