//! The routes of the [table of operations](crate::facade::operations): status, `Location` header, scope, and isolation
//! between organizations.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ticketing::organization::{ListOrganizations, Scope};

use crate::common::http::{Client, EventOnSale, Response, Server, event_on_sale, order_of, other_organization_key};
use crate::common::{FakeGateway, GatewayBehavior};
use crate::facade::operation::{Foreign, Ids, Kind, Operation, Resources};
use crate::facade::operations::OPERATIONS;
use crate::http::walkthrough::Document;

/// The operations that have a route.
pub(crate) fn routes() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| operation.status != 0)
}

/// Sends the example of an operation with these header lines.
pub(crate) fn send(
    client: &mut Client,
    document: &Document,
    operation: &Operation,
    ids: &Ids,
    lines: &[&str],
) -> Response {
    let route = document.operation(operation.name);
    let path = route.path_with((operation.path)(ids).iter().map(String::as_str));
    let request = (operation.request)(ids).map(|request| request.json);
    match (operation.kind, request) {
        (_, None) => client.send(&route.method, &path, lines, b""),
        (Kind::Read, Some(query)) => {
            let members = query.as_object().unwrap().iter();
            let query: Vec<_> = members.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
            client.send(&route.method, &format!("{path}?{}", query.join("&")), lines, b"")
        }
        (_, Some(body)) => {
            let lines = [&["Content-Type: application/json"], lines].concat();
            client.send(&route.method, &path, &lines, body.to_string().as_bytes())
        }
    }
}

/// The operations of optional features. Their tests are in the folders of these features.
fn is_optional(name: &str) -> bool {
    name.starts_with("export_")
        || name.contains("mail")
        || ["resend_tickets", "resend_ticket"].contains(&name)
        || [
            "get_settlement",
            "get_order_document",
            "get_ticket_document",
            "get_allocation_document",
            "renew_ticket_link",
        ]
        .contains(&name)
}

#[test]
fn the_table_has_every_operation_of_the_openapi_document() {
    let document = Document::of(&Server::start());
    let documented = document.operations().into_iter().filter(|operation| operation.path.starts_with("/v1/"));
    let documented = documented.map(|operation| operation.name).filter(|name| !is_optional(name));
    let listed = routes().map(|operation| operation.name.to_owned());
    assert_eq!(listed.collect::<BTreeSet<_>>(), documented.collect());
}

#[test]
fn every_operation_requires_its_scope_and_no_other_and_has_its_status() {
    let document = Document::of(&Server::start());
    for operation in routes() {
        let (name, scope) = (operation.name, operation.scope);
        let Resources { fixture, ids: [ids, _] } = Resources::new();
        let server = Server::of(fixture);
        let client_with = |scopes: &[Scope]| server.client_with(&server.key_with(scopes.iter().copied()));
        let others: Vec<_> = Scope::ALL.iter().copied().filter(|other| *other != scope).collect();
        let refused = send(&mut client_with(&others), &document, operation, &ids, &[]).expect(403);
        assert_eq!(refused.code(), "forbidden", "{name}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(scope.as_str()), "{name}");

        let response = send(&mut client_with(&operation.scopes()), &document, operation, &ids, &[]);
        assert_eq!(response.status, operation.status, "{name}: {response:?}");
        let route = document.operation(name);
        let scopes: Vec<_> = operation.scopes().into_iter().map(Scope::as_str).collect();
        assert_eq!(route.spec["x-scope"], scopes.join(" "), "{name}");
        document.check(&route, &response);
        let success = document.resolve(&route.spec["responses"][operation.status.to_string()]);
        let location = response.header("location");
        assert_eq!(location.is_some(), success["headers"].get("Location").is_some(), "{name}");
        if let Some(location) = location {
            let body = response.json();
            let created = if body["id"].is_null() { &body["order"] } else { &body };
            assert_eq!(server.client().get(location).expect(200).json()["id"], created["id"], "{name}");
        }
        if operation.status == 204 {
            assert!(response.body.is_empty(), "{name}");
            assert_eq!((response.header("content-type"), response.header("content-length")), (None, None), "{name}");
        }
    }
}

#[test]
fn resources_of_another_organization_are_answered_like_unknown_ones() {
    let Resources { fixture, ids: [others, _] } = Resources::new();
    let server = Server::of(fixture);
    let document = Document::of(&server);
    let mut client = server.client_with(&other_organization_key(&server.service));
    for operation in routes() {
        let [foreign, unknown] = [others, Ids::unknown()].map(|ids| send(&mut client, &document, operation, &ids, &[]));
        match operation.foreign {
            Foreign::Unknown(_) => {
                let detail = unknown.expect(404).problem()["detail"].clone();
                assert_eq!(foreign.expect(404).problem()["detail"], detail, "{}", operation.name);
            }
            Foreign::Field(field) => assert_eq!(
                (foreign.paths(), unknown.paths()),
                (vec![field.to_owned()], vec![field.to_owned()]),
                "{}",
                operation.name
            ),
            Foreign::Nothing => {}
        }
    }
}

#[test]
fn the_key_of_a_door_link_checks_tickets_in_at_its_event_until_it_is_revoked() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let list = format!("/v1/events/{event}/door-links");
    let link = client.post(&list, &json!({"name": "Gate A"})).expect(201).json();
    let (page, key) = link["url"].as_str().unwrap().rsplit_once('/').unwrap();
    assert!(page.ends_with(&format!("/door/#{event}")), "{page}");

    let mut gate = server.client_with(key);
    gate.get("/v1/events").expect(403);
    gate.get("/v1/events/event_0000000000001/roster").expect(404);
    let roster = format!("/v1/events/{event}/roster");
    let answer = gate.get(&roster).expect(200).json();
    assert_eq!((&answer["gate"], &answer["complete"]), (&json!("Gate A"), &json!(true)));
    let scan = json!({"id": "0192f0c1-2a3b-7c4d-8e5f-0123456789ab", "code": "0000", "kind": "IN", "scannedAt": "2026-06-01T12:00:00Z"});
    let report = json!({"device": "Phone", "scans": [scan]});
    let result = gate.post("/v1/tickets/scans", &report).expect(200).json()["results"][0].clone();
    assert_eq!(result["outcome"], "UNKNOWN_CODE");

    server.service.run_maintenance().expect("a run");
    let links = client.get(&list).expect(200).json();
    assert!(links["data"][0]["lastUsedAt"].is_string(), "{links}");
    assert!(!links.to_string().contains(key), "the key is only in the first answer: {links}");
    for _ in 0..2 {
        client.delete(&format!("{list}/{}", link["id"].as_str().unwrap())).expect(204);
        assert_eq!(gate.get(&roster).expect(401).code(), "unauthenticated", "on the same connection");
    }
}

