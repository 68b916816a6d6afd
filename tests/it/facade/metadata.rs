//! Metadata and references, which an organization attaches to events, ticket types, orders and customers.

use ticketing::event::{ListEvents, UpdateEvent};
use ticketing::id::OrderId;
use ticketing::order::{CreateOrder, ListOrders, OrderStatus};
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::{ListTicketTypes, UpdateTicketType};
use ticketing::{Metadata, Result};

use crate::common::*;

fn metadata(entries: &[(&str, &str)]) -> Metadata {
    entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn field_errors<T>(result: Result<T>) -> Vec<(String, String)> {
    let error = result.err().expect("a refusal");
    error.fields().iter().map(|field| (field.path.clone(), field.message.clone())).collect()
}

impl Fixture {
    fn new_default_order(&self) -> CreateOrder {
        let ticket_type = self.default_ticket_type();
        new_order(ticket_type.event_id, ticket_type.id, 1)
    }

    fn orders_with(&self, request: ListOrders) -> Vec<OrderId> {
        let orders = self.service.list_orders(&self.caller, request).expect("orders");
        orders.data.into_iter().map(|order| order.id).collect()
    }
}

#[test]
fn an_order_keeps_its_reference_and_its_metadata_and_shows_them_everywhere() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let attached = metadata(&[("crm", "17"), ("ä.[0]", "")]);
    let request = fixture.new_default_order().reference("basket-1").metadata(attached.clone());
    let created = service.create_order(&fixture.caller, request).expect("an order").order;
    assert_eq!((created.reference.as_deref(), &created.metadata), (Some("basket-1"), &attached));
    let order = service.get_order(&fixture.caller, created.id).expect("the order");
    assert_eq!(order, created);
    let listed = service.list_orders(&fixture.caller, ListOrders::default()).expect("orders").data.remove(0);
    assert_eq!((listed.reference.as_deref(), &listed.metadata), (Some("basket-1"), &attached));
    let checkout = fixture.gateway.checkouts().remove(0);
    assert_eq!((checkout.order_reference.as_deref(), &checkout.metadata), (Some("basket-1"), &attached));
    let paid = service.payment_completed(&fixture.caller, created.id).expect("a payment");
    assert_eq!((paid.status, paid.metadata), (OrderStatus::Completed, attached));

    let bare = service.create_order(&fixture.caller, fixture.new_default_order()).expect("an order").order;
    assert_eq!((bare.reference, bare.metadata), (None, Metadata::new()));
    let nothing = "SELECT COUNT(*) FROM orders WHERE metadata IS NULL AND reference IS NULL";
    assert_eq!(fixture.stored(nothing), 1);
}

#[test]
fn a_retried_order_has_the_same_metadata_and_another_one_is_another_request() {
    let fixture = Fixture::new();
    let keyed = fixture.caller_with_key("once");
    let request = fixture.new_default_order().metadata([("crm", "17")]);
    let created = fixture.service.create_order(&keyed, request.clone()).expect("an order");
    let retried = fixture.service.create_order(&keyed, request).expect("the same order");
    assert!(retried.replayed && retried.value == created.value);
    let other = fixture.new_default_order().metadata(metadata(&[("crm", "18")]));
    assert_eq!(fixture.service.create_order(&keyed, other), Err(ticketing::Error::IdempotencyKeyReused));
}

#[test]
fn lists_are_filtered_by_the_exact_reference_together_with_other_filters() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let order = |reference: &str| {
        let request = fixture.new_default_order().reference(reference);
        service.create_order(&fixture.caller, request).expect("an order").order.id
    };
    let first = order("basket-1");
    let other = order("basket-10");
    let second = order("basket-1");
    service.cancel_order(&fixture.caller, second).expect("cancelled");
    let by = |reference: &str| ListOrders::default().reference(reference);
    assert_eq!(fixture.orders_with(by("basket-1")), [second, first]);
    assert_eq!(fixture.orders_with(by("basket-1").limit(1).after(second)), [first]);
    assert_eq!(fixture.orders_with(by("basket-10")), [other]);
    assert_eq!(fixture.orders_with(by("basket-1").status(OrderStatus::Pending)), [first]);
    assert_eq!(fixture.orders_with(by("basket-1").customer_email("ADA@example.com")), [second, first]);
    assert_eq!(fixture.orders_with(by("basket-1").event(fixture.event().id)), []);
    for nothing in ["", "BASKET-1", "basket", "%"] {
        assert_eq!(fixture.orders_with(by(nothing)), [], "{nothing}");
    }
    let stranger = fixture.other_organization();
    assert!(service.list_orders(&stranger, by("basket-1")).expect("orders").data.is_empty());

    let event = fixture.event_with(|new| new.reference = Some("tour-3".to_owned()));
    let found = service.list_events(&fixture.caller, ListEvents::default().reference("tour-3")).expect("events").data;
    assert_eq!(found, std::slice::from_ref(&event));
    assert!(service.list_events(&stranger, ListEvents::default().reference("tour-3")).expect("events").data.is_empty());
    let ticket_type = fixture.ticket_type_with(&event, |new| new.reference = Some("balcony".to_owned()));
    fixture.ticket_type(&event, 0, 1);
    let request = ListTicketTypes::default().reference("balcony");
    let found = service.list_ticket_types(&fixture.caller, event.id, request).expect("ticket types").data;
    assert_eq!(found, [ticket_type]);
}

