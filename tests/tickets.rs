//! Tickets: issuing, what a ticket shows, and cancelling.

mod common;

use common::*;
use std::collections::HashSet;
use ticketing::{
    CancelledIssuedTicket, CheckInTicket, Customer, EventStatus, IssueTickets, IssuedTicket, NewCustomer, Reason,
    TicketStatus, TicketTypeOfTicket,
};

#[test]
fn an_issued_ticket_is_internal_and_belongs_to_no_order() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 10);
    let request =
        IssueTickets { ticket_type_id: seat.id, customer: NewCustomer::new("Press", "Press@Example.com"), quantity: 2 };
    let issued = shop.service.issue_tickets(&shop.caller, request).expect("tickets");
    assert!(issued.success && !issued.message.is_empty());
    assert_eq!(issued.issued_tickets.len(), 2);
    let new = &issued.issued_tickets[0];
    let ticket = shop.service.get_ticket(&shop.caller, new.id).expect("the ticket");
    let customer = ticket.customer.clone().expect("a customer");
    let expected = IssuedTicket {
        record: CancelledIssuedTicket {
            id: new.id,
            ticket_type_id: seat.id,
            order_item_id: None,
            customer_id: Some(customer.id),
            code: new.code.clone(),
            download_ticket_url: None,
            status: TicketStatus::NotCheckedIn,
            check_in_date: None,
            check_out_date: None,
            checked_in_by_id: None,
            is_internal: true,
            internal_allocation_id: None,
            ticket_label: None,
            first_scan_date: None,
            expires_at: None,
            last_scan_date: None,
            scan_count: 0,
            created_at: at(NOW),
            updated_at: at(NOW),
        },
        ticket: TicketTypeOfTicket { id: seat.id, name: "Seat".to_owned(), event_id: event.id },
        customer: Some(Customer { id: customer.id, name: "Press".to_owned(), email: "Press@Example.com".to_owned() }),
    };
    assert_eq!(ticket, expected);
    assert_eq!(shop.sold(&seat), 2);
}

#[test]
fn a_ticket_of_an_order_names_its_item_and_is_not_internal() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 1250, 10);
    let order = shop.paid_order(&seat, 1);
    let item = &order.items[0];
    let ticket = shop.service.get_ticket(&shop.caller, item.issued_tickets[0].id).expect("the ticket");
    assert_eq!((ticket.order_item_id, ticket.is_internal), (Some(item.item.id), false));
    assert_eq!(
        (ticket.customer_id, ticket.code.as_str()),
        (Some(order.customer_id), item.issued_tickets[0].code.as_str())
    );
}

#[test]
fn a_code_is_twenty_characters_of_crockford_base32_and_no_other_ticket_has_it() {
    let shop = Shop::new();
    let seat = shop.ticket_type_with(&shop.event(), |new| (new.price, new.quantity) = (eur(0), 10_000));
    let mut codes = HashSet::new();
    for _ in 0..20 {
        for ticket in shop.issue(&seat, 10) {
            let alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
            assert!(ticket.code.len() == 20 && ticket.code.chars().all(|c| alphabet.contains(c)), "{}", ticket.code);
            assert!(codes.insert(ticket.code));
        }
    }
}

#[test]
fn issuing_needs_an_event_that_is_neither_cancelled_nor_over() {
    let shop = Shop::new();
    for (status, refusal) in [
        (EventStatus::Drafted, None),
        (EventStatus::Published, None),
        (EventStatus::SoldOut, None),
        (EventStatus::Cancelled, Some(Reason::EventCancelled)),
        (EventStatus::Expired, Some(Reason::EventNotOnSale)),
    ] {
        let event = shop.event();
        let seat = shop.ticket_type(&event, 0, 10);
        match status {
            EventStatus::Drafted => drop(shop.move_event(event.id, status).expect("no ticket yet")),
            EventStatus::Published => {}
            _ => drop(shop.move_event(event.id, status).expect("allowed")),
        }
        let issued = shop.try_issue(seat.id, 1);
        match refusal {
            None => assert_eq!(issued.expect("allowed").len(), 1, "{status}"),
            Some(refusal) => assert_eq!(reason(issued), refusal, "{status}"),
        }
    }
    let seat = shop.ticket_type(&shop.event(), 0, 10);
    shop.turn(END);
    assert_eq!(reason(shop.try_issue(seat.id, 1)), Reason::EventNotOnSale, "over, and not written so yet");
}

#[test]
fn issuing_takes_places_like_a_sale_all_or_none() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 5);
    shop.order(&seat, 2);
    assert_eq!(reason(shop.try_issue(seat.id, 4)), Reason::SoldOut);
    assert_eq!(shop.sold(&seat), 0);
    shop.issue(&seat, 3);
    assert_eq!(reason(shop.try_issue(seat.id, 1)), Reason::SoldOut, "two are held");
    assert_eq!(shop.sold(&seat), 3);
    assert_eq!(shop.event_status(event.id), EventStatus::Published);
}

#[test]
fn a_type_that_is_not_there_is_a_field_error_beside_the_others() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 0, 10);
    shop.service.delete_ticket_type(&shop.caller, seat.id).expect("unused");
    assert_eq!(paths(shop.try_issue(seat.id, 1)), ["ticketId"]);
    assert_eq!(paths(shop.try_issue(seat.id, 11)), ["ticketId", "quantity"]);
}

#[test]
fn cancelling_a_ticket_frees_its_place_once() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 1250, 10);
    let order = shop.paid_order(&seat, 2);
    let id = order.items[0].issued_tickets[0].id;
    shop.clock.advance(std::time::Duration::from_secs(1));
    let cancelled = shop.service.cancel_ticket(&shop.caller, id).expect("cancelled");
    assert_eq!((cancelled.status, cancelled.updated_at), (TicketStatus::Cancelled, at("2026-06-01T12:00:01Z")));
    assert_eq!(shop.service.get_ticket(&shop.caller, id).expect("the ticket").record, cancelled);
    assert_eq!(shop.sold(&seat), 1);
    assert_eq!(reason(shop.service.cancel_ticket(&shop.caller, id)), Reason::TicketCancelled);
    assert_eq!(shop.sold(&seat), 1);
    assert_eq!(shop.get(order.id).items[0].issued_tickets[0].status, TicketStatus::Cancelled);
    assert_eq!(shop.get(order.id).status, ticketing::OrderStatus::Completed);
}

#[test]
fn a_ticket_inside_can_be_cancelled_and_keeps_its_history() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 0, 10);
    let new = shop.issue(&seat, 1).remove(0);
    let inside = shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(&new.code)).expect("inside");
    let cancelled = shop.service.cancel_ticket(&shop.caller, new.id).expect("cancelled");
    assert_eq!((cancelled.status, cancelled.check_in_date), (TicketStatus::Cancelled, inside.check_in_date));
    assert_eq!(
        reason(shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(&new.code))),
        Reason::TicketCancelled
    );
}
