//! Requests as values of serde: the JSON of HTTP, in any format and inside other values.

use serde_json::Value;
use ticketing::discount::ListDiscounts;
use ticketing::event::{CreateEvent, EventStatus, ListEvents, UpdateEvent};
use ticketing::order::{CreateOrder, ListOrders};
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope, UpdateOrganization};
use ticketing::payment::{ListRefunds, RefundStatus};
use ticketing::ticket::ListTickets;
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};
use ticketing::webhook::{ListWebhookDeliveries, ListWebhooks};
use ticketing::{Amount, Change, Timestamp};

use super::operation::{Ids, rewritten};
use super::operations::OPERATIONS;
use crate::common::*;

/// The same JSON with all timestamps in the format in which they are written.
fn with_milliseconds(json: &Value) -> Value {
    match json {
        Value::String(text) => {
            text.parse::<Timestamp>().map_or_else(|_| json.clone(), |timestamp| timestamp.to_string().into())
        }
        Value::Array(items) => items.iter().map(with_milliseconds).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), with_milliseconds(value))).collect()
        }
        _ => json.clone(),
    }
}

#[test]
fn every_request_of_the_openapi_examples_is_written_as_it_was_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/openapi/examples.json");
    let examples: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the examples")).expect("JSON");
    let mut number = 0;
    for operation in OPERATIONS.iter().filter(|operation| operation.changes()) {
        let Some(of_table) = (operation.request)(&Ids::unknown()) else { continue };
        let request = &examples[operation.name]["request"];
        assert_eq!((of_table.rewrite)(request.clone()), with_milliseconds(request), "{}", operation.name);
        number += 1;
    }
    let is_body = |request: &Value| request.as_object().is_some_and(|members| !members.is_empty());
    // Those of mails are tested with them.
    let is_of_mail = |name: &str| name.contains("mail") || name.starts_with("resend_ticket");
    let with_body = examples.as_object().expect("operations").iter();
    let with_body = with_body.filter(|(name, example)| is_body(&example["request"]) && !is_of_mail(name));
    assert_eq!(with_body.count(), number);
}

#[test]
fn an_absent_field_stays_absent_and_null_clears() {
    let changes = UpdateTicketType::default().name("Balcony").clear_valid_from();
    assert_eq!(json!(changes), json!({"name": "Balcony", "validFrom": null}));
    let read: UpdateTicketType = serde_json::from_value(json!({"name": "Balcony", "validFrom": null})).expect("it");
    assert_eq!((&read.valid_from, &read.valid_until), (&Change::Set(None), &Change::Keep));
    assert_eq!(read, changes);
    assert_eq!(json!(UpdateEvent::default()), json!({}));
    assert_eq!(json!(UpdateOrganization::default().clear_reference()), json!({"reference": null}));

    let event = CreateEvent::new("Jazz", "jazz", at(EVENT_START));
    assert_eq!(
        json!(event),
        json!({"title": "Jazz", "slug": "jazz", "startDate": at(EVENT_START), "deliveryMethod": "DIGITAL"})
    );
}

#[test]
fn a_list_request_has_the_names_of_the_query_string() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let request = ListOrders::default().event(event.id).customer_email("ada@example.com").limit(50);
    let json = json!({"eventId": event.id, "customerEmail": "ada@example.com", "limit": 50});
    assert_eq!(json!(request), json);
    assert_eq!(serde_json::from_value::<ListOrders>(json).expect("a request"), request);
    let second_page = ListEvents::default().status(EventStatus::Drafted).after(event.id);
    assert_eq!(json!(second_page), json!({"status": "DRAFTED", "cursor": event.id}));
    assert_eq!(rewritten::<ListEvents>(json!(second_page)), json!(second_page));
    assert_eq!(
        rewritten::<ListRefunds>(json!({"status": "DUE"})),
        json!(ListRefunds::default().status(RefundStatus::Due))
    );
    for json in [
        json!(ListDiscounts::default()),
        json!(ListTickets::default()),
        json!(ListTicketTypes::default()),
        json!(ListWebhooks::default()),
        json!(ListWebhookDeliveries::default()),
    ] {
        assert_eq!(json, json!({}));
    }
}

