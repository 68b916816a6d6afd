//! A database with rows of every kind.

use std::time::Duration;

use ticketing::Amount;
use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedHolder, ImportedTicket};
use ticketing::discount::CreateDiscount;
use ticketing::environment::Clock;
use ticketing::event::{CancelEventOrders, EventStatus};
use ticketing::order::CreateOrder;
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::payment::{GatewayDispute, GatewayEvent};
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;

use crate::common::door::{let_in, let_out};
use crate::common::outbox;
use crate::common::*;

/// Adds orders in every state, tickets, scans, refunds, discounts, notifications and a second organization to a new
/// database.
pub fn fill(fixture: &Fixture) {
    let service = &fixture.service;
    let caller = &fixture.caller;
    let key = CreateApiKey::new("Entrance");
    service.create_api_key(caller.organization(), key).expect("a key");
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let free = fixture.ticket_type_with(&event, |new| {
        new.name = "Free".to_owned();
        new.price = Amount::ZERO;
    });
    fixture.ticket_type_with(&event, |new| "Unsold".clone_into(&mut new.name));
    let later = fixture.event_with(|new| {
        new.end_date = None;
        new.title = "Winter Night".to_owned();
    });
    let other = fixture.ticket_type_with(&later, |new| "Other".clone_into(&mut new.name));
    fixture.issue(&other, 1);
    let other = fixture.other_organization();
    let others_event =
        service.create_event(&other, new_event(|new| "Other".clone_into(&mut new.title))).expect("an event");
    let others_type = ticketing::ticket_type::CreateTicketType::new("Others", eur(500), 10);
    let others_type = service.create_ticket_type(&other, others_event.id, others_type).expect("a type");
    let others_order = CreateOrder::new(others_event.id, new_customer(), others_type.id, 1);
    service.create_order(&other, others_order).expect("an order");

    // The customer's name says what happened to the order.
    let order = |name: &str, ticket_type: &TicketType, change: &dyn Fn(&mut CreateOrder)| {
        let mut request = CreateOrder::new(
            ticket_type.event_id,
            ticketing::order::NewCustomer::new(name, "ada@example.com"),
            ticket_type.id,
            2,
        );
        change(&mut request);
        service.create_order(caller, request).expect("an order").order.id
    };
    let as_it_is = |_: &mut CreateOrder| {};
    let summer = CreateDiscount::percentage("Summer", 10).event(event.id);
    service.create_discount(caller, summer).expect("a discount");
    let with_code = |request: &mut CreateOrder| request.discount_code = Some("summer".to_owned());
    service.payment_completed(caller, order("discounted", &ticket_type, &with_code)).expect("paid");
    service.cancel_order(caller, order("discounted, cancelled", &ticket_type, &with_code)).expect("cancelled");
    service.payment_completed(caller, order("paid", &ticket_type, &as_it_is)).expect("paid");
    service.mark_order_paid(caller, order("marked paid", &ticket_type, &as_it_is), ManualMethod::Cash).expect("paid");
    service.cancel_order(caller, order("cancelled", &ticket_type, &as_it_is)).expect("cancelled");
    let refunded = order("refunded", &ticket_type, &as_it_is);
    service.payment_completed(caller, refunded).expect("paid");
    service.cancel_order(caller, refunded).expect("cancelled");
    order("expired", &ticket_type, &as_it_is);
    let failed = order("failed", &ticket_type, &as_it_is);
    service.payment_failed(caller, failed).expect("recorded");
    let late = order("late", &ticket_type, &as_it_is);
    service.cancel_order(caller, late).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    service.payment_completed(caller, late).expect("recorded");
    let set_aside = set_aside(fixture);
    fixture.clock.advance(HOLD);
    service.run_maintenance().expect("a run");
    order("pending", &ticket_type, &as_it_is);
    service.mark_order_paid(caller, failed, ManualMethod::Cash).expect("revived");
    let dispute = GatewayEvent::Dispute(GatewayDispute::new("dispute", eur(1), "EUR").reason("fraudulent"));
    let dispute = Notice::about(&fixture.read_order(refunded), dispute);
    fixture.gateway.know(&dispute);
    dispute.send(service).expect("received");

    let mut company =
        CreateOrder::new(event.id, ticketing::order::NewCustomer::new("free", "Bob@Example.com"), free.id, 3);
    company.language = Some("de".to_owned());
    let tickets = service.create_order(caller, company).expect("an order").issued_tickets;
    let scan = |code: &str| CheckInTicket::new(code);
    service.check_in_ticket(caller, scan(&tickets[0].code)).expect("checked in");
    service.check_in_ticket(caller, scan(&tickets[0].code)).expect_err("checked in already");
    service.check_in_ticket(caller, scan(&tickets[1].code)).expect("checked in");
    service.check_out_ticket(caller, scan(&tickets[1].code)).expect("checked out");
    let issued = fixture.issue(&ticket_type, 2);
    service.cancel_ticket(caller, issued[0].id).expect("cancelled");
    service.check_in_ticket(caller, scan(&issued[0].code)).expect_err("refused and counted");
    add_scans(fixture);
    add_notifications(fixture, &other);
    let cancelled = fixture.event_with(|new| "Cancelled".clone_into(&mut new.title));
    fixture.set_event_status(cancelled.id, EventStatus::Cancelled).expect("cancelled");
    service.cancel_event_orders(caller, cancelled.id, CancelEventOrders::default()).expect("a run");
    add_to(fixture, &set_aside);
}

