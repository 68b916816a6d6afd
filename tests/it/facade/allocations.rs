//! Allocations: tickets that are set aside, issued and cancelled in the background, and given to customers.

use ticketing::Error;
use ticketing::allocation::{Allocation, AllocationState, CreateAllocation, ListAllocations};
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::EventStatus;
use ticketing::id::AllocationId;
use ticketing::ticket::{CheckInTicket, IssuedTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;

use crate::common::door::let_in;
use crate::common::*;

fn create(fixture: &Fixture, ticket_type: &TicketType, request: CreateAllocation) -> Allocation {
    fixture.service.create_allocation(&fixture.caller, ticket_type.id, request).expect("an allocation")
}

fn read(fixture: &Fixture, id: AllocationId) -> Allocation {
    fixture.service.get_allocation(&fixture.caller, id).expect("the allocation")
}

/// All tickets of an allocation, in the order in which they were issued.
fn tickets(fixture: &Fixture, id: AllocationId) -> Vec<IssuedTicket> {
    let list = |page| fixture.service.list_tickets(&fixture.caller, ListTickets::new().allocation(id).page(page));
    let mut tickets: Vec<_> = ticketing::page::all(list).collect::<Result<_, _>>().expect("tickets");
    tickets.reverse();
    tickets
}

fn run(fixture: &Fixture) -> usize {
    let report = fixture.service.run_maintenance().expect("a run");
    assert_eq!(report.skipped_rows, 0);
    report.allocated_tickets
}

/// Sold, reserved and available seats.
fn seats(fixture: &Fixture, ticket_type: &TicketType) -> (i64, i64, i64) {
    let summary = fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id).expect("a summary");
    let found = summary.ticket_types.iter().find(|found| found.ticket_type_id == ticket_type.id).expect("the type");
    (found.sold, found.reserved, found.available)
}

#[test]
fn the_seats_are_reserved_at_once_and_the_tickets_are_issued_in_batches() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 500);
    fixture.webhook([EventType::TicketIssued]);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guest list", 450));
    assert_eq!((allocation.state, allocation.quantity), (AllocationState::Issuing, 450));
    assert_eq!((allocation.issued, allocation.cancelled, allocation.checked_in, allocation.kept), (0, 0, 0, None));
    assert_eq!(seats(&fixture, &ticket_type), (0, 450, 50));
    for _ in 0..5 {
        fixture.order(&ticket_type, 10);
    }
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);

    assert_eq!(run(&fixture), 450);
    let complete = read(&fixture, allocation.id);
    assert_eq!((complete.state, complete.issued), (AllocationState::Complete, 450));
    let summary = fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id).expect("a summary");
    let of_type = &summary.ticket_types[0];
    assert_eq!((of_type.sold, of_type.issued_without_order, of_type.imported), (450, 450, 0));
    assert_eq!(fixture.outbox().into_iter().filter(|row| row.kind == "ticket.issued").count(), 450);
    let issued = tickets(&fixture, allocation.id);
    assert_eq!(issued.len(), 450);
    let mut codes: Vec<_> = issued.iter().map(|ticket| ticket.code.clone()).collect();
    codes.sort();
    codes.dedup();
    assert_eq!(codes.len(), 450);
    for ticket in &issued {
        assert_eq!((ticket.is_internal, ticket.internal_allocation_id), (true, Some(allocation.id)));
        assert_eq!(
            (ticket.ticket_label.as_deref(), &ticket.customer, ticket.order_item_id),
            (Some("Guest list"), &None, None)
        );
        assert_eq!((ticket.customer_id, ticket.code.len()), (None, 20));
    }
    assert_eq!(run(&fixture), 0);
}

#[test]
fn each_ticket_has_its_label_and_the_others_the_name() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let labels: Vec<_> = (1..=401).map(|seat| format!("Row A, seat {seat}")).collect();
    let request = CreateAllocation::new("Sponsor", 403).labels(labels.clone()).reference("S-1");
    let allocation = create(&fixture, &ticket_type, request);
    assert_eq!(allocation.reference.as_deref(), Some("S-1"));
    run(&fixture);
    let found: Vec<_> = tickets(&fixture, allocation.id).into_iter().filter_map(|ticket| ticket.ticket_label).collect();
    assert_eq!(found[..401], labels);
    assert_eq!(found[401..], ["Sponsor", "Sponsor"]);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM allocation_labels"), 0);
}

#[test]
fn nothing_is_taken_if_too_few_seats_are_left_and_the_error_says_how_many() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.issue(&ticket_type, 7);
    let before = fixture.all_rows();
    let refused =
        fixture.service.create_allocation(&fixture.caller, ticket_type.id, CreateAllocation::new("Guests", 4));
    assert_eq!(refused.as_ref().unwrap_err().to_string(), "3 seats of the ticket type Seat are left");
    assert_eq!(reason(refused), Reason::SoldOut);
    assert_eq!(fixture.all_rows(), before);
    create(&fixture, &ticket_type, CreateAllocation::new("Guests", 3));
    assert_eq!(seats(&fixture, &ticket_type), (7, 3, 0));
}

