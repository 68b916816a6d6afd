//! The table of operations: a line for each method of [`TicketingService`](ticketing::TicketingService) that takes a
//! caller. The tests of scopes, tenants, idempotency keys, revisions, notifications, costs and routes go through it. A
//! new operation is one more line here, and the tests of its own behavior.

use std::collections::BTreeSet;

use Foreign::{Field, Nothing, Unknown};
use serde_json::json;
use ticketing::allocation::{CreateAllocation, ImportTickets, ListAllocations};
use ticketing::discount::{CreateDiscount, ListDiscounts, UpdateDiscount, ValidateDiscount};
use ticketing::door::{CreateDoorLink, GetEventArrivals, GetRoster, ListDoorLinks, ListScans, UploadScans};
use ticketing::error::ResourceKind::{
    Allocation, Discount, DoorLink, Event, Order, Refund, Ticket, TicketType, WebhookEndpoint as Webhook,
};
use ticketing::event::{CancelEventOrders, CreateEvent, EventSettings, GetEventSales, ListEvents, UpdateEvent};
use ticketing::order::{CreateOrder, ListOrders};
use ticketing::organization::Scope;
use ticketing::payment::{
    ListDisputes, ListLedgerEntries, ListPayments, ListRefunds, MarkPaid, MarkRefunded, RefundOrder,
};
use ticketing::ticket::{AssignTicket, CheckInTicket, FindTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, EventType, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};

use super::operation::{Foreign, Kind, Operation, Request, Resources, request, rewritten, to_json};
use crate::common::door::let_in;
use crate::common::sources::{files_under, is_of_optional_feature};
use crate::common::{EVENT_START, NOW, new_customer};

