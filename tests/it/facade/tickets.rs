//! Tickets: issuing, contents, codes and cancellation.

use std::collections::HashSet;

use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::order::NewCustomer;
use ticketing::ticket::{CheckInTicket, IssueTickets, IssuedTicket, TicketStatus};

use crate::common::*;

#[test]
fn an_issued_ticket_is_internal_and_has_no_order() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let request = IssueTickets::new(ticket_type.id, NewCustomer::new("Press", "Press@Example.com"), 2);
    let issued = fixture.service.issue_tickets(&fixture.caller, request).expect("tickets");
    assert!(issued.success && !issued.message.is_empty());
    assert_eq!(issued.issued_tickets.len(), 2);
    let new = &issued.issued_tickets[0];
    let ticket = fixture.service.get_ticket(&fixture.caller, new.id).expect("the ticket");
    let customer = ticket.customer.clone().expect("a customer");
    let expected = from_json::<IssuedTicket>(json!({
        "id": new.id,
        "ticketId": ticket_type.id,
        "orderItemId": null,
        "customerId": customer.id,
        "code": new.code,
        "downloadTicketUrl": null,
        "status": TicketStatus::NotCheckedIn,
        "checkInDate": null,
        "checkOutDate": null,
        "checkedInById": null,
        "isInternal": true,
        "internalAllocationId": null,
        "ticketLabel": null,
        "firstScanDate": null,
        "expiresAt": null,
        "lastScanDate": null,
        "scanCount": 0,
        "createdAt": at(NOW),
        "updatedAt": at(NOW),
        "ticket": {
            "id": ticket_type.id,
            "name": "Seat",
            "eventId": event.id
        },
        "customer": {
            "id": customer.id,
            "name": "Press",
            "email": "Press@Example.com",
            "metadata": {}
        }
    }));
    assert_eq!(ticket, expected);
    assert_eq!(fixture.sold(&ticket_type), 2);
}

#[test]
fn a_ticket_of_an_order_names_its_item_and_is_not_internal() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let item = &order.items[0];
    let ticket = fixture.service.get_ticket(&fixture.caller, item.issued_tickets[0].id).expect("the ticket");
    assert_eq!((ticket.order_item_id, ticket.is_internal), (Some(item.id), false));
    assert_eq!(
        (ticket.customer_id, ticket.code.as_str()),
        (Some(order.customer_id), item.issued_tickets[0].code.as_str())
    );
}

#[test]
fn a_code_has_20_characters_of_crockford_base32_and_is_unique() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |new| {
        new.price = eur(0);
        new.quantity = 10_000;
    });
    let mut codes = HashSet::new();
    for _ in 0..20 {
        for ticket in fixture.issue(&ticket_type, 10) {
            let alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
            assert!(ticket.code.len() == 20 && ticket.code.chars().all(|c| alphabet.contains(c)), "{}", ticket.code);
            assert!(codes.insert(ticket.code));
        }
    }
}

#[test]
fn issuing_needs_an_event_that_is_neither_cancelled_nor_ended() {
    let fixture = Fixture::new();
    for (status, refusal) in [
        (EventStatus::Drafted, None),
        (EventStatus::Published, None),
        (EventStatus::SoldOut, None),
        (EventStatus::Cancelled, Some(Reason::EventCancelled)),
        (EventStatus::Expired, Some(Reason::EventNotOnSale)),
    ] {
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 0, 10);
        match status {
            EventStatus::Drafted => drop(fixture.set_event_status(event.id, status).expect("no ticket yet")),
            EventStatus::Published => {}
            _ => drop(fixture.set_event_status(event.id, status).expect("allowed")),
        }
        let issued = fixture.try_issue(ticket_type.id, 1);
        match refusal {
            None => assert_eq!(issued.expect("allowed").len(), 1, "{status}"),
            Some(refusal) => assert_eq!(reason(issued), refusal, "{status}"),
        }
    }
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    fixture.set_clock(EVENT_END);
    assert_eq!(
        reason(fixture.try_issue(ticket_type.id, 1)),
        Reason::EventNotOnSale,
        "the event has ended, but that is not stored yet"
    );
}

#[test]
fn issuing_takes_either_all_seats_or_none() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 5);
    fixture.order(&ticket_type, 2);
    assert_eq!(reason(fixture.try_issue(ticket_type.id, 4)), Reason::SoldOut);
    assert_eq!(fixture.sold(&ticket_type), 0);
    fixture.issue(&ticket_type, 3);
    assert_eq!(reason(fixture.try_issue(ticket_type.id, 1)), Reason::SoldOut, "two seats are reserved");
    assert_eq!(fixture.sold(&ticket_type), 3);
    assert_eq!(fixture.event_status(event.id), EventStatus::Published);
}

#[test]
fn cancelling_a_ticket_releases_its_seat_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 2);
    let id = order.items[0].issued_tickets[0].id;
    fixture.clock.advance(std::time::Duration::from_secs(1));
    let cancelled = fixture.service.cancel_ticket(&fixture.caller, id).expect("cancelled");
    assert_eq!((cancelled.status, cancelled.updated_at), (TicketStatus::Cancelled, at("2026-06-01T12:00:01Z")));
    let ticket = fixture.service.get_ticket(&fixture.caller, id).expect("the ticket");
    assert_eq!(json_without(&ticket, &["ticket", "customer"]), json!(cancelled));
    assert_eq!(fixture.sold(&ticket_type), 1);
    assert_eq!(reason(fixture.service.cancel_ticket(&fixture.caller, id)), Reason::TicketCancelled);
    assert_eq!(fixture.sold(&ticket_type), 1);
    assert_eq!(fixture.read_order(order.id).items[0].issued_tickets[0].status, TicketStatus::Cancelled);
    assert_eq!(fixture.read_order(order.id).status, ticketing::order::OrderStatus::Completed);
}

#[test]
fn a_checked_in_ticket_can_be_cancelled_and_keeps_its_history() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let new = fixture.issue(&ticket_type, 1).remove(0);
    let checked_in =
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&new.code)).expect("checked in");
    let cancelled = fixture.service.cancel_ticket(&fixture.caller, new.id).expect("cancelled");
    assert_eq!((cancelled.status, cancelled.check_in_date), (TicketStatus::Cancelled, checked_in.check_in_date));
    assert_eq!(
        reason(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&new.code))),
        Reason::TicketCancelled
    );
}
