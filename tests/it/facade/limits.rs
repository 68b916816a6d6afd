//! Limits on free JSON and on the number of resources, and values that were stored before there were limits.

use serde_json::{Value, json};
use ticketing::Error;
use ticketing::discount::{CreateDiscount, UpdateDiscount};
use ticketing::error::Reason;
use ticketing::event::{Event, EventSettings, UpdateEvent};
use ticketing::order::{CreateOrder, NewOrderItem};
use ticketing::organization::{CreateApiKey, Scope, UpdateOrganization};
use ticketing::payment::ManualMethod;
use ticketing::request::Request;
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, EventType};

use crate::common::threads::run_at_once;
use crate::common::*;

#[test]
fn an_order_has_at_most_500_tickets() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let types: Vec<_> = (0..5)
        .map(|_| {
            fixture.ticket_type_with(&event, |new| {
                new.quantity = 1000;
                new.max_per_order = Some(100);
            })
        })
        .collect();
    let mut request = CreateOrder::new(event.id, new_customer(), types[0].id, 100);
    request.items.extend(types[1..].iter().map(|other| NewOrderItem::new(other.id, 100)));
    let mut too_many = request.clone();
    too_many.items.push(NewOrderItem::new(types[0].id, 1));
    let refused = fixture.service.create_order(&fixture.caller, too_many).expect_err("501 tickets");
    assert_eq!(refused.to_string(), "items must have at most 500 tickets in total");
    let order = fixture.service.create_order(&fixture.caller, request).expect("500 tickets").order;
    let paid = fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid");
    assert_eq!(paid.tickets().count(), 500);
}

#[test]
fn free_json_is_limited_in_size_and_depth_also_from_rust() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let update = |settings: EventSettings| fixture.service.update_event_settings(&fixture.caller, event.id, settings);
    for set in [EventSettings::location_metadata, EventSettings::tracking_pixels] {
        let set = |json: Value| update(set(EventSettings::default(), json));
        set(nested(32)).expect("deep enough");
        assert!(set(nested(33)).expect_err("too deep").to_string().ends_with("must nest at most 32 levels deep"));
        set(json!({"a": nested(31)})).expect("deep enough");
        set(json!({"a": nested(32)})).expect_err("too deep");
        // 16,384 bytes with the quotes.
        set(json!("x".repeat(16_382))).expect("long enough");
        let refused = set(json!("x".repeat(16_383))).expect_err("too long");
        assert!(refused.to_string().ends_with("must have at most 16384 bytes as JSON"), "{refused}");
        // Deeper than the stack of this thread.
        let deep = (0..1_000_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        assert_eq!(set(deep).expect_err("too deep").fields().len(), 1);
    }
    let deep = (0..1_000_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let refused = Request::<EventSettings>::from_value(deep).into_inner().expect_err("too deep");
    assert_eq!(refused.to_string(), "the request must nest at most 64 levels deep");
}

#[test]
fn an_event_has_at_most_500_ticket_types() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let new = || CreateTicketType::new("Seat", eur(1250), 100);
    let create = || fixture.service.create_ticket_type(&fixture.caller, event.id, new());
    let types: Vec<_> = (0..500).map(|_| create().expect("room")).collect();
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an event may have at most 500 ticket types");
    let other = fixture.event();
    fixture.service.create_ticket_type(&fixture.caller, other.id, new()).expect("another event");
    fixture.service.delete_ticket_type(&fixture.caller, types[7].id).expect("unused");
    create().expect("room for one");
    assert_eq!(reason(create()), Reason::LimitReached);
}

/// A new automatic discount with this code.
fn automatic(event: &Event, code: &str) -> CreateDiscount {
    percent_off(event, code, 10).auto_apply(true)
}