#[test]
fn the_seats_of_expired_holds_can_be_set_aside() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.order(&ticket_type, 10);
    fixture.expire_holds();
    create(&fixture, &ticket_type, CreateAllocation::new("Guests", 10));
    run(&fixture);
    assert_eq!(seats(&fixture, &ticket_type), (10, 0, 0));
}

#[test]
fn an_event_is_sold_out_with_the_last_ticket_of_an_allocation_and_on_sale_again_without_it() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 250);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guests", 250));
    assert_eq!(fixture.event_status(event.id), EventStatus::Published);
    run(&fixture);
    assert_eq!(fixture.event_status(event.id), EventStatus::SoldOut);
    fixture.service.cancel_allocation(&fixture.caller, allocation.id).expect("cancelled");
    run(&fixture);
    assert_eq!(fixture.event_status(event.id), EventStatus::Published);
}

#[test]
fn an_event_with_an_allocation_is_neither_deleted_nor_a_draft_again() {
    let fixture = Fixture::new();
    let event = fixture.event();
    create(&fixture, &fixture.ticket_type(&event, 1250, 10), CreateAllocation::new("Guests", 1));
    assert_eq!(reason(fixture.service.delete_event(&fixture.caller, event.id)), Reason::InUse);
    assert_eq!(reason(fixture.set_event_status(event.id, EventStatus::Drafted)), Reason::InvalidTransition);
}

#[test]
fn more_labels_than_tickets_are_refused() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let request = CreateAllocation::new("Guests", 1).labels(["one", "two"]);
    assert_eq!(paths(fixture.service.create_allocation(&fixture.caller, ticket_type.id, request)), ["labels"]);
    let request = CreateAllocation::new("", 10_001).labels(["", "x"]);
    let refused = fixture.service.create_allocation(&fixture.caller, ticket_type.id, request);
    assert_eq!(paths(refused), ["name", "quantity", "labels[0]"]);
}

#[test]
fn a_cancelled_allocation_keeps_tickets_whose_holders_are_or_were_inside() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guests", 500));
    run(&fixture);
    let issued = tickets(&fixture, allocation.id);
    // The first is inside, the last one of the first batch was.
    for ticket in [&issued[0], &issued[199]] {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("in");
    }
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&issued[199].code)).expect("out");
    assert_eq!(read(&fixture, allocation.id).checked_in, 1);

    let cancelling = fixture.service.cancel_allocation(&fixture.caller, allocation.id).expect("cancelled");
    assert_eq!((cancelling.state, cancelling.cancelled, cancelling.kept), (AllocationState::Cancelling, 0, None));
    let again = fixture.service.cancel_allocation(&fixture.caller, allocation.id).expect("the same");
    assert_eq!(again, cancelling);
    assert_eq!(run(&fixture), 498);
    let cancelled = read(&fixture, allocation.id);
    assert_eq!((cancelled.state, cancelled.kept), (AllocationState::Cancelled, Some(2)));
    assert_eq!((cancelled.issued, cancelled.cancelled, cancelled.checked_in), (500, 498, 1));
    assert_eq!(seats(&fixture, &ticket_type), (2, 0, 998));
    let kept: Vec<_> = tickets(&fixture, allocation.id)
        .into_iter()
        .filter(|ticket| ticket.status != TicketStatus::Cancelled)
        .map(|ticket| ticket.id)
        .collect();
    assert_eq!(kept, [issued[0].id, issued[199].id]);
    assert_eq!(fixture.service.cancel_allocation(&fixture.caller, allocation.id), Ok(cancelled));
}

#[test]
fn an_allocation_that_is_cancelled_while_it_is_issued_gives_all_seats_back() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guests", 600));
    let cancelling = fixture.service.cancel_allocation(&fixture.caller, allocation.id).expect("cancelled");
    assert_eq!((cancelling.state, seats(&fixture, &ticket_type)), (AllocationState::Cancelling, (0, 0, 1000)));
    run(&fixture);
    let cancelled = read(&fixture, allocation.id);
    assert_eq!((cancelled.state, cancelled.issued, cancelled.kept), (AllocationState::Cancelled, 0, Some(0)));
    assert_eq!(tickets(&fixture, allocation.id), []);
}

#[test]
fn the_cancellation_of_the_event_stops_the_issuing() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1000);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guests", 600).labels(["one"]));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(run(&fixture), 0);
    let stopped = read(&fixture, allocation.id);
    assert_eq!((stopped.state, stopped.issued), (AllocationState::Complete, 0));
    assert_eq!(seats(&fixture, &ticket_type), (0, 0, 1000));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM allocation_labels"), 0);
    let refused = fixture.service.create_allocation(&fixture.caller, ticket_type.id, CreateAllocation::new("More", 1));
    assert_eq!(reason(refused), Reason::EventCancelled);
}