#[test]
fn an_update_replaces_the_metadata_of_an_event_and_of_a_ticket_type_or_keeps_it() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let (old, new) = (metadata(&[("crm", "17"), ("hall", "2")]), metadata(&[("crm", "18")]));
    let event = fixture.event_with(|request| request.metadata = Some(old.clone()));
    assert_eq!(event.metadata, old);
    let update = |changes| service.update_event(&fixture.caller, event.id, changes).expect("updated");
    assert_eq!(update(UpdateEvent::default().title("Another")).metadata, old);
    assert_eq!(update(UpdateEvent::default().metadata(new.clone()).reference("tour-3")).metadata, new);
    let cleared = update(UpdateEvent::default().metadata(Metadata::new()).clear_reference());
    assert_eq!((cleared.metadata, cleared.reference), (Metadata::new(), None));

    let ticket_type = fixture.ticket_type_with(&event, |request| request.metadata = Some(old.clone()));
    assert_eq!(fixture.read_ticket_type(ticket_type.id).metadata, old);
    let changes = UpdateTicketType::default().metadata(new.clone());
    let updated = service.update_ticket_type(&fixture.caller, ticket_type.id, changes).expect("updated");
    assert_eq!((updated.metadata, updated.revision), (new, ticket_type.revision + 1));
}

#[test]
fn a_customer_has_the_metadata_that_was_attached_last() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let order = |attached: Option<Metadata>| {
        let mut request = fixture.new_default_order();
        request.customer.metadata = attached;
        service.create_order(&fixture.caller, request).expect("an order").order
    };
    let (old, new) = (metadata(&[("crm", "17")]), metadata(&[("crm", "18")]));
    let first = order(None);
    assert_eq!(first.customer.metadata, Metadata::new());
    assert_eq!(order(Some(old.clone())).customer.metadata, old);
    assert_eq!(order(None).customer.metadata, old, "it is kept");
    assert_eq!(service.get_order(&fixture.caller, first.id).expect("the order").customer.metadata, old);

    let ticket_type = fixture.default_ticket_type();
    let mut customer = new_customer();
    customer.metadata = Some(new.clone());
    let issued = service.issue_tickets(&fixture.caller, IssueTickets::new(ticket_type.id, customer, 1));
    let ticket = issued.expect("a ticket").issued_tickets.remove(0);
    let ticket = service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
    assert_eq!(ticket.customer.expect("a customer").metadata, new);
    assert_eq!(order(Some(Metadata::new())).customer.metadata, Metadata::new(), "it is cleared");
}

#[test]
fn metadata_has_at_most_16384_bytes_and_names_of_1_to_255_characters() {
    let fixture = Fixture::new();
    let attach = |attached: Metadata| {
        let request = fixture.new_default_order().metadata(attached);
        fixture.service.create_order(&fixture.caller, request)
    };
    // The name has 1 byte, and each of the letters 2.
    let longest = metadata(&[("n", &"ä".repeat(8191)), ("", "")]);
    let mut allowed = longest.clone();
    allowed.remove("");
    allowed.insert("b".to_owned(), String::new());
    assert_eq!(attach(allowed.clone()).expect("16,384 bytes").order.metadata, allowed);
    allowed.insert("b".to_owned(), "x".to_owned());
    let too_long = "must have at most 16384 bytes, names and values together";
    assert_eq!(field_errors(attach(allowed)), [("metadata".to_owned(), too_long.to_owned())]);

    assert!(attach(metadata(&[(&"ä".repeat(255), "x")])).is_ok());
    let names = "must have names of 1 to 255 characters";
    for name in ["", &"a".repeat(256)] {
        assert_eq!(field_errors(attach(metadata(&[(name, "x")]))), [("metadata".to_owned(), names.to_owned())]);
    }
    let nul = field_errors(attach(metadata(&[("a", "x\0")])));
    assert_eq!(nul, [("metadata.a".to_owned(), "must not contain U+0000".to_owned())]);

    let mut customer = fixture.new_default_order();
    customer.customer.metadata = Some(longest);
    let refused = field_errors(fixture.service.create_order(&fixture.caller, customer));
    assert_eq!(refused, [("customer.metadata".to_owned(), names.to_owned())]);
}