#[test]
fn the_error_names_every_field_that_is_missing_or_wrong() {
    let json = r#"{"customer": {"name": "Ada"}, "items": [{"ticketId": "type_1", "quantity": "2"}, 3], "language": 1}"#;
    let error = serde_json::from_str::<CreateOrder>(json).expect_err("it is wrong").to_string();
    let expected = "eventId is required; customer.email is required; items[0].quantity must be a number; \
        items[1] must be an object; language must be a string";
    assert!(error.starts_with(expected), "{error}");
    let error = serde_json::from_str::<UpdateEvent>("[]").expect_err("it is wrong").to_string();
    assert!(error.starts_with("the request must be an object"), "{error}");
    let error = serde_json::from_str::<UpdateEvent>(r#"{"title": "A", "title": "B"}"#).expect_err("twice").to_string();
    assert!(error.starts_with("title is given more than once"), "{error}");
    let error = serde_json::from_str::<UpdateEvent>(r#"{"title": null}"#).expect_err("no title").to_string();
    assert!(error.starts_with("title must be a string"), "{error}");
}

#[test]
fn limits_of_a_request_that_serde_read_are_checked_by_the_operation() {
    let fixture = Fixture::new();
    let json = json!({"title": "J", "slug": "Jazz!", "startDate": at(EVENT_START), "deliveryMethod": "DIGITAL"});
    let event: CreateEvent = serde_json::from_value(json).expect("the right shape");
    assert_eq!(paths(fixture.service.create_event(&fixture.caller, event)), ["title", "slug"]);
}

#[test]
fn requests_are_parts_of_other_values() {
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ImportedEvent {
        #[serde(flatten)]
        event: CreateEvent,
        ticket_types: Vec<CreateTicketType>,
    }
    let fixture = Fixture::new();
    let json = json!({
        "title": "Jazz", "slug": "jazz", "startDate": at(EVENT_START), "deliveryMethod": "DIGITAL",
        "ticketTypes": [{"name": "Seat", "price": 12.5, "quantity": 100}, {"name": "Standing", "price": 8, "quantity": 9}],
    });
    let imported: ImportedEvent = serde_json::from_value(json.clone()).expect("an import");
    assert_eq!(serde_json::to_value(&imported).expect("JSON"), json);
    let event = fixture.service.create_event(&fixture.caller, imported.event).expect("an event");
    let prices: Vec<_> = imported
        .ticket_types
        .into_iter()
        .map(|new| fixture.service.create_ticket_type(&fixture.caller, event.id, new).expect("a type").price)
        .collect();
    assert_eq!(prices, [eur(1250), eur(800)]);
}

#[test]
fn amounts_of_up_to_15_digits_are_exact() {
    for text in ["0", "0.1", "12.5", "999999999.99", "1000000000", "123456789.012345", "0.000000000001"] {
        let json = format!(r#"{{"name": "Seat", "price": {text}, "quantity": 1}}"#);
        let expected: Amount = text.parse().expect(text);
        assert_eq!(serde_json::from_str::<CreateTicketType>(&json).expect(text).price, expected, "{text}");
        let value: Value = serde_json::from_str(&json).expect(text);
        let written = json!(serde_json::from_value::<CreateTicketType>(value.clone()).expect(text));
        assert_eq!(written["price"].to_string().parse(), Ok(expected), "{text}");
    }
}

#[test]
fn organizations_and_keys_are_read_with_their_defaults() {
    let organization: CreateOrganization = serde_json::from_value(json!({"name": "Jazz Cellar"})).expect("it");
    assert_eq!(organization, CreateOrganization::new("Jazz Cellar"));
    let key: CreateApiKey =
        serde_json::from_value(json!({"name": "Door", "scopes": ["tickets:check-in"]})).expect("it");
    assert_eq!(key, CreateApiKey::new("Door").scopes([Scope::TicketsCheckIn]));
    assert_eq!(serde_json::from_value::<CreateApiKey>(json!(key)).expect("it"), key);
}
