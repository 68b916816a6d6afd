//! Documents whose logos are at hosts that do not answer.

use std::time::Duration;

use serde_json::json;
use ticketing::documents::TicketDocuments;

use crate::common::http::{Client, Server, event_on_sale, order_of, other_organization_key};
use crate::common::issuer::Issuer;
use crate::common::receiver::MockResponse;
use crate::http::ticket_pages::Paid;

/// Sends a request without waiting for the response.
fn send(server: &Server, path: &str) -> Client {
    let mut client = server.client_with("");
    client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    client
}

#[test]
fn documents_that_wait_for_logos_leave_room_for_those_of_other_organizations() {
    // Until the hosts close their connections, which is after the documents of the third organization have arrived.
    let documents = TicketDocuments::default().logo_timeout(Duration::from_mins(10));
    let issuer = Issuer::new("known");
    let configure = |builder: ticketing::Builder| {
        builder.sandbox_gateway().ticket_documents(documents).logo_transport(issuer.transport())
    };
    let server = Server::with(configure, |options| options.request_timeout = Duration::from_mins(10));
    // Dropped before the server, which waits for its requests, also if the test fails.
    let hosts = issuer.receiver("logos.example.com");
    hosts.set_default_response(MockResponse::Hang);
    let mut waiting = Vec::new();
    for name in ["first", "second"] {
        let mut client = server.client_with(&other_organization_key(&server.service));
        let on_sale = event_on_sale(&mut client, name);
        let port = hosts.address.port();
        let logo = json!({"ticketLogo": format!("https://logos.example.com:{port}/{name}.png")});
        client.patch(&format!("/v1/ticket-types/{}", on_sale.ticket_type), &logo).expect(200);
        let order = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 1));
        waiting.push(send(&server, &order.document(0)));
    }
    hosts.wait_for(2);

    let mut client = server.client();
    let on_sale = event_on_sale(&mut client, "third");
    let order = Paid::new(&mut client, &order_of(&on_sale.event, &on_sale.ticket_type, 1));
    let mut holder = server.client_with("");
    let document = holder.get(&order.document(0)).expect(200);
    let tag = document.header("etag").unwrap();
    assert_eq!(holder.get(&order.document(0)).expect(200).body, document.body);
    holder.send("GET", &order.document(0), &[&format!("If-None-Match: {tag}")], b"").expect(304);
    client.get(&format!("/v1/tickets/{}/document", order.id(0))).expect(200);
    client.get(&format!("/v1/orders/{}/document", order.order)).expect(200);

    hosts.close_connections();
    for client in &mut waiting {
        let document = client.read_response().unwrap().expect(200);
        assert!(document.body.starts_with(b"%PDF-"), "without its logo");
    }
}
