//! Scopes: every operation needs exactly one scope, and no scope implies another. What receives money or pays it back
//! with an order needs a second one.

use ticketing::discount::{Discount, ListDiscounts, UpdateDiscount, ValidateDiscount};
use ticketing::door::{CreateDoorLink, GetRoster, ListDoorLinks, ListScans, UploadScans};
use ticketing::error::Reason;
use ticketing::event::{Event, EventSettings, ListEvents, UpdateEvent};
use ticketing::id::ApiKeyId;
use ticketing::order::{CreateOrder, ListOrders, Order};
use ticketing::organization::Scope;
use ticketing::payment::ManualMethod;
use ticketing::payment::{ListDisputes, ListLedgerEntries, ListPayments, ListRefunds, RefundOrder};
use ticketing::payment::{MarkRefunded, RefundMethod};
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets, NewTicket};
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, UpdateTicketType};
use ticketing::webhook::{
    CreateWebhook, EventType, ListWebhookDeliveries, ListWebhooks, UpdateWebhook, WebhookDelivery,
};
use ticketing::{Caller, Error, Result, TicketingService};

use crate::common::door::let_in;
use crate::common::sources::{files_under, is_of_optional_feature};
use crate::common::*;

/// The resources that the operations need.
struct Resources {
    fixture: Fixture,
    event: Event,
    /// An event that nothing depends on, with a ticket type.
    spare: Event,
    spare_type: TicketType,
    door_link: ApiKeyId,
    ticket_type: TicketType,
    pending: Order,
    paid: Order,
    not_checked_in: NewTicket,
    checked_in: NewTicket,
    discount: Discount,
    delivery: WebhookDelivery,
}

impl Resources {
    fn new() -> Self {
        let fixture = Fixture::with_gateway(|builder| builder.public_url("https://tickets.example.com"));
        let event = fixture.event();
        let door_link = fixture.gate(&event).key().expect("a key");
        let spare = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 1250, 10);
        let spare_type = fixture.ticket_type(&spare, 0, 10);
        let pending = fixture.order(&ticket_type, 1);
        let paid = fixture.paid_order(&ticket_type, 1);
        let webhook = fixture.webhook([EventType::TicketIssued]).endpoint.id;
        let not_checked_in = fixture.issue(&ticket_type, 1).remove(0);
        let checked_in = fixture.issue(&ticket_type, 1).remove(0);
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&checked_in.code)).expect("checked in");
        let discount = fixture.discount(percent_off(&event, "EARLY", 10));
        fixture.fail_all_deliveries();
        let delivery = fixture.deliveries(webhook).remove(0);
        Self {
            fixture,
            event,
            spare,
            spare_type,
            door_link,
            ticket_type,
            pending,
            paid,
            not_checked_in,
            checked_in,
            discount,
            delivery,
        }
    }

    fn service(&self) -> &TicketingService {
        &self.fixture.service
    }
}

type Operation = fn(&Resources, &Caller) -> Result<()>;

