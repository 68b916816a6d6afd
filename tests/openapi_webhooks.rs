//! What the document of the interface says of notifications holds for those that are sent.
#![cfg(feature = "server")]
#![expect(clippy::duplicate_mod, reason = "the shop and the server that tests share both write a history")]

mod common;
#[path = "common/http.rs"]
mod http;
#[path = "common/sending.rs"]
mod sending;
#[path = "common/story.rs"]
mod story;

use std::collections::BTreeSet;

use http::Server;
use sending::{Carrier, Office};
use ticketing::webhook::SenderOptions;
use ticketing::{CheckInTicket, CreateWebhook, NotificationType, TextEnum};

#[test]
fn a_notification_of_each_type_is_as_documented() {
    let document = story::Document::of(&Server::start());
    let carrier = Carrier::delivering();
    let office = Office::by(&carrier);
    let _sender = office.start(SenderOptions::default());
    let all = CreateWebhook::new("https://example.com/", NotificationType::ALL.iter().copied());
    office.service.create_webhook(&office.caller, all).expect("an endpoint");
    let order = office.order(&office.seat, 1);
    let order = office.service.mark_order_paid(&office.caller, order.id).expect("paid");
    let code = &order.items[0].issued_tickets[0].code;
    office.service.check_in_ticket(&office.caller, CheckInTicket::new(code)).expect("inside");
    office.service.cancel_order(&office.caller, order.id).expect("cancelled");
    office.issue(&office.seat, 1);

    let mut types = BTreeSet::new();
    for request in carrier.wait_for(5) {
        let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
        let of = body["type"].as_str().expect("a type").to_owned();
        let post = &document.0["webhooks"][&of]["post"];
        let schema = &post["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(document.complaints(schema, &body), [""; 0], "{of}");
        for parameter in post["parameters"].as_array().expect("headers") {
            let name = parameter["name"].as_str().expect("a name");
            assert!(request.headers.iter().any(|(header, _)| *header == name), "{of}: {name}");
        }
        types.insert(of);
    }
    let documented = document.0["webhooks"].as_object().expect("webhooks");
    assert_eq!(types, documented.keys().cloned().collect());
    assert_eq!(types.len(), 4);
}
