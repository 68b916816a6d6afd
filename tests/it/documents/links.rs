//! The links of tickets and orders: what they lead to, who has them, and how they die.

use std::collections::BTreeSet;

use ticketing::documents::TicketDocuments;
use ticketing::error::ResourceKind;
use ticketing::order::CreateOrder;
use ticketing::organization::Scope;
use ticketing::payment::ManualMethod;
use ticketing::ticket::{CheckInTicket, ListTickets};
use ticketing::{Builder, Error, TicketingService};

use crate::common::*;
use crate::documents::tools::*;

const UNKNOWN_TICKET: Error = Error::NotFound(ResourceKind::Ticket);
const UNKNOWN_ORDER: Error = Error::NotFound(ResourceKind::Order);

fn is_token(token: &str) -> bool {
    token.len() == 39 && token.bytes().all(|digit| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&digit))
}

#[test]
fn the_link_of_a_ticket_leads_to_this_ticket_only() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.paid_order(&ticket_type, 3);
    let mut tokens = BTreeSet::new();
    for ticket in order.tickets() {
        let ticket = service.get_ticket(caller, ticket.id).expect("the ticket");
        let token = ticket_token(ticket.download_ticket_url.as_deref());
        assert!(is_token(&token), "{token}");
        let linked = service.get_ticket_by_link(&token).expect("the ticket");
        assert_eq!((&linked.ticket, linked.order_id), (&ticket, Some(order.id)));
        assert_eq!((linked.ticket_type.id, linked.event.id), (ticket_type.id, event.id));
        assert_eq!(service.get_ticket_by_link(&token.to_lowercase()), Err(UNKNOWN_TICKET));
        assert_eq!(service.get_order_by_link(&token), Err(UNKNOWN_ORDER), "a ticket's link is not that of an order");
        tokens.insert(token);
    }
    assert_eq!(tokens.len(), 3);
}

#[test]
fn every_response_with_a_ticket_has_its_link() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let issued = fixture.issue(&ticket_type, 1).remove(0);
    let url = service.get_ticket(caller, issued.id).expect("the ticket").download_ticket_url;
    assert!(url.is_some());
    let listed = service.list_tickets(caller, ListTickets::default()).expect("a list").data.remove(0);
    let by_code = service.get_ticket_by_code(caller, &issued.code).expect("the ticket");
    let scanned = service.check_in_ticket(caller, CheckInTicket::new(&issued.code)).expect("checked in");
    let left = service.check_out_ticket(caller, CheckInTicket::new(&issued.code)).expect("checked out");
    let cancelled = service.cancel_ticket(caller, issued.id).expect("cancelled");
    for other in [
        listed.download_ticket_url,
        by_code.download_ticket_url,
        scanned.download_ticket_url,
        left.download_ticket_url,
        cancelled.download_ticket_url,
    ] {
        assert_eq!(other, url);
    }
}

#[test]
fn the_link_of_an_order_leads_to_all_its_tickets_once_it_is_completed() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let mut request = CreateOrder::new(event.id, new_customer(), ticket_type.id, 2);
    request.customer.locale = Some("fr-CH".to_owned());
    let order = service.create_order(caller, request).expect("an order").order;
    assert_eq!(service.get_order_details(caller, order.id).expect("details").documents_url, None);

    service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
    let url = service.get_order_details(caller, order.id).expect("details").documents_url;
    let token = order_token(url.as_deref());
    assert!(is_token(&token), "{token}");
    let linked = service.get_order_by_link(&token).expect("the order");
    assert_eq!((linked.order.id, linked.event.id, linked.tickets.len()), (order.id, event.id, 2));
    assert_eq!(linked.tickets_with_types().filter(|(_, of)| of.id == ticket_type.id).count(), 2);
    assert_eq!(linked.language.as_deref(), Some("fr-CH"));
    assert_eq!(service.get_ticket_by_link(&token), Err(UNKNOWN_TICKET), "an order's link is not that of a ticket");

    service.cancel_order(caller, order.id).expect("cancelled");
    let linked = service.get_order_by_link(&token).expect("a cancelled order still has its page");
    assert!(linked.tickets.iter().all(|ticket| linked.is_cancelled(ticket)));
    assert_eq!(service.get_order_document_by_link(&token), Err(Error::Gone(ResourceKind::Order)));
}

#[test]
fn a_renewed_link_is_dead_and_the_new_one_leads_to_the_same_ticket() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 2);
    let [ticket, other] =
        [0, 1].map(|index| service.get_ticket(caller, order.items[0].issued_tickets[index].id).expect("the ticket"));
    let before = ticket_token(ticket.download_ticket_url.as_deref());

    let keyed = fixture.caller_with_key("renewal");
    let renewed = service.renew_ticket_link(&keyed, ticket.id).expect("renewed");
    let again = service.renew_ticket_link(&keyed, ticket.id).expect("the stored response");
    assert_eq!((renewed.replayed, again.replayed, &renewed.value), (false, true, &again.value));
    let after = ticket_token(renewed.value.download_ticket_url.as_deref());
    assert_eq!(renewed.value.code, ticket.code, "the code stays the same");

    for token in [&before, &before.to_lowercase()] {
        assert_eq!(service.get_ticket_by_link(token), Err(UNKNOWN_TICKET));
        assert_eq!(service.get_ticket_document_by_link(token), Err(UNKNOWN_TICKET));
    }
    assert_eq!(service.get_ticket_by_link(&after).expect("the ticket").ticket, renewed.value);
    assert!(service.get_ticket_document_by_link(&after).is_ok());
    assert_eq!(service.get_ticket(caller, ticket.id), Ok(renewed.value));
    let others_link = ticket_token(other.download_ticket_url.as_deref());
    assert!(service.get_ticket_by_link(&others_link).is_ok(), "other tickets keep their links");
}