/// Every operation of the facade that takes a caller, with its scope.
const OPERATIONS: &[(&str, Scope, Operation)] = &[
    ("list_events", Scope::EventsRead, |resources, caller| {
        resources.service().list_events(caller, ListEvents::default()).map(drop)
    }),
    ("create_event", Scope::EventsWrite, |resources, caller| {
        resources.service().create_event(caller, new_event(|_| {})).map(drop)
    }),
    ("get_event", Scope::EventsRead, |resources, caller| {
        resources.service().get_event(caller, resources.event.id).map(drop)
    }),
    ("get_event_by_slug", Scope::EventsRead, |resources, caller| {
        resources.service().get_event_by_slug(caller, &resources.event.slug).map(drop)
    }),
    ("update_event", Scope::EventsWrite, |resources, caller| {
        resources.service().update_event(caller, resources.event.id, UpdateEvent::default()).map(drop)
    }),
    ("update_event_settings", Scope::EventsWrite, |resources, caller| {
        resources.service().update_event_settings(caller, resources.event.id, EventSettings::default()).map(drop)
    }),
    ("record_page_view", Scope::EventsRead, |resources, caller| {
        resources.service().record_page_view(caller, resources.event.id)
    }),
    ("delete_event", Scope::EventsWrite, |resources, caller| {
        resources.service().delete_event(caller, resources.spare.id)
    }),
    ("get_event_summary", Scope::EventsRead, |resources, caller| {
        resources.service().get_event_summary(caller, resources.event.id).map(drop)
    }),
    ("list_ticket_types", Scope::TicketTypesRead, |resources, caller| {
        resources.service().list_ticket_types(caller, resources.event.id, ListTicketTypes::default()).map(drop)
    }),
    ("create_ticket_type", Scope::TicketTypesWrite, |resources, caller| {
        resources
            .fixture
            .service
            .create_ticket_type(caller, resources.event.id, CreateTicketType::new("Seat", eur(1), 1))
            .map(drop)
    }),
    ("get_ticket_type", Scope::TicketTypesRead, |resources, caller| {
        resources.service().get_ticket_type(caller, resources.ticket_type.id).map(drop)
    }),
    ("update_ticket_type", Scope::TicketTypesWrite, |resources, caller| {
        resources
            .fixture
            .service
            .update_ticket_type(caller, resources.ticket_type.id, UpdateTicketType::default())
            .map(drop)
    }),
    ("delete_ticket_type", Scope::TicketTypesWrite, |resources, caller| {
        resources.service().delete_ticket_type(caller, resources.spare_type.id)
    }),
    ("list_orders", Scope::OrdersRead, |resources, caller| {
        resources.service().list_orders(caller, ListOrders::default()).map(drop)
    }),
    ("create_order", Scope::OrdersWrite, |resources, caller| {
        resources
            .fixture
            .service
            .create_order(caller, CreateOrder::new(resources.event.id, new_customer(), resources.ticket_type.id, 1))
            .map(drop)
    }),
    ("get_order", Scope::OrdersRead, |resources, caller| {
        resources.service().get_order(caller, resources.pending.id).map(drop)
    }),
    ("get_checkout", Scope::OrdersRead, |resources, caller| {
        resources.service().get_checkout(caller, resources.pending.id).map(drop)
    }),
    ("renew_checkout", Scope::OrdersWrite, |resources, caller| {
        resources.service().renew_checkout(caller, resources.pending.id).map(drop)
    }),
    ("get_order_details", Scope::OrdersRead, |resources, caller| {
        resources.service().get_order_details(caller, resources.pending.id).map(drop)
    }),
    ("cancel_order", Scope::OrdersWrite, |resources, caller| {
        resources.service().cancel_order(caller, resources.pending.id).map(drop)
    }),
    ("mark_order_paid", Scope::PaymentsWrite, |resources, caller| {
        resources.service().mark_order_paid(caller, resources.pending.id, ManualMethod::Cash).map(drop)
    }),
    ("mark_checkout_reminder_sent", Scope::OrdersWrite, |resources, caller| {
        resources.service().mark_checkout_reminder_sent(caller, resources.pending.id).map(drop)
    }),
    ("payment_completed", Scope::PaymentsWrite, |resources, caller| {
        resources.service().payment_completed(caller, resources.pending.id).map(drop)
    }),
    ("payment_failed", Scope::PaymentsWrite, |resources, caller| {
        resources.service().payment_failed(caller, resources.pending.id).map(drop)
    }),
    ("refund_order", Scope::PaymentsWrite, |resources, caller| {
        let request = RefundOrder::of_amount(eur(1));
        let keyed = caller.with_idempotency_key("refund");
        resources.service().refund_order(&keyed, resources.paid.id, request).map(drop)
    }),
    ("mark_order_refunded", Scope::PaymentsWrite, |resources, caller| {
        let paid = resources.fixture.caller.clone();
        resources.service().mark_order_paid(&paid, resources.pending.id, ManualMethod::Cash).ok();
        resources.service().cancel_order(&paid, resources.pending.id).ok();
        resources
            .service()
            .mark_order_refunded(caller, resources.pending.id, MarkRefunded::all(RefundMethod::Cash))
            .map(drop)
    }),
    ("list_disputes", Scope::OrdersRead, |resources, caller| {
        resources.service().list_disputes(caller, ListDisputes::default()).map(drop)
    }),
    ("list_refunds", Scope::OrdersRead, |resources, caller| {
        resources.service().list_refunds(caller, ListRefunds::default()).map(drop)
    }),
    ("withdraw_refund", Scope::PaymentsWrite, |resources, caller| {
        resources.fixture.gateway.on_refund(GatewayBehavior::Refuse);
        resources.service().cancel_order(&resources.fixture.caller, resources.paid.id).ok();
        let refunds =
            resources.service().list_refunds(&resources.fixture.caller, ListRefunds::default()).expect("a page");
        let refused = refunds.data.iter().find(|refund| refund.owed > eur(0)).expect("one that is owed");
        resources.service().withdraw_refund(caller, refused.id).map(drop)
    }),
    ("list_payments", Scope::OrdersRead, |resources, caller| {
        resources.service().list_payments(caller, ListPayments::default()).map(drop)
    }),
    ("list_ledger_entries", Scope::OrdersRead, |resources, caller| {
        resources.service().list_ledger_entries(caller, ListLedgerEntries::default()).map(drop)
    }),
    ("get_order_balance", Scope::OrdersRead, |resources, caller| {
        resources.service().get_order_balance(caller, resources.paid.id).map(drop)
    }),
    ("list_tickets", Scope::TicketsRead, |resources, caller| {
        resources.service().list_tickets(caller, ListTickets::default()).map(drop)
    }),
    ("issue_tickets", Scope::TicketsWrite, |resources, caller| {
        let request = IssueTickets::new(resources.ticket_type.id, new_customer(), 1);
        resources.service().issue_tickets(caller, request).map(drop)
    }),
    ("get_ticket", Scope::TicketsRead, |resources, caller| {
        resources.service().get_ticket(caller, resources.not_checked_in.id).map(drop)
    }),
    ("get_ticket_by_code", Scope::TicketsRead, |resources, caller| {
        resources.service().get_ticket_by_code(caller, &resources.not_checked_in.code).map(drop)
    }),
    ("check_in_ticket", Scope::TicketsCheckIn, |resources, caller| {
        resources.service().check_in_ticket(caller, CheckInTicket::new(&resources.not_checked_in.code)).map(drop)
    }),
    ("check_out_ticket", Scope::TicketsCheckIn, |resources, caller| {
        resources.service().check_out_ticket(caller, CheckInTicket::new(&resources.checked_in.code)).map(drop)
    }),
    ("get_roster", Scope::TicketsCheckIn, |resources, caller| {
        resources.service().get_roster(caller, resources.event.id, GetRoster::new()).map(drop)
    }),
    ("get_roster_order", Scope::TicketsCheckIn, |resources, caller| {
        resources.service().get_roster_order(caller, resources.event.id, resources.paid.id).map(drop)
    }),
    ("upload_scans", Scope::TicketsCheckIn, |resources, caller| {
        let mut report = UploadScans::new("Phone", [let_in(1, &resources.not_checked_in.code, NOW)]);
        report.event_id = Some(resources.event.id);
        resources.service().upload_scans(caller, report).map(drop)
    }),
    ("create_door_link", Scope::EventsWrite, |resources, caller| {
        let link = CreateDoorLink::new("Gate B");
        resources.service().create_door_link(caller, resources.event.id, link).map(drop)
    }),
    ("list_door_links", Scope::EventsWrite, |resources, caller| {
        resources.service().list_door_links(caller, resources.event.id, ListDoorLinks::new()).map(drop)
    }),
    ("revoke_door_link", Scope::EventsWrite, |resources, caller| {
        resources.service().revoke_door_link(caller, resources.event.id, resources.door_link)
    }),
    ("list_scans", Scope::TicketsRead, |resources, caller| {
        resources.service().list_scans(caller, resources.event.id, ListScans::new()).map(drop)
    }),
    ("cancel_ticket", Scope::TicketsWrite, |resources, caller| {
        resources.service().cancel_ticket(caller, resources.not_checked_in.id).map(drop)
    }),
    ("list_discounts", Scope::DiscountsRead, |resources, caller| {
        resources.service().list_discounts(caller, ListDiscounts::default()).map(drop)
    }),
    ("create_discount", Scope::DiscountsWrite, |resources, caller| {
        resources.service().create_discount(caller, percent_off(&resources.event, "LATE", 5)).map(drop)
    }),
    ("validate_discount", Scope::DiscountsRead, |resources, caller| {
        let event_id = resources.event.id;
        let code = "EARLY".to_owned();
        let request = ValidateDiscount::new(event_id, code, []);
        resources.service().validate_discount(caller, request).map(drop)
    }),
    ("get_discount", Scope::DiscountsRead, |resources, caller| {
        resources.service().get_discount(caller, resources.discount.id).map(drop)
    }),
    ("update_discount", Scope::DiscountsWrite, |resources, caller| {
        resources.service().update_discount(caller, resources.discount.id, UpdateDiscount::default()).map(drop)
    }),
    ("delete_discount", Scope::DiscountsWrite, |resources, caller| {
        resources.service().delete_discount(caller, resources.discount.id)
    }),
    ("list_webhooks", Scope::WebhooksRead, |resources, caller| {
        resources.service().list_webhooks(caller, ListWebhooks::default()).map(drop)
    }),
    ("create_webhook", Scope::WebhooksWrite, |resources, caller| {
        let request = CreateWebhook::new("https://example.com/other", [EventType::OrderCompleted]);
        resources.service().create_webhook(caller, request).map(drop)
    }),
    ("get_webhook", Scope::WebhooksRead, |resources, caller| {
        resources.service().get_webhook(caller, resources.delivery.endpoint_id).map(drop)
    }),
    ("update_webhook", Scope::WebhooksWrite, |resources, caller| {
        resources
            .fixture
            .service
            .update_webhook(caller, resources.delivery.endpoint_id, UpdateWebhook::default())
            .map(drop)
    }),
    ("delete_webhook", Scope::WebhooksWrite, |resources, caller| {
        resources.service().delete_webhook(caller, resources.delivery.endpoint_id)
    }),
    ("rotate_webhook_secret", Scope::WebhooksWrite, |resources, caller| {
        resources.service().rotate_webhook_secret(caller, resources.delivery.endpoint_id).map(drop)
    }),
    ("list_webhook_deliveries", Scope::WebhooksRead, |resources, caller| {
        let request = ListWebhookDeliveries::default();
        resources.service().list_webhook_deliveries(caller, resources.delivery.endpoint_id, request).map(drop)
    }),
    ("resend_webhook_delivery", Scope::WebhooksWrite, |resources, caller| {
        resources
            .fixture
            .service
            .resend_webhook_delivery(caller, resources.delivery.endpoint_id, resources.delivery.id)
            .map(drop)
    }),
];

