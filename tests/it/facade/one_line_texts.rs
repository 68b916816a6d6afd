//! Texts of one line, and of several: what is cut off, what is refused, and what an earlier version has stored.

use serde_json::{Value, json};
use ticketing::event::{CreateEvent, EventSettings, ListEvents, UpdateEvent};
use ticketing::order::{CreateOrder, NewCustomer, ShippingAddress};
use ticketing::organization::{CreateApiKey, CreateOrganization, UpdateOrganization};
use ticketing::payment::ManualMethod;
use ticketing::request::Request;
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};
use ticketing::{Amount, Error, Result};

use crate::common::database::params;
use crate::common::*;

/// White space of every kind, at the beginning and at the end of a text.
const BEFORE: &str = " \t\r\n\u{a0}\u{200b}\u{feff}\u{2003}\u{3000}\u{2028}";
const AFTER: &str = "\u{2029}\u{feff}\u{200b}\u{a0}\u{85} \n";

fn spaced(text: &str) -> String {
    format!("{BEFORE}{text}{AFTER}")
}

fn error_paths<T: std::fmt::Debug>(result: Result<T>) -> Vec<String> {
    let error = result.expect_err("an error");
    error.fields().iter().map(|error| error.path.clone()).collect()
}

/// What an event has of the texts that requests set.
fn texts_of(event: &ticketing::event::Event) -> Value {
    json!([event.title, event.location, event.description, event.reference])
}

#[test]
fn white_space_at_the_ends_of_texts_is_cut_off_from_rust_and_from_json() {
    let fixture = Fixture::new();
    let create = || CreateEvent::new(spaced("Jazz  Night"), "jazz", at("2026-07-01T18:00:00Z"));
    let from_rust = create().location(spaced("Hall 3")).description(spaced("Late\nand loud")).reference(spaced("17"));
    let from_json = json!({
        "title": spaced("Jazz  Night"), "slug": "jazz-2", "startDate": "2026-07-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "location": spaced("Hall 3"), "description": spaced("Late\nand loud"), "reference": spaced("17"),
    });
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = service.create_event(caller, from_rust).expect("an event");
    assert_eq!(texts_of(&event), json!(["Jazz  Night", "Hall 3", "Late\nand loud", "17"]));
    let by_json = service.create_event(caller, Request::from_value(from_json)).expect("an event");
    assert_eq!(texts_of(&by_json), texts_of(&event));
    let update = UpdateEvent::default().title(spaced("Opera"));
    assert_eq!(service.update_event(caller, event.id, update).expect("an event").title, "Opera");
    // A filter too. Entries that become equal are not unique.
    let listed = service.list_events(caller, ListEvents::default().reference(spaced("17"))).expect("a page");
    assert_eq!(listed.data.len(), 2);
    let settings = EventSettings::default().tags(["a", " b\n"]);
    assert_eq!(service.update_event_settings(caller, event.id, settings).expect("an event").tags, ["a", "b"]);
    let settings = EventSettings::default().tags(["a", "a "]);
    assert_eq!(error_paths(service.update_event_settings(caller, event.id, settings)), ["tags[1]"]);
}

#[test]
fn the_texts_of_an_order_are_stored_without_white_space_at_their_ends() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|event| event.accepts_company = Some(true));
    let ticket_type = CreateTicketType::new(spaced("Stalls"), Amount::whole(10), 100);
    let ticket_type = ticket_type.access_areas([spaced("Hall")]).ticket_text(spaced("One\r\ntwo"));
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = service.create_ticket_type(caller, event.id, ticket_type).expect("a type");
    assert_eq!(ticket_type.name, "Stalls");
    assert_eq!(ticket_type.access_areas, ["Hall"]);
    assert_eq!(ticket_type.ticket_text.as_deref(), Some("One\ntwo"), "the lines are kept");
    let discount = percent_off(&event, &spaced("EARLY"), 10).description(spaced("For friends"));
    let discount = service.create_discount(caller, discount).expect("a discount");
    assert_eq!((discount.code.as_str(), discount.description.as_deref()), ("EARLY", Some("For friends")));

    let customer = NewCustomer::new(spaced("Ada"), spaced("ada@example.com"));
    let customer = customer.company_name(spaced("Ada Ltd")).locale(spaced("de-AT"));
    let order = CreateOrder::new(event.id, customer, ticket_type.id, 1).discount_code(spaced("early"));
    let order = order.affiliate_code(spaced("FRIEND")).reference(spaced("17")).language(spaced("de"));
    let address = ShippingAddress::new(spaced("Main Street 1"), spaced("1010"), spaced("Wien"), "AT");
    let order = service.create_order(caller, order.shipping_address(address)).expect("an order").order;
    assert_eq!((order.customer.name.as_str(), order.customer.email.as_str()), ("Ada", "ada@example.com"));
    assert_eq!(order.discount_code.as_deref(), Some("EARLY"));
    assert_eq!((order.affiliate_code.as_deref(), order.reference.as_deref()), (Some("FRIEND"), Some("17")));
    let details = service.get_order_details(caller, order.id).expect("details");
    assert_eq!(details.company_name.as_deref(), Some("Ada Ltd"));
    assert_eq!((details.locale.as_deref(), details.language.as_deref()), (Some("de-AT"), Some("de")));
    let address = details.shipping_address.expect("an address");
    assert_eq!([address.street, address.zip, address.city], ["Main Street 1", "1010", "Wien"]);
    // White space alone is empty: for a field that may be empty, nothing; for a required one, an error.
    let empty = NewCustomer::new("Ada", "ada@example.com").locale(" \u{200b}");
    let order = service.create_order(caller, CreateOrder::new(event.id, empty, ticket_type.id, 1)).expect("an order");
    let details = service.get_order_details(caller, order.order.id).expect("details");
    assert_eq!(details.locale.as_deref(), Some(""));
    let nameless = NewCustomer::new("\u{a0}\u{200b}\u{feff} ", "ada@example.com").company_name("A\nB");
    let refused = service.create_order(caller, CreateOrder::new(event.id, nameless, ticket_type.id, 1));
    assert_eq!(error_paths(refused), ["customer.name", "customer.companyName"]);
}

