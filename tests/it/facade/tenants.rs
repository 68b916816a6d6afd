//! Tenants: resources of another organization get exactly the same response as unknown ones.

use std::fmt::Debug;

use ticketing::discount::{
    BasketItem, CreateDiscount, DiscountRefusal, ListDiscounts, UpdateDiscount, ValidateDiscount,
};
use ticketing::door::{CreateDoorLink, GetRoster, ListDoorLinks, ListScans, UploadScans};
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::{EventSettings, ListEvents, UpdateEvent};
use ticketing::id::{
    ApiKeyId, DiscountId, EventId, LedgerEntryId, OrderId, PaymentId, RefundId, TicketId, TicketTypeId,
    WebhookDeliveryId, WebhookId,
};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem};
use ticketing::page::PageRequest;
use ticketing::payment::{
    ListLedgerEntries, ListPayments, ListRefunds, ManualMethod, MarkRefunded, Refund, RefundMethod, RefundOrder,
};
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, EventType, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};
use ticketing::{Caller, Error, Result, TicketingService};

use crate::common::door::let_in;
use crate::common::sources::{files_under, is_of_optional_feature};
use crate::common::*;

/// The ids of an organization's resources, or unknown ids.
#[derive(Clone, Copy)]
struct Ids {
    event: EventId,
    door_link: ApiKeyId,
    ticket_type: TicketTypeId,
    order: OrderId,
    payment: PaymentId,
    refund: RefundId,
    entry: LedgerEntryId,
    ticket: TicketId,
    discount: DiscountId,
    webhook: WebhookId,
    delivery: WebhookDeliveryId,
}

fn new_discount(event: EventId) -> CreateDiscount {
    CreateDiscount::percentage("OWN", 10).event(event)
}

fn validation(event_id: EventId, code: &str, ticket_type_id: TicketTypeId) -> ValidateDiscount {
    let ticket_items = vec![BasketItem::new(ticket_type_id, 1, eur(0))];
    ValidateDiscount::new(event_id, code, ticket_items)
}

type Operation = fn(&TicketingService, &Caller, Ids) -> Result<()>;