#[test]
fn every_operation_needs_its_scope_and_no_other() {
    let resources = Resources::new();
    for (name, scope, operation) in OPERATIONS {
        let without = resources.fixture.caller.with_scopes(Scope::ALL.iter().copied().filter(|other| other != scope));
        assert_eq!(operation(&resources, &without), Err(Error::Forbidden(*scope)), "{name}");
        assert!(Error::Forbidden(*scope).to_string().contains(scope.as_str()));
    }
    for (name, scope, operation) in OPERATIONS {
        let resources = Resources::new();
        let restricted = resources.fixture.caller.with_scopes([*scope]);
        assert_eq!(operation(&resources, &restricted), Ok(()), "{name}");
    }
}

#[test]
fn a_key_of_one_event_can_do_nothing_but_check_tickets_in() {
    for (name, scope, operation) in OPERATIONS {
        let resources = Resources::new();
        let gate = resources.fixture.gate(&resources.event);
        let result = operation(&resources, &gate);
        match scope {
            Scope::TicketsCheckIn => assert_eq!(result, Ok(()), "{name}"),
            _ => assert_eq!(result, Err(Error::Forbidden(*scope)), "{name}"),
        }
        if *scope == Scope::TicketsCheckIn {
            let elsewhere = resources.fixture.gate(&resources.spare);
            assert!(operation(&resources, &elsewhere).is_err(), "{name}");
        }
    }
}