#[test]
fn at_most_20_automatic_discounts_of_an_event_are_enabled() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let create = |new: CreateDiscount| fixture.service.create_discount(&fixture.caller, new);
    let first = create(automatic(&event, "AUTO-0")).expect("room");
    for number in 1..20 {
        create(automatic(&event, &format!("AUTO-{number}"))).expect("room");
    }
    let refused = create(automatic(&event, "ONE-MORE")).expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an event may have at most 20 automatic discounts that are enabled");
    // Neither discounts with a code nor disabled ones count.
    create(percent_off(&event, "CODE", 10)).expect("it needs its code");
    let disabled = create(automatic(&event, "DISABLED").is_active(false)).expect("disabled");
    let update = |id, changes| fixture.service.update_discount(&fixture.caller, id, changes);
    assert_eq!(reason(update(disabled.id, UpdateDiscount::default().is_active(true))), Reason::LimitReached);
    // One of the 20 can be changed, and disabled to make room for another.
    update(first.id, UpdateDiscount::default().description("still one of 20")).expect("it counts already");
    update(first.id, UpdateDiscount::default().is_active(false)).expect("disabled");
    update(disabled.id, UpdateDiscount::default().is_active(true)).expect("room");
    assert_eq!(reason(create(automatic(&event, "ONE-MORE"))), Reason::LimitReached);
}

#[test]
fn an_organization_has_at_most_100_webhook_endpoints() {
    let fixture = Fixture::new();
    let new = || CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
    let create = || fixture.service.create_webhook(&fixture.caller, new());
    let endpoints: Vec<_> = (0..100).map(|_| create().expect("room").endpoint).collect();
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an organization may have at most 100 webhook endpoints");
    fixture.service.create_webhook(&fixture.other_organization(), new()).expect("another organization");
    fixture.service.delete_webhook(&fixture.caller, endpoints[3].id).expect("deleted");
    create().expect("room for one");
}

#[test]
fn an_organization_has_at_most_1000_keys_that_are_not_revoked() {
    let fixture = Fixture::new();
    let organization = fixture.caller.organization();
    let create = || fixture.service.create_api_key(organization, CreateApiKey::new("Shop").scopes([Scope::EventsRead]));
    let first = create().expect("room").api_key;
    fixture.database().insert_api_keys(fixture.stored("SELECT id FROM api_keys"), 999);
    let refused = create().expect_err("full");
    assert_eq!(refused.reason(), Some(Reason::LimitReached));
    assert_eq!(refused.to_string(), "an organization may have at most 1000 API keys that are not revoked");
    fixture.service.revoke_api_key(organization, first.id).expect("revoked");
    create().expect("room for one");
    assert_eq!(reason(create()), Reason::LimitReached);
}

#[test]
fn a_limit_on_a_number_holds_for_callers_at_once() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let services = [fixture.second_service(), fixture.second_service()];
    let created = run_at_once(32, |number| {
        services[number % 2].create_discount(&fixture.caller, automatic(&event, &format!("AUTO-{number}")))
    });
    let refused: Vec<_> = created.iter().filter_map(|created| created.as_ref().err()).map(Error::reason).collect();
    assert_eq!(refused, [Some(Reason::LimitReached); 12]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM discounts"), 20);
}

#[test]
fn control_counted_before_the_transaction_the_limit_is_exceeded() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let have_counted = std::sync::Barrier::new(32);
    run_at_once(32, |number| {
        let count = fixture.stored("SELECT COUNT(*) FROM discounts");
        have_counted.wait();
        if count < 20 {
            let code = percent_off(&event, &format!("AUTO-{number}"), 10);
            fixture.service.create_discount(&fixture.caller, code).expect("not automatic, so not limited");
        }
    });
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM discounts"), 32);
}