#[test]
fn a_link_is_renewed_by_its_organization_with_the_scope() {
    let fixture = with_documents(TicketDocuments::default());
    let service = &fixture.service;
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0).id;
    let url = service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url;
    let without = fixture.caller.with_scopes(Scope::ALL.iter().copied().filter(|scope| *scope != Scope::TicketsWrite));
    assert_eq!(service.renew_ticket_link(&without, ticket), Err(Error::Forbidden(Scope::TicketsWrite)));
    assert_eq!(service.renew_ticket_link(&fixture.other_organization(), ticket), Err(UNKNOWN_TICKET));
    assert_eq!(service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url, url);
    assert!(service.renew_ticket_link(&fixture.caller.with_scopes([Scope::TicketsWrite]), ticket).is_ok());
}

#[test]
fn links_stay_the_same_in_every_process_and_begin_with_the_public_url() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0).id;
    let url = fixture.service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url;
    let token = ticket_token(url.as_deref());
    let other = fixture.second_service_with(|builder| {
        builder.ticket_documents(TicketDocuments::default()).public_url("https://tickets.example.com/box/")
    });
    let caller = other.act_for(fixture.caller.organization()).expect("the organization");
    let there = other.get_ticket(&caller, ticket).expect("the ticket").download_ticket_url;
    assert_eq!(there, Some(format!("https://tickets.example.com/box/tickets/{token}/ticket.pdf")));
    assert_eq!(other.get_ticket_by_link(&token).map(|linked| linked.ticket.id), Ok(ticket));
}

#[test]
fn a_service_without_a_public_url_warns_that_nobody_else_can_open_its_links() {
    let warnings = |configure: fn(Builder) -> Builder| {
        let open = || configure(TicketingService::temporary()).open().expect("a service");
        let (_service, log) = log::during(open);
        log.levels_of("ticketing::documents").into_iter().filter(|level| *level == tracing::Level::WARN).count()
    };
    assert_eq!(warnings(|builder| builder.ticket_documents(TicketDocuments::default())), 1);
    assert_eq!(
        warnings(|builder| builder.ticket_documents(TicketDocuments::default()).public_url("https://example.com")),
        0
    );
    assert_eq!(warnings(|builder| builder), 0);
}

#[test]
fn another_store_has_another_secret() {
    let tokens: BTreeSet<String> = (0..2)
        .map(|_| {
            // The first id of each store is the same, because the clock stands still and the entropy has a seed. The
            // secret is drawn from the entropy of the system.
            let fixture = Fixture::with(|builder| {
                builder.ticket_documents(TicketDocuments::default()).entropy(ticketing::environment::SystemEntropy)
            });
            let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
            let ticket = fixture.issue(&ticket_type, 1).remove(0).id;
            let url = fixture.service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url;
            ticket_token(url.as_deref())[13..].to_owned()
        })
        .collect();
    assert_eq!(tokens.len(), 2);
}

#[test]
fn without_documents_there_are_no_links() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.paid_order(&ticket_type, 1);
    let ticket = order.items[0].issued_tickets[0].id;
    let url = fixture.service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url;
    let details = fixture.service.get_order_details(&fixture.caller, order.id).expect("details");

    let without: TicketingService = fixture.second_service();
    let caller = without.act_for(fixture.caller.organization()).expect("the organization");
    assert_eq!(without.get_ticket(&caller, ticket).expect("the ticket").download_ticket_url, None);
    assert_eq!(without.get_order_details(&caller, order.id).expect("details").documents_url, None);
    assert_eq!(without.get_ticket_by_link(&ticket_token(url.as_deref())), Err(UNKNOWN_TICKET));
    assert_eq!(without.get_order_by_link(&order_token(details.documents_url.as_deref())), Err(UNKNOWN_ORDER));

    let fresh = Fixture::new();
    assert_eq!(fresh.stored("SELECT COUNT(*) FROM link_secret"), 0, "nothing is stored for what is not switched on");
}

#[test]
fn the_links_of_a_suspended_organization_still_work() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0).id;
    let url = fixture.service.get_ticket(&fixture.caller, ticket).expect("the ticket").download_ticket_url;
    fixture.service.suspend_organization(fixture.caller.organization()).expect("suspended");
    assert!(fixture.service.get_ticket_by_link(&ticket_token(url.as_deref())).is_ok());
}