#[test]
fn cancelling_an_order_that_was_paid_needs_the_scope_of_payments_too() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let shop = fixture.caller.with_scopes([Scope::OrdersWrite]);
    let cancel = |caller: &Caller, order: &Order| {
        fixture.service.cancel_order(caller, order.id).map(|cancelled| cancelled.requires_manual_refund)
    };
    let (by_gateway, by_hand) = (fixture.paid_order(&seat, 1), fixture.order(&seat, 1));
    fixture.service.mark_order_paid(&fixture.caller, by_hand.id, ManualMethod::Cash).expect("paid in cash");
    let (pending, expired) = (fixture.order(&seat, 1), fixture.order(&seat, 1));
    let of_free = fixture.order(&free, 1);
    let before = fixture.all_rows();
    for paid in [&by_gateway, &by_hand] {
        assert_eq!(cancel(&shop, paid), Err(Error::Forbidden(Scope::PaymentsWrite)));
        let keyed = shop.with_idempotency_key("cancel");
        assert_eq!(fixture.service.cancel_order(&keyed, paid.id), Err(Error::Forbidden(Scope::PaymentsWrite)));
        let treasurer = fixture.caller.with_scopes([Scope::PaymentsWrite]);
        assert_eq!(cancel(&treasurer, paid), Err(Error::Forbidden(Scope::OrdersWrite)));
    }
    assert_eq!(fixture.all_rows(), before);
    assert_eq!((cancel(&shop, &pending), cancel(&shop, &of_free)), (Ok(false), Ok(false)));
    fixture.expire_holds();
    assert_eq!(cancel(&shop, &expired), Ok(false));
    let both = fixture.caller.with_scopes([Scope::OrdersWrite, Scope::PaymentsWrite]);
    assert_eq!((cancel(&both, &by_gateway), cancel(&both, &by_hand)), (Ok(false), Ok(true)));
    // Nothing more can go back.
    assert_eq!(reason(cancel(&shop, &by_gateway)), Reason::OrderNotCancellable);
}

#[test]
fn the_table_has_every_operation_that_takes_a_caller() {
    let mut found = Vec::new();
    for file in files_under("src/service").iter().filter(|file| !is_of_optional_feature(file)) {
        let text = std::fs::read_to_string(file).expect("text");
        for part in text.split("pub fn ").skip(1) {
            let signature = part.split('{').next().unwrap_or_default();
            if signature.contains("caller: ") {
                found.push(signature.split(['(', '<']).next().unwrap_or_default().to_owned());
            }
        }
    }
    found.sort_unstable();
    let mut named: Vec<_> = OPERATIONS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    named.sort_unstable();
    assert_eq!(found, named);
}
