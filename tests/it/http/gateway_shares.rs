//! Requests that wait for the payment gateway: those of one organization leave room for those of the others.

use std::time::Duration;

use crate::common::hanging_gateway::{HangingControl, HangingGateway};
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, order_of, other_organization_key};

/// With 16 calls at once, 2 are kept for look-ups, and 10 may wait for the gateway. An organization alone gets half of
/// them.
const CALLS: usize = 16;
const SHARE: usize = 5;

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
fn a_tenant_whose_orders_all_wait_for_the_gateway_leaves_requests_to_others() {
    let (server, gateway, control) = start();
    let mut heavy = server.client();
    let on_sale = event_on_sale(&mut heavy, "heavy");
    let mut light = server.client_with(&other_organization_key(&server.service));
    let light_on_sale = event_on_sale(&mut light, "light");

    gateway.hang_for(server.organization);
    let order = order_of(&on_sale.event, &on_sale.ticket_type, 1).to_string();
    let head = format!("POST /v1/orders HTTP/1.1\r\nX-Api-Key: {}\r\nContent-Type: application/json", server.key);
    let mut waiting: Vec<Client> = (0..SHARE).map(|_| server.client()).collect();
    for client in &mut waiting {
        send(client, &head, &order);
        control.has_hung.recv().expect("a call");
    }
    // The control: further requests of the same tenant find no room.
    let mut refused: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for client in &mut refused {
        send(client, &head, &order);
    }
    for client in &mut refused {
        let response = client.read_response().expect("a response").expect(503);
        assert!(response.header("retry-after").is_some());
    }
    for _ in 0..10 {
        sell(&mut light, &light_on_sale);
    }
    drop(control.release);
    for client in &mut waiting {
        client.read_response().expect("a response").expect(201);
    }
    sell(&mut heavy, &on_sale);
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
    // An eighth of the calls is for pages: two. The first one of the tenant hangs, and for the second one there is no
    // room.
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