#[test]
fn names_of_organizations_and_of_keys_are_one_line_that_can_be_read() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let organization = CreateOrganization::new(spaced("Cellar")).reference(spaced("customer-17"));
    let organization = service.create_organization(organization).expect("an organization");
    assert_eq!((organization.name.as_str(), organization.reference.as_deref()), ("Cellar", Some("customer-17")));
    let again = service.create_organization(CreateOrganization::new("Other").reference("customer-17 "));
    assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
    let key = CreateApiKey::new(spaced("Entrance"));
    assert_eq!(service.create_api_key(organization.id, key).expect("a key").api_key.name, "Entrance");
    for name in ["A\nB", "A\u{1b}B", "A\u{2028}B", " \u{a0}\u{200b}", ""] {
        assert_eq!(error_paths(service.create_organization(CreateOrganization::new(name))), ["name"], "{name:?}");
        let update = UpdateOrganization::default().name(name);
        assert_eq!(error_paths(service.update_organization(organization.id, update)), ["name"], "{name:?}");
        let key = CreateApiKey::new(name);
        assert_eq!(error_paths(service.create_api_key(organization.id, key)), ["name"], "{name:?}");
    }
}

#[test]
fn a_location_has_at_most_five_lines() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let located = |location: &str| {
        let update = UpdateEvent::default().location(location);
        fixture.service.update_event(&fixture.caller, event.id, update).map(|event| event.location.expect("a location"))
    };
    for (given, stored) in [
        ("Hall 3\r\n1 Main Street\r\n12345 Town\r\n", "Hall 3\n1 Main Street\n12345 Town"),
        ("Hall 3\r1 Main Street\u{2028}Town", "Hall 3\n1 Main Street\nTown"),
        ("1\n2\n3\n4\n5\n\n", "1\n2\n3\n4\n5"),
    ] {
        assert_eq!(located(given).as_deref(), Ok(stored));
    }
    for refused in ["1\n2\n3\n4\n5\n6", "Hall\t3", "Hall\u{1}3", "\n \n \n"] {
        assert_eq!(error_paths(located(refused)), ["location"], "{refused:?}");
    }
}

#[test]
fn texts_that_an_earlier_version_stored_stay_and_are_refused_only_as_a_change() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 10);
    let database = fixture.database();
    let sql = "UPDATE events SET title = ?1, location = ?2, reference = ?3";
    database.execute(sql, params!["Jazz\nNight ", "1\r\n2\r\n3\r\n4\r\n5\r\n6", " 17\u{1}"]);
    database.execute("UPDATE ticket_types SET name = ?1, access_areas = ?2", params![" \u{200b} ", r#"["a\tb"]"#]);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let stored = service.get_event(caller, event.id).expect("an event");
    assert_eq!(stored.title, "Jazz\nNight ");
    // A client that sends back what it has read changes nothing but what it means to change.
    let unchanged = UpdateEvent::default().title("Jazz\nNight ").location("1\r\n2\r\n3\r\n4\r\n5\r\n6");
    let changed = unchanged.clone().reference(" 17\u{1}").description("Late and loud");
    let updated = service.update_event(caller, event.id, changed).expect("an event");
    assert_eq!(updated.description.as_deref(), Some("Late and loud"));
    assert_eq!(
        (&updated.title, &updated.location, &updated.reference),
        (&stored.title, &stored.location, &stored.reference)
    );
    let other = unchanged.clone().title("Jazz\nDay");
    assert_eq!(error_paths(service.update_event(caller, event.id, other)), ["title"]);
    let update = UpdateEvent::default().title(" Jazz Night ");
    assert_eq!(service.update_event(caller, event.id, update).expect("an event").title, "Jazz Night");
    assert_eq!(error_paths(service.update_event(caller, event.id, unchanged)), ["title"], "it has another title now");
    let update = UpdateTicketType::default().name(" \u{200b} ").access_areas(["a\tb"]).quantity(20);
    let updated = service.update_ticket_type(caller, ticket_type.id, update).expect("a type");
    assert_eq!((updated.name.as_str(), updated.quantity), (" \u{200b} ", 20));
    assert_eq!(updated.access_areas, ["a\tb"]);
    // What it prints and sells goes on as before.
    let order = service.create_order(caller, fixture_order(&event, &ticket_type)).expect("an order").order;
    service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
}

fn fixture_order(event: &ticketing::event::Event, ticket_type: &ticketing::ticket_type::TicketType) -> CreateOrder {
    CreateOrder::new(event.id, NewCustomer::new("Ada", "ada@example.com"), ticket_type.id, 1)
}

#[test]
fn an_organization_of_an_earlier_version_is_found_by_its_exact_reference() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let organization = CreateOrganization::new("Cellar").reference("17");
    let organization = service.create_organization(organization).expect("an organization");
    fixture.database().execute("UPDATE organizations SET reference = ?1 WHERE reference = ?2", params![" 17\n", "17"]);
    assert_eq!(service.get_organization_by_reference(" 17\n").expect("it").id, organization.id);
    assert_eq!(service.get_organization_by_reference("17").ok(), None);
}