/// Adds an event with an allocation. The next maintenance issues its tickets.
fn set_aside(fixture: &Fixture) -> TicketType {
    let event = fixture.event_with(|new| "Set aside".clone_into(&mut new.title));
    let ticket_type = fixture.ticket_type_with(&event, |new| "Set aside".clone_into(&mut new.name));
    let guests = CreateAllocation::of_labels("Guests", ["Ada", "Bob"]);
    fixture.service.create_allocation(&fixture.caller, ticket_type.id, guests).expect("an allocation");
    ticket_type
}

/// Adds an allocation whose tickets are not issued yet, and imported tickets.
fn add_to(fixture: &Fixture, ticket_type: &TicketType) {
    let (service, caller) = (&fixture.service, &fixture.caller);
    let press = CreateAllocation::of_labels("Press", ["Grace"]).metadata([("desk", "culture")]);
    service.create_allocation(caller, ticket_type.id, press).expect("an allocation");
    let holder = ImportedHolder::new("Cy", "cy@example.com");
    let tickets =
        [ImportedTicket::new("4006381333931").holder(holder), ImportedTicket::new("4006381333948").label("B")];
    service.import_tickets(caller, ticket_type.id, ImportTickets::new("Box office", tickets)).expect("imported");
}

/// Adds an event with a log of scans: a device has let a holder in and out again.
fn add_scans(fixture: &Fixture) {
    let event = fixture.event_with(|new| "Scanned".clone_into(&mut new.title));
    let ticket_type = fixture.ticket_type_with(&event, |new| "Scanned".clone_into(&mut new.name));
    let code = fixture.issue(&ticket_type, 1).remove(0).code;
    let gate = fixture.gate(&event);
    let scans = [let_in(1, &code, "2026-06-01T12:00:00Z"), let_out(2, &code, "2026-06-01T12:10:00Z")];
    fixture.report(&gate, "Phone", scans);
}

/// Adds webhook endpoints, and two orders of another event. One of their notifications is delivered a day before the
/// later ones are queued, one is given up, and one has failed once.
fn add_notifications(fixture: &Fixture, other: &ticketing::Caller) {
    let event = fixture.event_with(|new| "Reported".clone_into(&mut new.title));
    let ticket_type = fixture.ticket_type_with(&event, |new| {
        new.name = "Reported".to_owned();
        new.price = Amount::ZERO;
    });
    let file = fixture.database();
    let organization = fixture.caller.organization();
    outbox::insert_webhook(&fixture.database(), organization, &outbox::SALE_NOTIFICATIONS);
    outbox::insert_webhook(&fixture.database(), organization, &[EventType::OrderCompleted]);
    outbox::insert_webhook(&fixture.database(), other.organization(), &[EventType::OrderCancelled]);
    fixture.order(&ticket_type, 1);
    let first = outbox::rows(&file)[0].id;
    outbox::record_failure_at(&file, first, fixture.clock.now());
    outbox::record_success_at(&file, first, fixture.clock.now());
    fixture.clock.advance(Duration::from_hours(24) + Duration::from_millis(1));
    let later = fixture.order(&ticket_type, 2);
    fixture.service.cancel_order(&fixture.caller, later.id).expect("cancelled");
    fixture.issue(&ticket_type, 1);
    let now = fixture.clock.now();
    let rows: Vec<_> = outbox::rows(&file).into_iter().filter(|row| row.created_at == now).collect();
    let issued: Vec<_> = rows.iter().filter(|row| row.kind == "ticket.issued").collect();
    for _ in 0..8 {
        outbox::record_failure_at(&file, issued[0].id, now);
    }
    outbox::record_failure_at(&file, issued[1].id, now);
    let waiting = "INSERT INTO notification_handlers (name, topics, seen_at) VALUES ('mail', '[]', 0);
        INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
            SELECT 1, 'call mail', organization_id, '{\"topic\": \"order.expired\", \"data\": {
                \"order_id\": \"order_0000000000001\", \"event_id\": \"event_0000000000001\",
                \"customer_id\": \"customer_0000000000001\"}}', 0, 0 FROM webhook_endpoints WHERE id = 2";
    file.run(waiting);
    // A notification that is not expanded.
    file.run("UPDATE webhook_endpoints SET events = '[\"order.completed\",\"order.cancelled\"]' WHERE id = 2");
    let cancelled = rows.iter().find(|row| row.kind == "order.cancelled").expect("a cancellation");
    let stored = "UPDATE webhook_notifications SET type = 'order.cancelled', outbox_rows = 2,
        organization_id = (SELECT organization_id FROM webhook_endpoints WHERE id = 2) WHERE id = ?1";
    assert_eq!(file.execute(stored, [database::stored_id(cancelled.event_id)]), 1);
}