#[test]
fn a_ticket_of_an_allocation_is_given_to_one_customer() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::new("Guests", 3));
    run(&fixture);
    let [first, second, third] = tickets(&fixture, allocation.id).try_into().expect("three tickets");
    let assign = |ticket: &IssuedTicket| fixture.service.assign_ticket(&fixture.caller, ticket.id, new_customer());
    let assigned = assign(&first).expect("assigned");
    let holder = assigned.customer.clone().expect("a holder");
    assert_eq!((holder.name.as_str(), holder.email.as_str()), ("Ada", "ada@example.com"));
    assert_eq!(assigned.customer_id, Some(holder.id));
    assert_eq!(fixture.service.get_ticket(&fixture.caller, first.id), Ok(assigned));
    assert_eq!(reason(assign(&first)), Reason::AlreadyAssigned);
    let sold = fixture.issue(&ticket_type, 1).remove(0);
    let refused = fixture.service.assign_ticket(&fixture.caller, sold.id, new_customer());
    assert_eq!(reason(refused), Reason::AlreadyAssigned);
    fixture.service.cancel_ticket(&fixture.caller, second.id).expect("cancelled");
    assert_eq!(reason(assign(&second)), Reason::TicketCancelled);
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&third.code)).expect("in");
    assert_eq!(reason(assign(&third)), Reason::AlreadyCheckedIn);
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&third.code)).expect("out");
    assert_eq!(reason(assign(&third)), Reason::AlreadyCheckedIn);
    let counted = read(&fixture, allocation.id);
    assert_eq!((counted.issued, counted.cancelled, counted.checked_in), (3, 1, 0));
}

#[test]
fn the_staff_sees_the_label_when_a_ticket_is_scanned_and_the_roster_has_none() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let allocation = create(&fixture, &ticket_type, CreateAllocation::of_labels("Press", ["Ada Lovelace, Gazette"]));
    run(&fixture);
    let ticket = tickets(&fixture, allocation.id).remove(0);
    let gate = fixture.gate(&event);
    let roster = serde_json::to_string(&fixture.roster(&gate, &event)).expect("JSON");
    assert!(roster.contains(&ticket.id.to_string()) && !roster.contains("Lovelace"), "{roster}");
    let results = fixture.report(&gate, "Phone", [let_in(1, &ticket.code, NOW)]);
    let shown = results[0].ticket.as_ref().expect("the ticket");
    assert_eq!(shown.ticket_label.as_deref(), Some("Ada Lovelace, Gazette"));
    let by_code = fixture.service.get_ticket_by_code(&fixture.caller, &ticket.code).expect("the ticket");
    assert_eq!(by_code.ticket_label.as_deref(), Some("Ada Lovelace, Gazette"));
    let out = fixture.service.check_out_ticket(&gate, CheckInTicket::new(&ticket.code)).expect("out");
    assert_eq!((out.ticket_label.as_deref(), out.customer), (Some("Ada Lovelace, Gazette"), None));
}

#[test]
fn allocations_are_listed_by_event_ticket_type_and_state() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let types = [(); 2].map(|()| fixture.ticket_type(&event, 1250, 100));
    let elsewhere = fixture.ticket_type(&other, 1250, 100);
    let complete = create(&fixture, &types[0], CreateAllocation::new("Complete", 1));
    run(&fixture);
    let issuing = create(&fixture, &types[1], CreateAllocation::new("Issuing", 1));
    let third = create(&fixture, &elsewhere, CreateAllocation::new("Elsewhere", 1));
    let list = |request: ListAllocations| {
        let page = fixture.service.list_allocations(&fixture.caller, request).expect("a page");
        page.data.into_iter().map(|allocation| allocation.id).collect::<Vec<_>>()
    };
    assert_eq!(list(ListAllocations::new()), [third.id, issuing.id, complete.id]);
    assert_eq!(list(ListAllocations::new().event(event.id)), [issuing.id, complete.id]);
    assert_eq!(list(ListAllocations::new().ticket_type(types[0].id)), [complete.id]);
    assert_eq!(list(ListAllocations::new().ticket_type(types[0].id).event(other.id)), []);
    assert_eq!(list(ListAllocations::new().state(AllocationState::Issuing)), [third.id, issuing.id]);
    assert_eq!(list(ListAllocations::new().state(AllocationState::Issuing).event(event.id)), [issuing.id]);
    assert_eq!(list(ListAllocations::new().limit(1).after(issuing.id)), [complete.id]);
    let stranger = fixture.other_organization();
    assert_eq!(fixture.service.list_allocations(&stranger, ListAllocations::new()).expect("a page").data, []);
    let refused = fixture.service.list_allocations(&stranger, ListAllocations::new().after(third.id));
    assert_eq!(paths(refused), ["cursor"]);
    let unknown = fixture.service.get_allocation(&stranger, third.id);
    assert_eq!(unknown, Err(Error::NotFound(ResourceKind::Allocation)));
}