/// Operations with an id in the path: their refusals name the kind of resource that does not exist.
const BY_PATH: &[(&str, ResourceKind, Operation)] = &[
    ("get_event", ResourceKind::Event, |service, caller, ids| service.get_event(caller, ids.event).map(drop)),
    ("get_roster", ResourceKind::Event, |service, caller, ids| {
        service.get_roster(caller, ids.event, GetRoster::new()).map(drop)
    }),
    ("get_roster_order", ResourceKind::Event, |service, caller, ids| {
        service.get_roster_order(caller, ids.event, ids.order).map(drop)
    }),
    ("list_scans", ResourceKind::Event, |service, caller, ids| {
        service.list_scans(caller, ids.event, ListScans::new()).map(drop)
    }),
    ("create_door_link", ResourceKind::Event, |service, caller, ids| {
        service.create_door_link(caller, ids.event, CreateDoorLink::new("Gate")).map(drop)
    }),
    ("list_door_links", ResourceKind::Event, |service, caller, ids| {
        service.list_door_links(caller, ids.event, ListDoorLinks::new()).map(drop)
    }),
    ("revoke_door_link", ResourceKind::DoorLink, |service, caller, ids| {
        service.revoke_door_link(caller, ids.event, ids.door_link)
    }),
    ("update_event", ResourceKind::Event, |service, caller, ids| {
        service.update_event(caller, ids.event, UpdateEvent::default()).map(drop)
    }),
    ("update_event_settings", ResourceKind::Event, |service, caller, ids| {
        service.update_event_settings(caller, ids.event, EventSettings::default()).map(drop)
    }),
    ("record_page_view", ResourceKind::Event, |service, caller, ids| service.record_page_view(caller, ids.event)),
    ("delete_event", ResourceKind::Event, |service, caller, ids| service.delete_event(caller, ids.event)),
    ("get_event_summary", ResourceKind::Event, |service, caller, ids| {
        service.get_event_summary(caller, ids.event).map(drop)
    }),
    ("list_ticket_types", ResourceKind::Event, |service, caller, ids| {
        service.list_ticket_types(caller, ids.event, ListTicketTypes::default()).map(drop)
    }),
    ("create_ticket_type", ResourceKind::Event, |service, caller, ids| {
        service.create_ticket_type(caller, ids.event, CreateTicketType::new("Seat", eur(1), 1)).map(drop)
    }),
    ("get_ticket_type", ResourceKind::TicketType, |service, caller, ids| {
        service.get_ticket_type(caller, ids.ticket_type).map(drop)
    }),
    ("update_ticket_type", ResourceKind::TicketType, |service, caller, ids| {
        service.update_ticket_type(caller, ids.ticket_type, UpdateTicketType::default()).map(drop)
    }),
    ("delete_ticket_type", ResourceKind::TicketType, |service, caller, ids| {
        service.delete_ticket_type(caller, ids.ticket_type)
    }),
    ("get_order", ResourceKind::Order, |service, caller, ids| service.get_order(caller, ids.order).map(drop)),
    ("get_order_details", ResourceKind::Order, |service, caller, ids| {
        service.get_order_details(caller, ids.order).map(drop)
    }),
    ("get_checkout", ResourceKind::Order, |service, caller, ids| service.get_checkout(caller, ids.order).map(drop)),
    ("renew_checkout", ResourceKind::Order, |service, caller, ids| service.renew_checkout(caller, ids.order).map(drop)),
    ("cancel_order", ResourceKind::Order, |service, caller, ids| service.cancel_order(caller, ids.order).map(drop)),
    ("refund_order", ResourceKind::Order, |service, caller, ids| {
        let keyed = caller.with_idempotency_key("refund");
        service.refund_order(&keyed, ids.order, RefundOrder::of_amount(eur(1))).map(drop)
    }),
    ("mark_order_refunded", ResourceKind::Order, |service, caller, ids| {
        service.mark_order_refunded(caller, ids.order, MarkRefunded::all(RefundMethod::Cash)).map(drop)
    }),
    ("withdraw_refund", ResourceKind::Refund, |service, caller, ids| {
        service.withdraw_refund(caller, ids.refund).map(drop)
    }),
    ("get_order_balance", ResourceKind::Order, |service, caller, ids| {
        service.get_order_balance(caller, ids.order).map(drop)
    }),
    ("mark_order_paid", ResourceKind::Order, |service, caller, ids| {
        service.mark_order_paid(caller, ids.order, ManualMethod::Cash).map(drop)
    }),
    ("mark_checkout_reminder_sent", ResourceKind::Order, |service, caller, ids| {
        service.mark_checkout_reminder_sent(caller, ids.order).map(drop)
    }),
    ("payment_completed", ResourceKind::Order, |service, caller, ids| {
        service.payment_completed(caller, ids.order).map(drop)
    }),
    ("payment_failed", ResourceKind::Order, |service, caller, ids| service.payment_failed(caller, ids.order).map(drop)),
    ("get_ticket", ResourceKind::Ticket, |service, caller, ids| service.get_ticket(caller, ids.ticket).map(drop)),
    ("cancel_ticket", ResourceKind::Ticket, |service, caller, ids| service.cancel_ticket(caller, ids.ticket).map(drop)),
    ("get_discount", ResourceKind::Discount, |service, caller, ids| {
        service.get_discount(caller, ids.discount).map(drop)
    }),
    ("update_discount", ResourceKind::Discount, |service, caller, ids| {
        service.update_discount(caller, ids.discount, UpdateDiscount::default()).map(drop)
    }),
    ("delete_discount", ResourceKind::Discount, |service, caller, ids| service.delete_discount(caller, ids.discount)),
    ("get_webhook", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.get_webhook(caller, ids.webhook).map(drop)
    }),
    ("update_webhook", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.update_webhook(caller, ids.webhook, UpdateWebhook::default()).map(drop)
    }),
    ("delete_webhook", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.delete_webhook(caller, ids.webhook)
    }),
    ("rotate_webhook_secret", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.rotate_webhook_secret(caller, ids.webhook).map(drop)
    }),
    ("list_webhook_deliveries", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.list_webhook_deliveries(caller, ids.webhook, ListWebhookDeliveries::default()).map(drop)
    }),
    ("resend_webhook_delivery", ResourceKind::WebhookEndpoint, |service, caller, ids| {
        service.resend_webhook_delivery(caller, ids.webhook, ids.delivery).map(drop)
    }),
];

