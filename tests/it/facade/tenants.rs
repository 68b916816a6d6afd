//! Tenants: resources of another organization get exactly the same response as unknown ones.

use std::fmt::Debug;

use ticketing::discount::{BasketItem, CreateDiscount, DiscountRefusal, ListDiscounts, ValidateDiscount};
use ticketing::door::UploadScans;
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::ListEvents;
use ticketing::id::TicketTypeId;
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem};
use ticketing::payment::{
    ListLedgerEntries, ListPayments, ListRefunds, ManualMethod, MarkRefunded, Refund, RefundMethod,
};
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, TicketType};
use ticketing::webhook::{CreateWebhook, EventType, ListWebhookDeliveries, ListWebhooks};
use ticketing::{Error, Result};

use super::operation::{Foreign, Ids, Resources};
use super::operations::OPERATIONS;
use crate::common::door::let_in;
use crate::common::*;

/// A refund that has to be given back by hand.
fn owed_refund(fixture: &Fixture, ticket_type: &TicketType) -> Refund {
    let order = fixture.order(ticket_type, 1).id;
    fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid");
    fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default().order(order)).expect("a page").data.remove(0)
}

#[test]
fn resources_of_another_organization_are_answered_like_unknown_ones() {
    let resources = Resources::new();
    let fixture = &resources.fixture;
    let (caller, others) = (fixture.other_organization(), resources.ids[0]);
    let before = fixture.all_rows();
    for operation in OPERATIONS {
        let name = operation.name;
        let call = |ids| (operation.call)(&fixture.service, &caller, ids);
        match operation.foreign {
            Foreign::Unknown(kind) => assert_eq!(call(&others), Err(Error::NotFound(kind)), "{name}"),
            Foreign::Field(field) => assert_eq!(paths(call(&others)), [field], "{name}"),
            Foreign::Nothing => continue,
        }
        assert_eq!(call(&others), call(&Ids::unknown()), "{name}");
    }
    assert_eq!(fixture.all_rows(), before, "nothing has changed");
}

#[test]
fn ids_of_another_organization_are_unknown_among_those_of_the_caller() {
    let resources = Resources::new();
    let fixture = &resources.fixture;
    let (others, unknown) = (resources.ids[0], Ids::unknown());
    let caller = fixture.other_organization();
    let own = fixture.service.create_event(&caller, new_event(|_| {})).expect("an event");
    let own_type = CreateTicketType::new("Seat", eur(0), 10);
    let own_type = fixture.service.create_ticket_type(&caller, own.id, own_type).expect("a type");
    let own_webhook = CreateWebhook::new("https://example.com/own", [EventType::TicketIssued]);
    let own_webhook = fixture.service.create_webhook(&caller, own_webhook).expect("an endpoint").endpoint.id;
    let before = fixture.all_rows();

    // A ticket type in an order, and as the cursor of a list.
    let order_of = |id| {
        let mut request = CreateOrder::new(own.id, new_customer(), own_type.id, 1);
        request.items.push(NewOrderItem::new(id, 1));
        fixture.service.create_order(&caller, request).map(drop)
    };
    assert_eq!(order_of(others.ticket_type), order_of(unknown.ticket_type));
    assert_eq!(paths(order_of(others.ticket_type)), ["items[1].ticketId"]);
    let cursor = |id| {
        let request = ListTicketTypes::default().after(id);
        fixture.service.list_ticket_types(&caller, own.id, request).map(drop)
    };
    assert_eq!(cursor(others.ticket_type), cursor(unknown.ticket_type));
    assert_eq!(paths(cursor(others.ticket_type)), ["cursor"]);

    // A ticket type in a discount and in a basket, and a discount code.
    let limited_to = |id| {
        let new = CreateDiscount::percentage("OWN", 10).event(own.id).applicable_ticket_types([own_type.id, id]);
        fixture.service.create_discount(&caller, new).map(drop)
    };
    assert_eq!(limited_to(others.ticket_type), limited_to(unknown.ticket_type));
    assert_eq!(paths(limited_to(others.ticket_type)), ["applicableTicketTypes[1]"]);
    let basket_of = |id: TicketTypeId| {
        let request = ValidateDiscount::new(own.id, "UNUSED", vec![BasketItem::new(id, 1, eur(0))]);
        fixture.service.validate_discount(&caller, request)
    };
    assert_eq!(basket_of(others.ticket_type), basket_of(unknown.ticket_type));
    assert_eq!(paths(basket_of(others.ticket_type)), ["ticketItems[0].ticketId"]);
    assert_eq!(basket_of(own_type.id).expect("an answer").error, Some(DiscountRefusal::NotFound));

    // A delivery at an endpoint.
    let resend = |id| fixture.service.resend_webhook_delivery(&caller, own_webhook, id).map(drop);
    assert_eq!(resend(others.delivery), Err(Error::NotFound(ResourceKind::WebhookDelivery)));
    assert_eq!(resend(others.delivery), resend(unknown.delivery));
    let cursor = |id| {
        let request = ListWebhookDeliveries::default().after(id);
        fixture.service.list_webhook_deliveries(&caller, own_webhook, request).map(drop)
    };
    assert_eq!(cursor(others.delivery), cursor(unknown.delivery));
    assert_eq!(paths(cursor(others.delivery)), ["cursor"]);
    assert_eq!(fixture.all_rows(), before, "nothing has changed");
}