operations! { x =>
    // Kind      Scope             Status and answer to foreign ids, then ids in the path; request => notifications
    Read,        EventsRead,       200, Field("cursor"),     list_events(; ListEvents {"cursor": x.event});
    Idempotent,  EventsWrite,      201, Nothing,             create_event(; CreateEvent {
        "title": "Jazz Night", "slug": x.word, "startDate": EVENT_START, "deliveryMethod": "DIGITAL",
    });
    Read,        EventsRead,       200, Unknown(Event),      get_event(event);
    Read,        EventsRead,       0,   Unknown(Event),      get_event_by_slug(slug);
    Conditional, EventsWrite,      200, Unknown(Event),      update_event(event; UpdateEvent {"title": "Late Night"});
    Conditional, EventsWrite,      200, Unknown(Event),      update_event_settings(event; EventSettings {
        "tags": ["jazz"],
    });
    Write,       EventsRead,       204, Unknown(Event),      record_page_view(event);
    Conditional, EventsWrite,      204, Unknown(Event),      delete_event(unused_event);
    Read,        EventsRead,       200, Unknown(Event),      get_event_summary(event);
    Read,        EventsRead,       200, Unknown(Event),      get_event_sales(event; GetEventSales {"interval": "hour"});
    Read,        EventsRead,       200, Unknown(Event),      get_event_arrivals(event; GetEventArrivals {});
    Idempotent,  EventsRead,       201, Unknown(Event),      create_report_link(unused_event);
    Write,       EventsWrite,      204, Unknown(Event),      revoke_report_link(event);
    Idempotent,  OrdersWrite + PaymentsWrite, 202, Unknown(Event), cancel_event_orders(cancelled_event; CancelEventOrders {
        "refund": true, "reason": x.word,
    });
    Read,        OrdersRead,       200, Unknown(Event),      get_cancellation_run(refunded_event);
    Read,        TicketTypesRead,  200, Unknown(Event),      list_ticket_types(event; ListTicketTypes {});
    Idempotent,  TicketTypesWrite, 201, Unknown(Event),      create_ticket_type(event; CreateTicketType {
        "name": "Box", "price": 99.9, "quantity": x.number,
    });
    Read,        TicketTypesRead,  200, Unknown(TicketType), get_ticket_type(ticket_type);
    Conditional, TicketTypesWrite, 200, Unknown(TicketType), update_ticket_type(ticket_type; UpdateTicketType {
        "name": "Box",
    });
    Conditional, TicketTypesWrite, 204, Unknown(TicketType), delete_ticket_type(unused_type);

    Read,        OrdersRead,       200, Field("cursor"),     list_orders(; ListOrders {"cursor": x.pending});
    Idempotent,  OrdersWrite,      201, Field("eventId"),    create_order(; CreateOrder {
        "eventId": x.event, "customer": new_customer(), "items": [{"ticketId": x.ticket_type, "quantity": x.number}],
    });
    Read,        OrdersRead,       200, Unknown(Order),      get_order(pending);
    Read,        OrdersRead,       200, Unknown(Order),      get_order_details(pending);
    Read,        OrdersRead,       200, Unknown(Order),      get_checkout(pending);
    Idempotent,  OrdersWrite,      200, Unknown(Order),      renew_checkout(pending);
    Idempotent,  OrdersWrite,      200, Unknown(Order),      cancel_order(pending) => OrderCancelled;
    Idempotent,  PaymentsWrite,    200, Unknown(Order),      mark_order_paid(pending; MarkPaid {
        "how": "CASH",
    }) => OrderCompleted, TicketIssued;
    Idempotent,  OrdersWrite,      200, Unknown(Order),      mark_checkout_reminder_sent(pending);
    Write,       PaymentsWrite,    0,   Unknown(Order),      payment_completed(pending) => OrderCompleted, TicketIssued;
    Write,       PaymentsWrite,    0,   Unknown(Order),      payment_failed(pending);
    Idempotent,  PaymentsWrite,    200, Unknown(Order),      refund_order(paid; RefundOrder {
        "tickets": [x.sold],
    }) => OrderCancelled, RefundSucceeded;
    Idempotent,  PaymentsWrite,    200, Unknown(Order),      mark_order_refunded(owed; MarkRefunded {
        "how": "CASH",
    }) => RefundSucceeded;
    Idempotent,  PaymentsWrite,    200, Unknown(Refund),     withdraw_refund(refund);
    Read,        OrdersRead,       200, Field("cursor"),     list_refunds(; ListRefunds {"cursor": x.refund});
    Read,        OrdersRead,       200, Field("cursor"),     list_payments(; ListPayments {"cursor": x.payment});
    Read,        OrdersRead,       200, Field("cursor"),     list_ledger_entries(; ListLedgerEntries {
        "cursor": x.entry,
    });
    Read,        OrdersRead,       200, Nothing,             list_disputes(; ListDisputes {});
    Read,        OrdersRead,       200, Unknown(Order),      get_order_balance(paid);

    Read,        TicketsRead,      200, Field("cursor"),     list_tickets(; ListTickets {"cursor": x.ticket});
    Idempotent,  TicketsWrite,     201, Field("ticketId"),   issue_tickets(; IssueTickets {
        "ticketId": x.ticket_type, "quantity": x.number, "customer": new_customer(),
    }) => TicketIssued;
    Read,        TicketsRead,      200, Unknown(Ticket),     get_ticket(ticket);
    Read,        TicketsRead,      200, Unknown(Ticket),     get_ticket_by_code(; FindTicket {"code": x.code});
    Idempotent,  TicketsCheckIn,   200, Unknown(Ticket),     check_in_ticket(; CheckInTicket {
        "code": x.code,
    }) => TicketCheckedIn;
    Idempotent,  TicketsCheckIn,   200, Unknown(Ticket),     check_out_ticket(; CheckInTicket {"code": x.code_inside});
    Idempotent,  TicketsWrite,     200, Unknown(Ticket),     cancel_ticket(ticket);
    Idempotent,  TicketsWrite,     201, Unknown(TicketType), create_allocation(ticket_type; CreateAllocation {
        "name": "Guests", "quantity": x.number, "labels": [x.word],
    });
    Read,        TicketsRead,      200, Field("cursor"),     list_allocations(; ListAllocations {"cursor": x.allocation});
    Read,        TicketsRead,      200, Unknown(Allocation), get_allocation(allocation);
    Idempotent,  TicketsWrite,     200, Unknown(Allocation), cancel_allocation(allocation);
    Idempotent,  TicketsWrite,     200, Unknown(Ticket),     assign_ticket(set_aside; AssignTicket {
        "customer": new_customer(),
    });
    Idempotent,  TicketsWrite,     201, Unknown(TicketType), import_tickets(ticket_type; ImportTickets {
        "name": "Box office", "tickets": [{"code": format!("{}-code", x.word)}], "notify": true,
    }) => TicketIssued;
    Read,        TicketsCheckIn,   200, Unknown(Event),      get_roster(event; GetRoster {});
    Read,        TicketsCheckIn,   200, Unknown(Event),      get_roster_order(event, paid);
    Idempotent,  TicketsCheckIn,   200, Unknown(Event),      upload_scans(; UploadScans {
        "eventId": x.event, "device": "Phone", "scans": [let_in(x.number, x.code, NOW)],
    }) => TicketCheckedIn;
    Read,        TicketsRead,      200, Unknown(Event),      list_scans(event; ListScans {});
    Idempotent,  EventsWrite,      201, Unknown(Event),      create_door_link(event; CreateDoorLink {"name": x.word});
    Read,        EventsWrite,      200, Unknown(Event),      list_door_links(event; ListDoorLinks {});
    Write,       EventsWrite,      204, Unknown(DoorLink),   revoke_door_link(event, door_link);

    Read,        DiscountsRead,    200, Field("cursor"),     list_discounts(; ListDiscounts {"cursor": x.discount});
    Idempotent,  DiscountsWrite,   201, Field("eventId"),    create_discount(; CreateDiscount {
        "eventId": x.event, "code": x.word, "type": "PERCENTAGE", "value": 7, "validFrom": NOW, "validTo": EVENT_START,
    });
    Idempotent,  DiscountsRead,    200, Field("eventId"),    validate_discount(; ValidateDiscount {
        "eventId": x.event, "code": x.word, "orderAmount": 0, "ticketItems": [],
    });
    Read,        DiscountsRead,    200, Unknown(Discount),   get_discount(discount);
    Conditional, DiscountsWrite,   200, Unknown(Discount),   update_discount(discount; UpdateDiscount {
        "description": "Early birds",
    });
    Conditional, DiscountsWrite,   204, Unknown(Discount),   delete_discount(discount);

    Read,        WebhooksRead,     200, Field("cursor"),     list_webhooks(; ListWebhooks {"cursor": x.webhook});
    Idempotent,  WebhooksWrite,    201, Nothing,             create_webhook(; CreateWebhook {
        "url": format!("https://example.com/{}", x.word), "events": ["order.completed"],
    });
    Read,        WebhooksRead,     200, Unknown(Webhook),    get_webhook(webhook);
    Conditional, WebhooksWrite,    200, Unknown(Webhook),    update_webhook(webhook; UpdateWebhook {
        "description": "Ours",
    });
    Conditional, WebhooksWrite,    204, Unknown(Webhook),    delete_webhook(webhook);
    Write,       WebhooksWrite,    200, Unknown(Webhook),    rotate_webhook_secret(webhook);
    Read,        WebhooksRead,     200, Unknown(Webhook),    list_webhook_deliveries(webhook; ListWebhookDeliveries {});
    Idempotent,  WebhooksWrite,    202, Unknown(Webhook),    resend_webhook_delivery(webhook, delivery)
        => TicketCheckedIn;
}