#[test]
#[cfg(feature = "documents")]
fn the_document_of_an_order_needs_both_documented_scopes() {
    let server = Server::start();
    let document = server.client().get("/openapi.json").expect(200).json();
    let operation = &document["paths"]["/v1/orders/{orderId}/document"]["get"];
    let scopes = [Scope::OrdersRead, Scope::TicketsRead];
    let names = scopes.map(|scope| scope.to_string());
    assert_eq!(operation["security"], json!([{"ApiKey": names}]));
    assert_eq!(operation["x-scope"], json!(names.join(" ")));
    let status = |scopes: &[Scope]| {
        let mut client = server.client_with(&server.key_with(scopes.iter().copied()));
        client.send("GET", "/v1/orders/order_1KT1GW6G01VJ8/document", &[], b"").status
    };
    assert_eq!([status(&scopes[..1]), status(&scopes[1..]), status(&scopes)], [403, 403, 404]);
}

#[test]
fn refunds_are_listed_without_the_text_of_the_gateway() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let caller = server
        .service
        .act_for(server.service.list_organizations(ListOrganizations::default()).unwrap().data[0].id)
        .unwrap();
    let mut cancelled = |behavior: GatewayBehavior| {
        gateway.on_refund(behavior);
        let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json()["order"].clone();
        let id = order["id"].as_str().unwrap();
        server.service.payment_completed(&caller, id.parse().unwrap()).unwrap();
        client.post_empty(&format!("/v1/orders/{id}/cancel")).expect(200);
        order
    };
    let done = cancelled(GatewayBehavior::Succeed);
    let refused = cancelled(GatewayBehavior::Refuse);
    let mut list = |query: &str| client.get(&format!("/v1/refunds{query}")).expect(200).json();
    let page = list("?limit=1");
    let newest = &page["data"][0];
    assert_eq!(
        *newest,
        json!({
            "id": newest["id"], "orderId": refused["id"], "paymentId": newest["paymentId"], "gateway": "gateway",
            "source": "ORDER", "amount": refused["total"], "returned": 0, "owed": refused["total"], "currency": "EUR",
            "reason": null, "reference": null, "status": "REFUSED", "attempts": 1,
            "lastError": "the payment gateway does not make the refund; return the money manually",
            "requiresManualRefund": true,
            "createdAt": newest["createdAt"], "updatedAt": newest["updatedAt"],
        })
    );
    assert!(newest["id"].as_str().unwrap().starts_with("refund_"));
    assert!(newest["paymentId"].as_str().unwrap().starts_with("payment_"));
    assert_eq!(page["nextCursor"], newest["id"]);
    let last = list(&format!("?limit=1&cursor={}", newest["id"].as_str().unwrap()));
    assert_eq!((&last["data"][0]["orderId"], &last["nextCursor"]), (&done["id"], &Value::Null));
    assert_eq!(list(&format!("?status=DONE&eventId={event}"))["data"], last["data"]);
    assert_eq!(list("?eventId=event_0000000000001")["data"], json!([]));
    assert_eq!(list(&format!("?orderId={}", done["id"].as_str().unwrap()))["data"], last["data"]);
    client.get("/v1/refunds?status=PAID").expect(422);
}

#[test]
fn an_amount_is_refunded_only_with_an_idempotency_key() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut sale = order_of(&event, &ticket_type, 2);
    sale["payment"] = json!("PAID");
    let sold = client.post("/v1/orders", &sale).expect(201).json();
    let path = format!("/v1/orders/{}/refunds", sold["order"]["id"].as_str().unwrap());
    for amount in [json!(3), json!(0)] {
        let refused = client.post(&path, &json!({"amount": amount})).expect(400);
        assert_eq!(refused.code(), "idempotency-key-required");
    }
    assert_eq!(client.post_with_key("nothing", &path, &json!({"amount": 0})).expect(422).paths(), ["amount"]);
    for replayed in [None, Some("true")] {
        let refunded = client.post_with_key("apology", &path, &json!({"amount": 3})).expect(200);
        assert_eq!((&refunded.json()["amount"], refunded.header("idempotent-replayed")), (&json!(3), replayed));
    }
    let summary = client.get(&format!("/v1/events/{event}/summary")).expect(200).json();
    assert_eq!(summary["manualRefundTotal"], 3);
    let ticket = &sold["issuedTickets"][0]["id"];
    assert_eq!(client.post(&path, &json!({"tickets": [ticket]})).expect(200).json()["amount"], 12.5);
}

#[test]
fn health_checks_need_no_key() {
    let server = Server::start();
    let mut client = server.client_with("");
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(client.get(path).expect(200).json(), json!({"status": "ok"}));
        assert!(client.send("HEAD", path, &[], b"").expect(200).body.is_empty());
    }
}
