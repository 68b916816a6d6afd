//! Pages that wait for the payment gateway: those of one organization leave room for those of the others.

use std::time::Duration;

use crate::common::hanging_gateway::{HangingControl, HangingGateway};
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of, other_organization_key};

/// An eighth of the calls at once is for pages: two.
const CALLS: usize = 16;

/// A server with a gateway that hangs for its first organization when it is told to. The gateway itself has no limit.
fn start() -> (Server, HangingGateway, HangingControl) {
    let (gateway, control) = HangingGateway::new();
    let set = gateway.clone();
    let server = Server::with(
        |builder| builder.payment_gateway(set).gateway_calls(1000).gateway_timeout(Duration::from_hours(1)),
        |options| options.calls = CALLS,
    );
    (server, gateway, control)
}

/// Sends a request without waiting for the response.
fn send(client: &mut Client, head: &str, body: &str) {
    client.write(format!("{head}\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn sell(client: &mut Client, EventOnSale { event, ticket_type }: &EventOnSale) -> String {
    let created = client.post("/v1/orders", &order_of(event, ticket_type, 1)).expect(201).json();
    created["order"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn pages_of_a_tenant_that_wait_for_the_gateway_leave_room_for_the_pages_of_others() {
    let (server, gateway, control) = start();
    let mut heavy = server.client();
    let on_sale = event_on_sale(&mut heavy, "heavy");
    let orders = [(); 2].map(|()| sell(&mut heavy, &on_sale));
    let mut light = server.client_with(&other_organization_key(&server.service));
    let light_on_sale = event_on_sale(&mut light, "light");
    let light_order = sell(&mut light, &light_on_sale);

    gateway.hang_for(server.organization);
    // The first page of the tenant hangs, and for the second one there is no room.
    let mut waiting = server.client();
    send(&mut waiting, &format!("GET /checkout/return/pay-{} HTTP/1.1", orders[0]), "");
    control.has_hung.recv().expect("a call");
    let page = |order: &str| server.client_with("").get(&format!("/checkout/return/pay-{order}"));
    page(&orders[1]).expect(503);
    page(&light_order).expect(200);
    drop(control.release);
    waiting.read_response().expect("a response").expect(200);
    page(&orders[1]).expect(200);
}
