//! The operations: scopes, states and organizations.

use ticketing::documents::TicketDocuments;
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::UpdateEvent;
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
fn what_is_cancelled_has_no_document() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let order = fixture.paid_order(&ticket_type, 2);
    let [first, second] = [0, 1].map(|position| order.items[0].issued_tickets[position].id);

    service.cancel_ticket(caller, first).expect("cancelled");
    let gone = service.get_ticket_document(caller, first).unwrap_err();
    assert_eq!(gone, Error::Gone(ResourceKind::Ticket));
    assert_eq!((gone.code(), gone.is_retryable()), ("gone", false));
    // The document of the order has the ticket that is left.
    let left = File::new(service.get_order_document(caller, order.id).expect("a document"));
    if let Some(pages) = left.pages() {
        assert_eq!(pages.len(), 1);
    }
    service.cancel_ticket(caller, second).expect("cancelled");
    assert_eq!(service.get_order_document(caller, order.id), Err(Error::Gone(ResourceKind::Order)));

    let pending = fixture.order(&ticket_type, 1);
    assert_eq!(service.get_order_document(caller, pending.id).unwrap_err().reason(), Some(Reason::OrderNotCompleted));
    service.cancel_order(caller, pending.id).expect("cancelled");
    assert_eq!(service.get_order_document(caller, pending.id), Err(Error::Gone(ResourceKind::Order)));
}

#[test]
fn an_order_has_a_page_for_each_ticket() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let order = fixture.paid_order(&ticket_type, 7);
    let document = fixture.service.get_order_document(&fixture.caller, order.id).expect("a document");
    let file = File::new(document);
    let Some(pages) = file.pages() else { return };
    let read: Vec<_> = pages.iter().map(|page| Gray::read(page).qr_codes()).collect();
    let codes = order.items[0].issued_tickets.iter().map(|ticket| vec![(ticket.code.clone(), 2, 2)]);
    assert_eq!(read, codes.collect::<Vec<_>>());
    assert!(
        file.text()
            .expect("pdftotext")
            .contains(&format!("Order {}", order.id.to_string().trim_start_matches("order_")))
    );
}

#[test]
fn the_name_of_a_file_says_the_event_and_which_ticket_it_is() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event_with(|event| event.slug = "jazz-at-noon".to_owned());
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let ticket = |id| service.get_ticket_document(caller, id).expect("a document").file_name;
    let order = |id| service.get_order_document(caller, id).expect("a document").file_name;
    let three = fixture.paid_order(&ticket_type, 3);
    let of_three: Vec<_> = three.items[0].issued_tickets.iter().map(|issued| ticket(issued.id)).collect();
    let expected = [1, 2, 3].map(|number| format!("jazz-at-noon-ticket-{number}-of-3.pdf"));
    assert_eq!((of_three, order(three.id)), (expected.to_vec(), "jazz-at-noon-tickets.pdf".to_owned()));

    // Two orders have documents of the same name, and each its own.
    let one = fixture.paid_order(&ticket_type, 1);
    let other = fixture.paid_order(&ticket_type, 1);
    let [one, other] = [one, other].map(|order| order.items[0].issued_tickets[0].id);
    assert_eq!([ticket(one), ticket(other)], ["jazz-at-noon-ticket.pdf"; 2]);
    let bytes = |id| service.get_ticket_document(caller, id).expect("a document").bytes;
    assert_ne!(bytes(one), bytes(other));

    let renamed = UpdateEvent::default().slug("jazz-at-one");
    service.update_event(caller, event.id, renamed).expect("renamed");
    assert_eq!(ticket(one), "jazz-at-one-ticket.pdf");
}

#[test]
fn what_is_no_font_is_refused_when_the_service_is_opened() {
    let documents = TicketDocuments::default().font(b"no font".to_vec());
    let refused = TicketingService::temporary().ticket_documents(documents).open().unwrap_err();
    assert_eq!(refused.fields()[0].path, "ticket_documents.fonts[0]");
    assert_eq!(refused.fields()[0].message, "must be a TrueType or OpenType font");
}