/// Operations with an id in the body or in the query: their refusals are field errors.
const BY_FIELD: &[(&str, &str, Operation)] = &[
    ("create_order", "eventId", |service, caller, ids| {
        service.create_order(caller, CreateOrder::new(ids.event, new_customer(), ids.ticket_type, 1)).map(drop)
    }),
    ("issue_tickets", "ticketId", |service, caller, ids| {
        let request = IssueTickets::new(ids.ticket_type, new_customer(), 1);
        service.issue_tickets(caller, request).map(drop)
    }),
    ("list_events", "cursor", |service, caller, ids| {
        let page = PageRequest::default().after(ids.event);
        service.list_events(caller, ListEvents::default().page(page)).map(drop)
    }),
    ("list_orders", "cursor", |service, caller, ids| {
        let page = PageRequest::default().after(ids.order);
        service.list_orders(caller, ListOrders::default().page(page)).map(drop)
    }),
    ("list_tickets", "cursor", |service, caller, ids| {
        let page = PageRequest::default().after(ids.ticket);
        service.list_tickets(caller, ListTickets::default().page(page)).map(drop)
    }),
    ("create_discount", "eventId", |service, caller, ids| {
        service.create_discount(caller, new_discount(ids.event)).map(drop)
    }),
    ("validate_discount", "eventId", |service, caller, ids| {
        service.validate_discount(caller, validation(ids.event, "EARLY", ids.ticket_type)).map(drop)
    }),
    ("list_refunds", "cursor", |service, caller, ids| {
        service.list_refunds(caller, ListRefunds::default().after(ids.refund)).map(drop)
    }),
    ("list_payments", "cursor", |service, caller, ids| {
        service.list_payments(caller, ListPayments::default().after(ids.payment)).map(drop)
    }),
    ("list_ledger_entries", "cursor", |service, caller, ids| {
        service.list_ledger_entries(caller, ListLedgerEntries::default().after(ids.entry)).map(drop)
    }),
    ("list_discounts", "cursor", |service, caller, ids| {
        let page = PageRequest::default().after(ids.discount);
        service.list_discounts(caller, ListDiscounts::default().page(page)).map(drop)
    }),
    ("list_webhooks", "cursor", |service, caller, ids| {
        let page = PageRequest::default().after(ids.webhook);
        service.list_webhooks(caller, ListWebhooks::default().page(page)).map(drop)
    }),
];

/// A refund that has to be given back by hand.
fn owed_refund(fixture: &Fixture, ticket_type: &TicketType) -> Refund {
    let order = fixture.order(ticket_type, 1).id;
    fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid");
    fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
    fixture.service.list_refunds(&fixture.caller, ListRefunds::default().order(order)).expect("a page").data.remove(0)
}

#[test]
fn the_table_has_every_operation_with_an_id_in_its_path() {
    let mut found = Vec::new();
    for file in files_under("src/service").iter().filter(|file| !is_of_optional_feature(file)) {
        let text = std::fs::read_to_string(file).expect("text");
        for part in text.split("pub fn ").skip(1) {
            let parameters = part.split("->").next().unwrap_or_default();
            let names_an_id = parameters.contains("Id,") || parameters.contains("Id)");
            if parameters.contains("caller: ") && names_an_id {
                found.push(parameters.split(['(', '<']).next().unwrap_or_default().to_owned());
            }
        }
    }
    found.sort_unstable();
    let mut named: Vec<_> = BY_PATH.iter().map(|(name, ..)| (*name).to_owned()).collect();
    named.sort_unstable();
    assert_eq!(found, named);
}