#[test]
fn stored_values_beyond_a_limit_are_only_refused_when_they_are_changed() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 10);
    let event = ticket_type.event_id;
    let discount = fixture.service.create_discount(&fixture.caller, percent_off(fixture.default_event(), "TEN", 10));
    let discount = discount.expect("a discount");
    let long = "x".repeat(1000);
    let tags: Vec<_> = (0..200).map(|_| long.clone()).collect();
    let types = serde_json::to_string(&vec![fixture.stored("SELECT id FROM ticket_types"); 600]).expect("JSON");
    fixture.database().run(&format!(
        "UPDATE organizations SET name = '{long}';
        UPDATE events SET title = '{long}', search_text = '{long}\n' || slug, cover_image = 'javascript:x',
            tags = '{}', location_metadata = '{}';
        UPDATE ticket_types SET name = '{long}';
        INSERT INTO ticket_logos (ticket_type_id, logo) SELECT id, 'urn:x:y' FROM ticket_types;
        UPDATE discounts SET applicable_ticket_types = '{types}', auto_apply = 1",
        serde_json::to_string(&tags).expect("JSON"),
        json!(long.repeat(20)),
    ));
    let (service, caller) = (&fixture.service, &fixture.caller);

    let read = service.get_event(caller, event).expect("readable");
    assert_eq!((read.title.as_str(), read.tags.len()), (long.as_str(), 200));
    let changed = service.update_event(caller, event, UpdateEvent::default().location("The barn")).expect("changed");
    assert_eq!((changed.title, changed.cover_image.as_deref()), (read.title, Some("javascript:x")));
    let longer = format!("{long}x");
    service.update_event(caller, event, UpdateEvent::default().title(&long)).expect("the title is not changed");
    assert_eq!(paths(service.update_event(caller, event, UpdateEvent::default().title(&longer))), ["title"]);
    let set = |settings: EventSettings| service.update_event_settings(caller, event, settings);
    assert_eq!(set(EventSettings::default().is_featured(true)).expect("changed").tags.len(), 200);
    set(EventSettings::default().tags(tags.clone())).expect("the tags are not changed");
    assert_eq!(paths(set(EventSettings::default().tags(tags[1..].to_vec()))), ["tags"]);
    // A value of the wrong kind is no value that is stored already.
    let wrong = Request::<EventSettings>::from_value(json!({"tags": ["", 5], "locationMetadata": 1}));
    let event_of = |tags: Value| format!("UPDATE events SET tags = '{tags}'");
    fixture.database().run(&event_of(json!(["", ""])));
    assert_eq!(paths(service.update_event_settings(caller, event, wrong)), ["tags[1]"]);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(paths(set(EventSettings::default().tracking_pixels(deep))), ["trackingPixels"]);

    let changes = UpdateTicketType::default().quantity(20);
    let changed = service.update_ticket_type(caller, ticket_type.id, changes).expect("changed");
    assert_eq!((changed.name.as_str(), changed.ticket_logo.as_deref()), (long.as_str(), Some("urn:x:y")));
    let update = |changes| service.update_ticket_type(caller, ticket_type.id, changes);
    update(UpdateTicketType::default().name(&long).ticket_logo("urn:x:y")).expect("both are not changed");
    let changes = UpdateTicketType::default().name(&longer).ticket_logo("urn:x:z");
    assert_eq!(paths(update(changes)), ["name", "ticketLogo"]);

    let changes = UpdateDiscount::default().description("Ten percent");
    let types = service.update_discount(caller, discount.id, changes).expect("changed").applicable_ticket_types;
    assert_eq!(types.len(), 600);
    let update = |changes| service.update_discount(caller, discount.id, changes);
    update(UpdateDiscount::default().applicable_ticket_types(types.clone())).expect("the list is not changed");
    let changes = UpdateDiscount::default().applicable_ticket_types(types[1..].to_vec());
    assert_eq!(paths(update(changes)), ["applicableTicketTypes"]);

    let organization = caller.organization();
    let changes = UpdateOrganization::default().timezone("Europe/Berlin");
    assert_eq!(service.update_organization(organization, changes).expect("changed").name, long);
    let update = |name: &str| service.update_organization(organization, UpdateOrganization::default().name(name));
    update(&long).expect("the name is not changed");
    assert_eq!(paths(update(&longer)), ["name"]);

    // It can still be sold.
    assert_eq!(fixture.try_order(&ticket_type, 2).expect("an order").items[0].quantity, 2);
}
