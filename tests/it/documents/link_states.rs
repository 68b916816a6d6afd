//! What links lead to in every state of an order, a ticket and an event, and that mutated tokens lead nowhere.

use ticketing::Error;
use ticketing::documents::TicketDocuments;
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::{EventStatus, UpdateEvent};
use ticketing::order::CreateOrder;
use ticketing::payment::ManualMethod;
use ticketing::ticket::TicketStatus;

use crate::common::long_runs::repetitions;
use crate::common::random::Random;
use crate::common::*;
use crate::documents::tools::*;

const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#[test]
fn the_link_of_an_order_that_is_not_paid_is_a_conflict() {
    // Two stores with the same clock and entropy have the same ids and the same secret: the link of the order that is
    // paid in one is that of the order that is not paid in the other.
    let stores = [true, false].map(|is_paid| {
        let fixture = with_documents(TicketDocuments::default());
        let event = fixture.event_with(|new| new.slug = "summer-night".to_owned());
        let ticket_type = fixture.ticket_type(&event, 1250, 10);
        let order = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
        let order = fixture.service.create_order(&fixture.caller, order).expect("an order").order.id;
        if is_paid {
            fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid");
        }
        (fixture, order)
    });
    let [(paid, order), (pending, same)] = &stores;
    assert_eq!(order, same);
    let details = paid.service.get_order_details(&paid.caller, *order).expect("details");
    let token = order_token(details.documents_url.as_deref());
    assert!(paid.service.get_order_by_link(&token).is_ok());
    let details = pending.service.get_order_details(&pending.caller, *order).expect("details");
    assert_eq!(details.documents_url, None);
    let service = &pending.service;
    assert_eq!(service.get_order_by_link(&token).unwrap_err().reason(), Some(Reason::OrderNotCompleted));
    assert_eq!(service.get_order_document_by_link(&token).unwrap_err().reason(), Some(Reason::OrderNotCompleted));
    let with_key = service.get_order_document(&pending.caller, *order).unwrap_err();
    assert_eq!(with_key.reason(), Some(Reason::OrderNotCompleted));
    // The control: without the right code, nobody is told that there is such an order.
    let wrong = format!("{}{}", &token[..38], if token.ends_with('0') { '2' } else { '0' });
    assert_eq!(service.get_order_by_link(&wrong), Err(Error::NotFound(ResourceKind::Order)));
}

#[test]
fn links_of_an_event_that_is_over_still_lead_to_its_tickets() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let ticket = service.get_ticket(caller, order.items[0].issued_tickets[0].id).expect("the ticket");
    let token = ticket_token(ticket.download_ticket_url.as_deref());
    let details = service.get_order_details(caller, order.id).expect("details");
    let order_token = order_token(details.documents_url.as_deref());
    fixture.set_clock("2099-01-01T00:00:00Z");
    let linked = service.get_ticket_by_link(&token).expect("the ticket");
    assert_eq!((linked.event.status, linked.is_cancelled()), (EventStatus::Expired, false));
    assert_eq!(service.get_order_by_link(&order_token).expect("the order").event.status, EventStatus::Expired);
    assert!(service.get_ticket_document_by_link(&token).is_ok());
    assert!(service.get_order_document_by_link(&order_token).is_ok());
}

#[test]
fn what_is_cancelled_has_a_page_and_no_document() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.paid_order(&ticket_type, 2);
    let [first, second] = [0, 1].map(|index| {
        let ticket = service.get_ticket(caller, order.items[0].issued_tickets[index].id).expect("the ticket");
        ticket_token(ticket.download_ticket_url.as_deref())
    });
    let details = service.get_order_details(caller, order.id).expect("details");
    let of_order = order_token(details.documents_url.as_deref());

    service.cancel_ticket(caller, order.items[0].issued_tickets[0].id).expect("cancelled");
    let linked = service.get_ticket_by_link(&first).expect("the ticket");
    assert_eq!((linked.ticket.status, linked.is_cancelled()), (TicketStatus::Cancelled, true));
    assert_eq!(service.get_ticket_document_by_link(&first), Err(Error::Gone(ResourceKind::Ticket)));
    let gone = service.get_ticket_document(caller, order.items[0].issued_tickets[0].id).unwrap_err();
    assert_eq!((gone.code(), gone.is_retryable()), ("gone", false));
    assert!(service.get_ticket_document_by_link(&second).is_ok(), "the other ticket is valid");
    assert!(service.get_order_document_by_link(&of_order).is_ok());
    let left = File::new(service.get_order_document(caller, order.id).expect("a document"));
    assert!(left.pages().is_none_or(|pages| pages.len() == 1), "it has the ticket that is left");

    let cancelled = UpdateEvent::default().status(EventStatus::Cancelled);
    service.update_event(caller, event.id, cancelled).expect("cancelled");
    let linked = service.get_ticket_by_link(&second).expect("the ticket");
    assert!(linked.is_cancelled());
    let of_event = service.get_ticket_document_by_link(&second).unwrap_err();
    assert_eq!(of_event.code(), "gone");
    assert_eq!(service.get_order_document_by_link(&of_order).unwrap_err().code(), "gone");
    assert!(service.get_order_by_link(&of_order).is_ok());

    let other = fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    service.cancel_ticket(caller, other.items[0].issued_tickets[0].id).expect("cancelled");
    assert_eq!(
        service.get_order_document(caller, other.id),
        Err(Error::Gone(ResourceKind::Order)),
        "no ticket is left"
    );
    let pending = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    service.cancel_order(caller, pending.id).expect("cancelled");
    assert_eq!(service.get_order_document(caller, pending.id), Err(Error::Gone(ResourceKind::Order)));
}

#[test]
fn mutated_tokens_lead_nowhere() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 3);
    let mut tokens: Vec<_> = order.items[0]
        .issued_tickets
        .iter()
        .map(|ticket| service.get_ticket(caller, ticket.id).expect("the ticket"))
        .map(|ticket| ticket_token(ticket.download_ticket_url.as_deref()))
        .collect();
    let details = service.get_order_details(caller, order.id).expect("details");
    tokens.push(order_token(details.documents_url.as_deref()));
    let mut random = Random::new(11);
    let rounds = usize::try_from(repetitions("TICKETING_MUTATED_TOKENS", 20_000)).expect("a number");
    for round in 0..rounds {
        let token = &tokens[round % tokens.len()];
        let mut mutated = token.clone().into_bytes();
        let one = |random: &mut Random| (random.below(39), DIGITS[random.below(32)]);
        match random.below(4) {
            0 => {
                let (position, digit) = one(&mut random);
                mutated[position] = digit;
            }
            1 => (0..2 + random.below(8)).for_each(|_| {
                let (position, digit) = one(&mut random);
                mutated[position] = digit;
            }),
            // The id of one token, and the code of another or of nothing.
            2 => mutated[13..].copy_from_slice(&tokens[random.below(4)].as_bytes()[13..]),
            _ => mutated[13..38].iter_mut().for_each(|digit| *digit = DIGITS[random.below(32)]),
        }
        let mutated = String::from_utf8(mutated).expect("ASCII");
        if tokens.contains(&mutated) {
            continue;
        }
        assert_eq!(service.get_ticket_by_link(&mutated), Err(Error::NotFound(ResourceKind::Ticket)), "{mutated}");
        assert_eq!(service.get_order_by_link(&mutated), Err(Error::NotFound(ResourceKind::Order)), "{mutated}");
    }
    assert!(tokens[..3].iter().all(|token| service.get_ticket_by_link(token).is_ok()));
}