/// How the signature of a method says that it is called.
fn kind_of(signature: &str) -> &'static str {
    match signature {
        _ if signature.contains("IdempotentCall") => "idempotent",
        _ if signature.contains("ConditionalCaller") => "conditional",
        _ => "neither",
    }
}

#[test]
fn the_table_has_every_method_that_takes_a_caller_with_its_kind() {
    let mut found = BTreeSet::new();
    for file in files_under("src/service").iter().filter(|file| !is_of_optional_feature(file)) {
        let text = std::fs::read_to_string(file).expect("text");
        for part in text.split("pub fn ").skip(1) {
            let signature = part.split('{').next().unwrap_or_default();
            if signature.contains("caller: ") {
                let name = signature.split(['(', '<']).next().unwrap_or_default().to_owned();
                found.insert((name, kind_of(signature)));
            }
        }
    }
    let listed = OPERATIONS.iter().map(|operation| {
        let kind = match operation.kind {
            Kind::Idempotent(_) => "idempotent",
            Kind::Conditional(_) => "conditional",
            Kind::Read | Kind::Write => "neither",
        };
        (operation.name.to_owned(), kind)
    });
    assert_eq!(found, listed.collect());
}

#[test]
fn every_operation_makes_its_notifications_and_a_read_changes_nothing() {
    for operation in OPERATIONS {
        let resources = Resources::new();
        let fixture = &resources.fixture;
        let (before, queued_before) = (fixture.all_rows(), fixture.outbox().len());
        operation.run(&resources, &fixture.caller).expect(operation.name);
        let queued = fixture.outbox().into_iter().skip(queued_before).map(|row| row.kind);
        let expected = operation.notifications.iter().map(|kind| kind.as_str().to_owned());
        assert_eq!(queued.collect::<BTreeSet<_>>(), expected.collect(), "{}", operation.name);
        if !operation.changes() {
            assert_eq!(fixture.all_rows(), before, "{}", operation.name);
        }
    }
}