#[test]
fn the_gateway_is_not_asked_about_the_order_of_another_organization() {
    let fixture = Fixture::new();
    let order = fixture.order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    let paid = Notice::paid(&order, eur(1250), "pi_1");
    fixture.gateway.know(&paid);
    paid.send(&fixture.service).expect("received");
    fixture.gateway.on_list(GatewayBehavior::Unavailable);
    let look_up = MarkRefunded::all(RefundMethod::Gateway);
    let own = fixture.service.mark_order_refunded(&fixture.caller, order.id, look_up.clone()).map(drop);
    assert!(matches!(own, Err(Error::Unavailable(_))), "{own:?}");
    assert_eq!(fixture.gateway.listed_for().len(), 1);
    let caller = fixture.other_organization();
    let refused = fixture.service.mark_order_refunded(&caller, order.id, look_up).map(drop);
    assert_eq!(refused, Err(Error::NotFound(ResourceKind::Order)));
    assert_eq!(fixture.gateway.listed_for().len(), 1);
}

#[test]
fn a_ticket_code_of_another_organization_is_unknown() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    let caller = fixture.other_organization();
    let unknown = fixture.service.check_in_ticket(&caller, CheckInTicket::new("00000000000000000000"));
    for scan in [CheckInTicket::new(&ticket.code), CheckInTicket::new(&ticket.code).event(event.id)] {
        assert_eq!(fixture.service.check_in_ticket(&caller, scan.clone()), unknown);
        assert_eq!(fixture.service.check_out_ticket(&caller, scan), unknown);
    }
    assert_eq!(fixture.service.get_ticket_by_code(&caller, &ticket.code), unknown);
    assert_not_found(unknown);
    let mut report = UploadScans::new("Phone", [let_in(1, &ticket.code, NOW)]);
    report.event_id = Some(event.id);
    assert_eq!(fixture.service.upload_scans(&caller, report).unwrap_err(), Error::NotFound(ResourceKind::Event));
    assert_eq!(fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").scan_count, 0);

    // A ticket of the caller is at the wrong event if the event belongs to the other organization or is unknown.
    let own = fixture.service.create_event(&caller, new_event(|_| {})).expect("an event");
    let ticket_type = CreateTicketType::new("Seat", eur(0), 10);
    let ticket_type = fixture.service.create_ticket_type(&caller, own.id, ticket_type).expect("a type");
    let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
    let own_ticket = fixture.service.issue_tickets(&caller, request).expect("tickets").issued_tickets.remove(0);
    let scan_at = |event_id| {
        let scan = CheckInTicket::new(own_ticket.code.clone()).event(event_id);
        fixture.service.check_in_ticket(&caller, scan)
    };
    let nowhere = scan_at("event_0000000000001".parse().expect("an id"));
    assert_eq!(scan_at(event.id), nowhere);
    assert_eq!(reason(nowhere), Reason::WrongEvent);
}

#[test]
fn lists_and_filters_show_nothing_of_another_organization() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let order = fixture.order(&ticket_type, 1);
    let caller = fixture.other_organization();
    fn assert_empty<T: Debug, C: Debug>(page: Result<ticketing::page::Page<T, C>>) {
        let page = page.expect("a page");
        assert!(page.data.is_empty() && page.next_cursor.is_none(), "{page:?}");
    }
    let email = "ada@example.com";
    fixture.discount(percent_off(&event, "EARLY", 10));
    assert_empty(fixture.service.list_discounts(&caller, ListDiscounts::default()));
    assert_empty(fixture.service.list_discounts(&caller, ListDiscounts::default().event(event.id)));
    fixture.webhook(EventType::ALL.iter().copied());
    assert_empty(fixture.service.list_webhooks(&caller, ListWebhooks::default()));
    assert_empty(fixture.service.list_discounts(&caller, ListDiscounts::default().code("EARLY")));
    assert_empty(fixture.service.list_events(&caller, ListEvents::default()));
    assert_empty(fixture.service.list_events(&caller, ListEvents::default().q("event")));
    assert_empty(fixture.service.list_orders(&caller, ListOrders::default()));
    assert_empty(fixture.service.list_orders(&caller, ListOrders::default().event(event.id)));
    assert_empty(fixture.service.list_orders(&caller, ListOrders::default().customer_email(email)));
    let owed = owed_refund(&fixture, &fixture.ticket_type(&event, 1250, 10));
    for filter in
        [ListPayments::default(), ListPayments::default().event(event.id), ListPayments::default().order(owed.order_id)]
    {
        assert_empty(fixture.service.list_payments(&caller, filter));
    }
    for filter in [
        ListLedgerEntries::default(),
        ListLedgerEntries::default().event(event.id),
        ListLedgerEntries::default().order(owed.order_id),
    ] {
        assert_empty(fixture.service.list_ledger_entries(&caller, filter));
    }
    for filter in [
        ListTickets::default(),
        ListTickets::default().event(event.id),
        ListTickets::default().ticket_type(ticket_type.id),
        ListTickets::default().order(order.id),
        ListTickets::default().customer_email(email),
    ] {
        assert_empty(fixture.service.list_tickets(&caller, filter));
    }
}
