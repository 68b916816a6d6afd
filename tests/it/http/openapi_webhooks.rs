//! The notifications that webhooks receive match the OpenAPI document.

use std::collections::BTreeSet;

use crate::common::http::Server;
use crate::common::transport::FakeTransport;
use crate::common::{Fixture, GatewayBehavior, Notice};
use crate::http::walkthrough::Document;
use ticketing::payment::ManualMethod;
use ticketing::payment::{DisputeStatus, GatewayDispute, GatewayEvent};
use ticketing::ticket::CheckInTicket;
use ticketing::webhook::SenderOptions;
use ticketing::webhook::{CreateWebhook, EventType};

/// An order that is paid twice, disputed and cancelled: eight notifications, with five types that no other sale has.
fn report_money(fixture: &Fixture) {
    let order = fixture.order(fixture.default_ticket_type(), 1);
    let dispute = GatewayDispute::new("dp_1", order.total, "EUR");
    for notice in [
        Notice::paid(&order, order.total, "pi_1"),
        Notice::paid(&order, order.total, "pi_2"),
        Notice::about(&order, GatewayEvent::Dispute(dispute.clone())),
        Notice::about(&order, GatewayEvent::Dispute(dispute.status(DisputeStatus::Won))),
    ] {
        fixture.gateway.know(&notice);
        notice.send(&fixture.service).expect("received");
    }
    fixture.service.run_maintenance().expect("a run");
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
}

#[test]
fn a_notification_of_each_type_matches_the_document() {
    let document = Document::of(&Server::start());
    let transport = FakeTransport::succeeding();
    let fixture = Fixture::with_gateway(|builder| builder.webhook_transport(transport.clone()));
    let _sender = fixture.start_sender(SenderOptions::default());
    let all = CreateWebhook::new("https://example.com/", EventType::ALL.iter().copied());
    fixture.service.create_webhook(&fixture.caller, all).expect("an endpoint");
    let order = fixture.order(fixture.default_ticket_type(), 1);
    let order = fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid");
    let code = &order.items[0].issued_tickets[0].code;
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("checked in");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    fixture.issue(fixture.default_ticket_type(), 1);
    report_money(&fixture);

    let mut types = BTreeSet::new();
    for request in transport.wait_for(13) {
        let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
        let event_type = body["type"].as_str().expect("a type").to_owned();
        let post = &document.0["webhooks"][&event_type]["post"];
        let schema = &post["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(document.schema_errors(schema, &body), [""; 0], "{event_type}");
        for parameter in post["parameters"].as_array().expect("headers") {
            let name = parameter["name"].as_str().expect("a name");
            assert!(request.headers.iter().any(|(header, _)| *header == name), "{event_type}: {name}");
        }
        types.insert(event_type);
    }
    let documented = document.0["webhooks"].as_object().expect("webhooks");
    assert_eq!(types, documented.keys().cloned().collect());
    assert_eq!(types.len(), 9);
}