#[test]
fn resources_of_another_organization_are_answered_like_unknown_ones() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.order(&ticket_type, 1);
    let webhook = fixture.webhook([EventType::TicketIssued]).endpoint;
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    let discount = fixture.discount(percent_off(&event, "EARLY", 10));
    fixture.fail_all_deliveries();
    let owed = owed_refund(&fixture, &ticket_type);
    let entries = fixture.service.list_ledger_entries(&fixture.caller, ListLedgerEntries::default()).expect("a page");
    let others = Ids {
        event: event.id,
        door_link: fixture.gate(&event).key().expect("a key"),
        ticket_type: ticket_type.id,
        order: order.id,
        payment: owed.payment_id,
        refund: owed.id,
        entry: entries.data[0].id,
        ticket: ticket.id,
        discount: discount.id,
        webhook: webhook.id,
        delivery: fixture.deliveries(webhook.id)[0].id,
    };
    let unknown = Ids {
        event: "event_0000000000001".parse().expect("an id"),
        door_link: "key_0000000000001".parse().expect("an id"),
        ticket_type: "type_0000000000001".parse().expect("an id"),
        order: "order_0000000000001".parse().expect("an id"),
        payment: "payment_0000000000001".parse().expect("an id"),
        refund: "refund_0000000000001".parse().expect("an id"),
        entry: "entry_0000000000001".parse().expect("an id"),
        ticket: "ticket_0000000000001".parse().expect("an id"),
        discount: "discount_0000000000001".parse().expect("an id"),
        webhook: "webhook_0000000000001".parse().expect("an id"),
        delivery: "delivery_0000000000001".parse().expect("an id"),
    };
    let state = || {
        let service = &fixture.service;
        (
            service.get_event(&fixture.caller, event.id),
            service.get_ticket_type(&fixture.caller, ticket_type.id),
            service.get_order(&fixture.caller, order.id),
            service.list_refunds(&fixture.caller, ListRefunds::default()),
            service.get_ticket(&fixture.caller, ticket.id),
            service.get_discount(&fixture.caller, discount.id),
            service.get_webhook(&fixture.caller, webhook.id),
            fixture.stored("SELECT COUNT(*) FROM webhook_outbox"),
            fixture.stored("SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL"),
            service.list_orders(&fixture.caller, ListOrders::default()).map(|page| page.data.len()),
        )
    };
    let before = state();
    let caller = fixture.other_organization();
    for (name, kind, operation) in BY_PATH {
        let refused = operation(&fixture.service, &caller, others);
        assert_eq!(refused, Err(Error::NotFound(*kind)), "{name}");
        assert_eq!(refused, operation(&fixture.service, &caller, unknown), "{name}");
    }
    let resent = fixture.service.resend_webhook_delivery(&fixture.caller, others.webhook, unknown.delivery);
    assert_eq!(resent.map(drop), Err(Error::NotFound(ResourceKind::WebhookDelivery)));
    for (name, field, operation) in BY_FIELD {
        let refused = operation(&fixture.service, &caller, others);
        assert_eq!(refused, operation(&fixture.service, &caller, unknown), "{name}");
        assert_eq!(paths(refused), [*field], "{name}");
    }
    assert_eq!(state(), before, "nothing has changed");

    // A ticket type of the other organization in an order for an event of the caller.
    let own = fixture.service.create_event(&caller, new_event(|_| {})).expect("an event");
    let own_type = CreateTicketType::new("Seat", eur(0), 10);
    let own_type = fixture.service.create_ticket_type(&caller, own.id, own_type).expect("a type");
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

    // A ticket type of the other organization in a discount and in a basket for an event of the caller, and its
    // discount code.
    let limited_to = |id| {
        let limited = new_discount(own.id).applicable_ticket_types([own_type.id, id]);
        fixture.service.create_discount(&caller, limited).map(drop)
    };
    assert_eq!(limited_to(others.ticket_type), limited_to(unknown.ticket_type));
    assert_eq!(paths(limited_to(others.ticket_type)), ["applicableTicketTypes[1]"]);
    let basket_of = |id| fixture.service.validate_discount(&caller, validation(own.id, "EARLY", id));
    assert_eq!(basket_of(others.ticket_type), basket_of(unknown.ticket_type));
    assert_eq!(paths(basket_of(others.ticket_type)), ["ticketItems[0].ticketId"]);
    assert_eq!(basket_of(own_type.id).expect("an answer").error, Some(DiscountRefusal::NotFound));

    // A delivery of the other organization at an endpoint of the caller.
    let own_webhook = CreateWebhook::new("https://example.com/own", [EventType::TicketIssued]);
    let own_webhook = fixture.service.create_webhook(&caller, own_webhook).expect("an endpoint").endpoint.id;
    let resend = |id| fixture.service.resend_webhook_delivery(&caller, own_webhook, id);
    assert_eq!(resend(others.delivery), resend(unknown.delivery));
    assert_not_found(resend(others.delivery));
    let cursor = |id| {
        let request = ListWebhookDeliveries::default().after(id);
        fixture.service.list_webhook_deliveries(&caller, own_webhook, request).map(drop)
    };
    assert_eq!(cursor(others.delivery), cursor(unknown.delivery));
    assert_eq!(paths(cursor(others.delivery)), ["cursor"]);
    assert_eq!(state(), before, "nothing has changed");
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
