//! The documents of allocations, and of tickets that were given to a customer.

use ticketing::allocation::{CreateAllocation, GetAllocationDocument, ImportTickets, ImportedTicket};
use ticketing::documents::TicketDocuments;
use ticketing::error::{Reason, ResourceKind};
use ticketing::id::AllocationId;
use ticketing::ticket::{IssuedTicket, ListTickets};
use ticketing::ticket_type::TicketType;
use ticketing::{Error, page};

use super::tools::{File, with_documents};
use crate::common::*;

fn create(fixture: &Fixture, ticket_type: &TicketType, request: CreateAllocation) -> AllocationId {
    fixture.service.create_allocation(&fixture.caller, ticket_type.id, request).expect("an allocation").id
}

/// The tickets of an allocation in the order in which they were issued.
fn tickets(fixture: &Fixture, id: AllocationId) -> Vec<IssuedTicket> {
    let list = |page| fixture.service.list_tickets(&fixture.caller, ListTickets::new().allocation(id).page(page));
    let mut tickets: Vec<_> = page::all(list).collect::<Result<_, _>>().expect("tickets");
    tickets.reverse();
    tickets
}

#[test]
fn a_document_has_up_to_500_tickets_with_their_labels() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let labels = (1..=503).map(|seat| format!("Seat-{seat}"));
    let id = create(&fixture, &ticket_type, CreateAllocation::of_labels("Sponsor", labels));
    let print = |from: i64| {
        let request = GetAllocationDocument::new().from(from);
        fixture.service.get_allocation_document(&fixture.caller, id, request)
    };
    assert_eq!(reason(print(1)), Reason::AllocationNotComplete);
    fixture.service.run_maintenance().expect("a run");
    let all = tickets(&fixture, id);
    fixture.service.cancel_ticket(&fixture.caller, all[501].id).expect("cancelled");
    let last = File::new(print(501).expect("a document"));
    let event = fixture.service.get_event(&fixture.caller, ticket_type.event_id).expect("the event");
    assert_eq!(last.document.file_name, format!("{}-tickets.pdf", event.slug));
    if let (Some(text), Some(info)) = (last.text(), last.info(&[])) {
        assert!(text.contains("Seat-501") && !text.contains("Seat-502") && text.contains("Seat-503"), "{text}");
        assert!(info.lines().any(|line| line.starts_with("Pages:") && line.ends_with(" 2")), "{info}");
    }
    let first = File::new(print(1).expect("a document"));
    if let Some(info) = first.info(&[]) {
        assert!(info.lines().any(|line| line.starts_with("Pages:") && line.ends_with(" 500")), "{info}");
    }
    assert_eq!(paths(print(504)), ["from"]);
    assert_eq!(paths(print(0)), ["from"]);
    fixture.service.cancel_allocation(&fixture.caller, id).expect("cancelled");
    fixture.service.run_maintenance().expect("a run");
    assert_eq!(print(1).map(drop), Err(Error::Gone(ResourceKind::Allocation)));
}

#[test]
fn the_document_of_a_ticket_has_its_label_and_the_customer_to_whom_it_was_given() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let id = create(&fixture, &ticket_type, CreateAllocation::of_labels("Press", ["Gazette"]));
    fixture.service.run_maintenance().expect("a run");
    let ticket = tickets(&fixture, id).remove(0);
    assert!(ticket.download_ticket_url.is_some());
    let text =
        || File::new(fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document")).text();
    if let Some(text) = text() {
        assert!(text.contains("Gazette") && !text.contains("Ada"), "{text}");
    }
    fixture.service.assign_ticket(&fixture.caller, ticket.id, new_customer()).expect("assigned");
    if let Some(text) = text() {
        assert!(text.contains("Gazette") && text.contains("Ada"), "{text}");
    }
}

#[test]
fn a_ticket_of_another_seller_has_no_document_and_no_link() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.default_ticket_type();
    let (service, caller) = (&fixture.service, &fixture.caller);
    let request = ImportTickets::new("Box office", [ImportedTicket::new("4006381333931")]);
    let import = service.import_tickets(caller, ticket_type.id, request).expect("imported");
    let ticket = tickets(&fixture, import.allocation.id).remove(0);
    assert_eq!(ticket.download_ticket_url, None);
    assert_eq!(reason(service.get_ticket_document(caller, ticket.id)), Reason::TicketImported);
    assert_eq!(reason(service.renew_ticket_link(caller, ticket.id)), Reason::TicketImported);
    let document = service.get_allocation_document(caller, import.allocation.id, GetAllocationDocument::new());
    assert_eq!(reason(document), Reason::TicketImported);
}
