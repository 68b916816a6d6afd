//! The operations: scopes, states and organizations.

use ticketing::documents::TicketDocuments;
use ticketing::error::ResourceKind;
use ticketing::organization::Scope;
use ticketing::{Error, TicketingService};

use crate::common::*;
use crate::documents::tools::*;

#[test]
fn a_document_needs_the_scopes_of_what_it_shows() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let ticket = order.items[0].issued_tickets[0].id;
    let with = |scopes: &[Scope]| fixture.caller.with_scopes(scopes.iter().copied());
    let only_tickets = with(&[Scope::TicketsRead]);
    let only_orders = with(&[Scope::OrdersRead]);
    let service: &TicketingService = &fixture.service;
    assert!(service.get_ticket_document(&only_tickets, ticket).is_ok());
    assert_eq!(service.get_ticket_document(&only_orders, ticket), Err(Error::Forbidden(Scope::TicketsRead)));
    assert_eq!(service.get_order_document(&only_tickets, order.id), Err(Error::Forbidden(Scope::OrdersRead)));
    assert_eq!(service.get_order_document(&only_orders, order.id), Err(Error::Forbidden(Scope::TicketsRead)));
    assert!(service.get_order_document(&with(&[Scope::OrdersRead, Scope::TicketsRead]), order.id).is_ok());
}

#[test]
fn tickets_and_orders_of_others_do_not_exist() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let other = fixture.other_organization();
    let ticket = fixture.service.get_ticket_document(&other, order.items[0].issued_tickets[0].id);
    assert_eq!(ticket, Err(Error::NotFound(ResourceKind::Ticket)));
    assert_eq!(fixture.service.get_order_document(&other, order.id), Err(Error::NotFound(ResourceKind::Order)));
}

#[test]
fn documents_have_to_be_switched_on() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let refused = Err(Error::NotFound(ResourceKind::TicketDocument));
    assert_eq!(fixture.service.get_order_document(&fixture.caller, order.id), refused);
}

#[test]
fn what_is_no_font_is_refused_when_the_service_is_opened() {
    let documents = TicketDocuments::default().font(b"no font".to_vec());
    let refused = TicketingService::temporary().ticket_documents(documents).open().unwrap_err();
    assert_eq!(refused.fields()[0].path, "ticket_documents.fonts[0]");
    assert_eq!(refused.fields()[0].message, "must be a TrueType or OpenType font");
}
