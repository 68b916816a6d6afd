//! The operations whose largest request costs more than the example in the table of operations, and those without a
//! caller.

use serde_json::json;
use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedHolder, ImportedTicket};
use ticketing::discount::{BasketItem, UpdateDiscount, ValidateDiscount};
use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::event::{CreateEvent, EventSettings, UpdateEvent};
use ticketing::order::OrderStatus;
use ticketing::organization::{CreateApiKey, CreateOrganization, UpdateOrganization};
use ticketing::payment::ManualMethod;
use ticketing::payment::{CheckoutOutcome, CheckoutState, GatewayPayment, NoticeOutcome, RefundOrder};
use ticketing::payment::{ListRefunds, MarkRefunded, RefundMethod};
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};
use ticketing::webhook::{CreateWebhook, EventType, UpdateWebhook};
use ticketing::{Caller, TicketingService};

use super::store::{RESERVED_SEATS, Store, copies, copy_order};
use crate::common::database::stored_id;
use crate::common::door::let_in;
use crate::common::*;

/// Prepares an operation, and returns its call.
pub type Prepare = for<'s> fn(&'s Store) -> Box<dyn FnOnce() + 's>;

/// The methods without a caller that write nothing, and `record_page_view`, which the maintenance writes.
pub const READS: &[&str] = &[
    "act_for",
    "authenticate",
    "backlog",
    "backup",
    "check",
    "check_with_progress",
    "copy_to",
    "downgrade",
    "even_if_suspended",
    "get_hosted_checkout",
    "get_organization_by_reference",
    "get_organization",
    "get_organization_usage",
    "has_taken_real_money",
    "list_api_keys",
    "list_organization_usage",
    "list_organizations",
    "on_one_snapshot",
    "ready",
    "reconcile",
    "record_page_view",
    // Threads that make backups, run the maintenance and send webhooks.
    "start_backups",
    "start_maintenance",
    "start_webhook_sender",
    "statistics",
    "stopped",
    "upgrade",
];

/// The service and the caller.
fn api(store: &Store) -> (&TicketingService, &Caller) {
    (&store.fixture.service, &store.fixture.caller)
}

fn description() -> String {
    "ä".repeat(20_000)
}

/// An organization of its own with as many keys as it may have, and `size` revoked ones.
fn organization_with_keys(store: &Store) -> Caller {
    let other = store.fixture.other_organization();
    let key = store.fixture.service.create_api_key(other.organization(), CreateApiKey::new("Key")).expect("a key");
    let key = stored_id(key.api_key.id);
    let database = store.database();
    let hash = ("key_hash", "CAST(HEX(RANDOMBLOB(16)) AS BLOB)");
    copies(&database, "api_keys", key, 999, &[hash]);
    copies(&database, "api_keys", key, store.size, &[hash, ("revoked_at", "1")]);
    store.next_second();
    other
}

/// Adds `size` idempotency keys of an organization, which were used at this time.
fn add_idempotency_keys(store: &Store, caller: &Caller, used_at: i64) {
    store.database().execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO idempotency_records (organization_id, key, fingerprint, answer, created_at)
        SELECT ?2, 'copy-' || n.i, x'00', '{}', ?3 FROM n",
        (store.size, stored_id(caller.organization()), used_at),
    );
}

/// Runs the maintenance, for which a test has prepared what is due.
fn maintenance(store: &Store) -> Box<dyn FnOnce() + '_> {
    Box::new(|| {
        let report = store.fixture.service.run_maintenance().expect("a run");
        assert_eq!(report.skipped_rows, 0);
    })
}

pub const OPERATIONS: &[(&str, Prepare)] = &[
    ("create_event", |store| {
        let (service, caller) = api(store);
        let new = new_event(|new: &mut CreateEvent| new.description = Some(description()));
        Box::new(move || drop(service.create_event(caller, new).expect("an event")))
    }),
    ("update_event: texts", |store| {
        let (service, caller) = api(store);
        let changes = UpdateEvent::default().title("A title").description(description());
        Box::new(move || drop(service.update_event(caller, store.event.id, changes).expect("changed")))
    }),
    ("update_event: its currency", |store| {
        let (service, caller) = api(store);
        let event = store.fixture.event();
        store.add_discounts(&event);
        let changes = UpdateEvent::default().currency("USD");
        Box::new(move || drop(service.update_event(caller, event.id, changes).expect("changed")))
    }),
    ("update_event: withdraws it", |store| {
        let event = store.unsold_event();
        Box::new(move || drop(store.fixture.set_event_status(event.id, EventStatus::Drafted).expect("changed")))
    }),
    ("update_event: withdraws one with expired holds", |store| {
        let event = store.expired_holds().late.event_id;
        Box::new(move || drop(store.fixture.set_event_status(event, EventStatus::Drafted).expect("changed")))
    }),
    ("update_event: cancels it", |store| {
        let event = store.event_with_pending_orders();
        Box::new(move || store.cancel(event.id))
    }),
    ("update_event_settings", |store| {
        let (service, caller) = api(store);
        let large = || json!("x".repeat(16_382));
        let settings = EventSettings::default().location_metadata(large()).tracking_pixels(large());
        Box::new(move || drop(service.update_event_settings(caller, store.event.id, settings).expect("changed")))
    }),
    ("delete_event", |store| {
        let (service, caller) = api(store);
        let event = store.unsold_event();
        Box::new(move || service.delete_event(caller, event.id).expect("deleted"))
    }),
    ("create_ticket_type", |store| {
        let (service, caller) = api(store);
        let event = store.unsold_event();
        let one: i64 = store.database().value("SELECT MAX(id) FROM ticket_types");
        store.database().execute("DELETE FROM ticket_types WHERE id = ?1", [one]);
        let new = CreateTicketType::new("Seat", eur(1250), 10).description(description());
        Box::new(move || drop(service.create_ticket_type(caller, event.id, new).expect("a type")))
    }),
    ("update_ticket_type", |store| {
        let (service, caller) = api(store);
        let id = store.types[99].id;
        let changes = UpdateTicketType::default().description(description()).quantity(9_999_999);
        Box::new(move || drop(service.update_ticket_type(caller, id, changes).expect("changed")))
    }),
    ("update_ticket_type: to what is not reserved", |store| {
        let (service, caller) = api(store);
        let holds = store.expired_holds();
        let changes = UpdateTicketType::default().quantity(RESERVED_SEATS - holds.orders);
        Box::new(move || drop(service.update_ticket_type(caller, holds.types[0].id, changes).expect("changed")))
    }),
    ("create_order: to be paid", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("order");
        let order = store.largest_order();
        Box::new(move || drop(service.create_order(&caller, order).expect("an order")))
    }),
    ("create_order: free", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("free-order");
        let order = store.largest_free_order();
        Box::new(move || drop(service.create_order(&caller, order).expect("an order")))
    }),
    ("create_order: seats of expired holds", |store| {
        let (service, caller) = api(store);
        let holds = store.expired_holds();
        // One seat of each of the large orders, and the rest of the small ones.
        let order = new_order(holds.types[0].event_id, holds.types[0].id, 100);
        Box::new(move || drop(service.create_order(caller, order).expect("an order")))
    }),
    ("create_order: refused beside expired holds", |store| {
        let (service, caller) = api(store);
        let holds = store.expired_holds();
        // Each of the large orders has one seat.
        let order = new_order(holds.types[0].event_id, holds.types[1].id, 100);
        Box::new(move || assert_eq!(reason(service.create_order(caller, order)), Reason::SoldOut))
    }),
    ("create_order: discount uses of expired holds", |store| {
        let (service, caller) = api(store);
        let holds = store.discount_uses_of_expired_holds();
        let order = new_order(holds.types[0].event_id, holds.types[0].id, 1).discount_code("HELD");
        Box::new(move || drop(service.create_order(caller, order).expect("an order")))
    }),
    ("create_order: customer with expired holds", |store| {
        let service = store.fixture.second_service_with(|builder| builder.max_reserved_per_customer(5));
        let holds = store.discount_uses_of_expired_holds();
        store.database().run("UPDATE orders SET limited_seats = 1 WHERE status = 'PENDING'");
        let order = new_order(holds.types[0].event_id, holds.types[0].id, 5);
        Box::new(move || drop(service.create_order(&store.fixture.caller, order).expect("an order")))
    }),
    ("cancel_order: pending", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        Box::new(move || {
            service.cancel_order(caller, order.id).expect("cancelled");
        })
    }),
    ("cancel_order: paid", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("cancellation");
        let order = store.paid_order();
        Box::new(move || {
            service.cancel_order(&caller, order.id).expect("cancelled");
        })
    }),
    ("renew_checkout: as it is", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("renewal");
        let order = store.pending_order();
        Box::new(move || assert!(!service.renew_checkout(&caller, order.id).expect("a checkout").value.renewed))
    }),
    ("renew_checkout: a new one", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("renewal-2");
        let order = store.pending_order();
        Box::new(move || {
            store.fixture.gateway.set_state(Some(CheckoutState::Closed));
            assert!(service.renew_checkout(&caller, order.id).expect("a checkout").value.renewed);
            store.fixture.gateway.set_state(None);
        })
    }),
    ("refund_order", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("refund");
        let order = store.fixture.read_order(store.paid_order().id);
        let request = RefundOrder::of_tickets(order.tickets().map(|ticket| ticket.id));
        Box::new(move || {
            service.refund_order(&caller, order.id, request).expect("refunded");
        })
    }),
    ("mark_order_refunded", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
        service.cancel_order(caller, order.id).expect("cancelled");
        Box::new(move || {
            drop(service.mark_order_refunded(caller, order.id, MarkRefunded::all(RefundMethod::Cash)).expect("marked"))
        })
    }),
    ("withdraw_refund", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
        service.cancel_order(caller, order.id).expect("cancelled");
        let refunds = service.list_refunds(caller, ListRefunds::default().order(order.id)).expect("a page").data;
        Box::new(move || drop(service.withdraw_refund(caller, refunds[0].id).expect("withdrawn")))
    }),
    ("mark_order_paid", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        Box::new(move || drop(service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid")))
    }),
    ("mark_order_paid: with expired holds", |store| {
        let (service, caller) = api(store);
        let order = store.expired_holds().late;
        Box::new(move || drop(service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid")))
    }),
    ("mark_checkout_reminder_sent", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        Box::new(move || drop(service.mark_checkout_reminder_sent(caller, order.id).expect("reminded")))
    }),
    ("payment_completed", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        Box::new(move || drop(service.payment_completed(caller, order.id).expect("paid")))
    }),
    ("payment_completed: with expired holds", |store| {
        let (service, caller) = api(store);
        let order = store.expired_holds().late;
        Box::new(move || {
            let paid = service.payment_completed(caller, order.id).expect("paid");
            assert_eq!(paid.status, OrderStatus::Completed);
        })
    }),
    ("payment_completed: with discount uses", |store| {
        let (service, caller) = api(store);
        let order = store.discount_uses_of_expired_holds().late;
        Box::new(move || {
            let paid = service.payment_completed(caller, order.id).expect("paid");
            assert_eq!(paid.status, OrderStatus::Completed);
        })
    }),
    ("payment_failed", |store| {
        let (service, caller) = api(store);
        let order = store.pending_order();
        Box::new(move || drop(service.payment_failed(caller, order.id).expect("recorded")))
    }),
    ("receive_gateway_notice", |store| {
        let order = store.pending_order();
        let paid = Notice::paid(&order, order.total, "pay_1");
        store.fixture.gateway.know(&paid);
        let service = &store.fixture.service;
        Box::new(move || assert_eq!(paid.send(service), Ok(vec![NoticeOutcome::Processed])))
    }),
    ("settle_checkout", |store| {
        let order = store.pending_order();
        let paid = GatewayPayment::new("pay_1", order.total, "EUR");
        store.fixture.gateway.set_state(Some(CheckoutState::Paid(paid)));
        let service = &store.fixture.service;
        Box::new(move || {
            let settled = service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
            assert_eq!(settled.order.status, OrderStatus::Completed);
            store.fixture.gateway.set_state(None);
        })
    }),
    ("finish_hosted_checkout", |store| {
        let service = store.fixture.second_service_with(|builder| builder.sandbox_gateway().handler_threads(false));
        let caller = service.act_for(store.fixture.caller.organization()).expect("a caller");
        let created = service.create_order(&caller, store.largest_order()).expect("an order");
        let link = created.checkout_url.expect("a link");
        let token = link.rsplit('/').next().expect("a token").to_owned();
        Box::new(move || drop(service.finish_hosted_checkout(&token, CheckoutOutcome::Success).expect("paid")))
    }),
    ("finish_hosted_checkout: with expired holds", |store| {
        let service = store.fixture.second_service_with(|builder| builder.sandbox_gateway().handler_threads(false));
        let order = store.expired_holds().late;
        let token = "0123456789abcdefghjkmnpqrs";
        store.database().execute(
            "UPDATE orders SET payment_reference = ?2 WHERE id = ?1",
            (stored_id(order.id), format!("sandbox_{token}")),
        );
        Box::new(move || drop(service.finish_hosted_checkout(token, CheckoutOutcome::Success).expect("paid")))
    }),
    ("issue_tickets", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("tickets");
        let request = IssueTickets::new(store.types[0].id, new_customer(), 10);
        Box::new(move || drop(service.issue_tickets(&caller, request).expect("tickets")))
    }),
    ("issue_tickets: seats of expired holds", |store| {
        let (service, caller) = api(store);
        let holds = store.expired_holds();
        let request = IssueTickets::new(holds.types[0].id, new_customer(), 10);
        Box::new(move || drop(service.issue_tickets(caller, request).expect("tickets")))
    }),
    ("create_allocation", |store| {
        let caller = store.fixture.caller_with_key("guests");
        let labels = (0..10_000).map(|number| format!("{number:0>100}"));
        let request = CreateAllocation::of_labels("Guests", labels);
        let (service, seats) = (&store.fixture.service, store.types[0].id);
        Box::new(move || drop(service.create_allocation(&caller, seats, request).expect("an allocation")))
    }),
    ("run_maintenance: tickets of an allocation", |store| {
        let (service, caller) = api(store);
        let labels = (0..2_000).map(|number| format!("{number:0>100}"));
        let request = CreateAllocation::of_labels("Guests", labels);
        service.create_allocation(caller, store.types[0].id, request).expect("an allocation");
        Box::new(move || _ = service.run_maintenance().expect("a run"))
    }),
    ("import_tickets", |store| {
        let caller = store.fixture.caller_with_key("import");
        let ticket = |number: usize| {
            let holder = ImportedHolder::new("n".repeat(255), format!("{number}@{}.example", "d".repeat(60)));
            ImportedTicket::new(format!("{number:0>200}")).label("l".repeat(100)).holder(holder)
        };
        let request = ImportTickets::new("Partner", (0..1000).map(ticket)).notify(true);
        let (service, seats) = (&store.fixture.service, store.types[0].id);
        Box::new(move || drop(service.import_tickets(&caller, seats, request).expect("imported")))
    }),
    ("upload_scans", |store| {
        let gate = store.fixture.gate(&store.event);
        let tickets = (0..10).flat_map(|_| store.fixture.issue(&store.types[0], 10));
        let scans: Vec<_> = (0..).zip(tickets).map(|(number, ticket)| let_in(number, &ticket.code, NOW)).collect();
        Box::new(move || drop(store.fixture.report(&gate, "Phone", scans)))
    }),
    ("create_discount", |store| {
        let (service, caller) = api(store);
        let types = store.discount.applicable_ticket_types.clone();
        let new = percent_off(&store.event, "NEW", 10).applicable_ticket_types(types).auto_apply(true);
        Box::new(move || drop(service.create_discount(caller, new).expect("a discount")))
    }),
    ("validate_discount", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("basket");
        let items = store.types[..100].iter().map(|one| BasketItem::new(one.id, 5, one.price));
        let request = ValidateDiscount::new(store.event.id, "ALL", items);
        Box::new(move || drop(service.validate_discount(&caller, request).expect("valid")))
    }),
    ("validate_discount: used by expired holds", |store| {
        let service = &store.fixture.service;
        let caller = store.fixture.caller_with_key("held-basket");
        let seat = &store.discount_uses_of_expired_holds().types[0];
        let request = ValidateDiscount::new(seat.event_id, "HELD", [BasketItem::new(seat.id, 1, seat.price)]);
        Box::new(move || assert!(service.validate_discount(&caller, request).expect("an answer").value.valid))
    }),
    ("update_discount: used by expired holds", |store| {
        let (service, caller) = api(store);
        let discount = store.expired_holds().discount.id;
        let changes = UpdateDiscount::default().description("Held");
        Box::new(move || assert_eq!(service.update_discount(caller, discount, changes).expect("changed").used_count, 0))
    }),
    ("update_discount", |store| {
        let (service, caller) = api(store);
        let types = store.discount.applicable_ticket_types.clone();
        let changes = UpdateDiscount::default().applicable_ticket_types(types).auto_apply(true);
        Box::new(move || drop(service.update_discount(caller, store.discount.id, changes).expect("changed")))
    }),
    ("create_webhook", |store| {
        let other = store.fixture.other_organization();
        let service = &store.fixture.service;
        let new = || CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
        for _ in 1..100 {
            service.create_webhook(&other, new()).expect("an endpoint");
        }
        Box::new(move || drop(service.create_webhook(&other, new()).expect("an endpoint")))
    }),
    ("update_webhook: fewer events", |store| {
        let (service, caller) = api(store);
        let endpoint = store.endpoints[1];
        store.fill_outbox(endpoint);
        let changes = UpdateWebhook::default().events([EventType::TicketCheckedIn]);
        Box::new(move || drop(service.update_webhook(caller, endpoint, changes).expect("changed")))
    }),
    ("update_webhook: enables it", |store| {
        let (service, caller) = api(store);
        let endpoint = store.endpoints[2];
        service.update_webhook(caller, endpoint, UpdateWebhook::default().enabled(false)).expect("disabled");
        store.fill_outbox(endpoint);
        let changes = UpdateWebhook::default().enabled(true);
        Box::new(move || drop(service.update_webhook(caller, endpoint, changes).expect("changed")))
    }),
    ("delete_webhook", |store| {
        let (service, caller) = api(store);
        let endpoint = store.endpoints[3];
        store.fill_outbox(endpoint);
        Box::new(move || service.delete_webhook(caller, endpoint).expect("deleted"))
    }),
    ("create_organization", |store| {
        let request = CreateOrganization::new("ä".repeat(255));
        Box::new(move || drop(store.fixture.service.create_organization(request).expect("created")))
    }),
    ("create_organization_with_key", |store| {
        let (request, key) = (CreateOrganization::new("ä".repeat(255)), CreateApiKey::new("Key"));
        Box::new(move || drop(store.fixture.service.create_organization_with_key(request, key).expect("created")))
    }),
    ("create_first_organization", |store| {
        let (request, key) = (CreateOrganization::new("ä".repeat(255)), CreateApiKey::new("Key"));
        let service = &store.fixture.service;
        Box::new(move || assert_eq!(service.create_first_organization(request, key).expect("an answer"), None))
    }),
    ("update_organization", |store| {
        let changes = UpdateOrganization::default().name("ä".repeat(255));
        let organization = store.fixture.caller.organization();
        Box::new(move || drop(store.fixture.service.update_organization(organization, changes).expect("changed")))
    }),
    ("suspend_organization", |store| {
        let other = organization_with_keys(store).organization();
        Box::new(move || drop(store.fixture.service.suspend_organization(other).expect("suspended")))
    }),
    ("resume_organization", |store| {
        let other = organization_with_keys(store).organization();
        store.fixture.service.suspend_organization(other).expect("suspended");
        Box::new(move || drop(store.fixture.service.resume_organization(other).expect("resumed")))
    }),
    ("delete_organization", |store| {
        let other = organization_with_keys(store);
        add_idempotency_keys(store, &other, store.fixture.clock.now().millis());
        Box::new(move || store.fixture.service.delete_organization(other.organization()).expect("deleted"))
    }),
    ("create_api_key", |store| {
        let other = organization_with_keys(store).organization();
        let database = store.database();
        database.execute(
            "DELETE FROM api_keys WHERE id = (SELECT MIN(id) FROM api_keys WHERE organization_id = ?1)",
            [stored_id(other)],
        );
        let request = CreateApiKey::new("ä".repeat(255));
        Box::new(move || drop(store.fixture.service.create_api_key(other, request).expect("a key")))
    }),
    ("revoke_api_key", |store| {
        let other = organization_with_keys(store).organization();
        let key = store.fixture.service.list_api_keys(other).expect("keys").pop().expect("a key").id;
        Box::new(move || drop(store.fixture.service.revoke_api_key(other, key).expect("revoked")))
    }),
    ("deliver_due_webhooks", |store| {
        // Three notifications for a hundred endpoints are inserted by the sender. All but one endpoint are disabled
        // then.
        store.database().run("DELETE FROM webhook_outbox; DELETE FROM webhook_notifications; DELETE FROM work");
        store.fixture.issue(&store.types[0], 3);
        store.set_endpoints_enabled(false);
        store.fixture.set_webhook_enabled(store.endpoints[8], true);
        Box::new(|| {
            store.fixture.service.deliver_due_webhooks().expect("delivered");
            store.set_endpoints_enabled(true);
        })
    }),
    ("deliver_due_notifications", |store| {
        store.database().run("DELETE FROM work; DELETE FROM webhook_outbox; DELETE FROM webhook_notifications");
        store.fixture.service.create_order(&store.fixture.caller, store.largest_order()).expect("an order");
        Box::new(|| {
            store.fixture.service.deliver_due_notifications().expect("delivered");
        })
    }),
    ("run_maintenance: expired holds", |store| {
        let event = store.event_with_pending_orders();
        store.database().execute("UPDATE orders SET hold_until = 1 WHERE event_id = ?1", [stored_id(event.id)]);
        maintenance(store)
    }),
    ("run_maintenance: events that have ended", |store| {
        let event = stored_id(store.fixture.event().id);
        copies(
            &store.database(),
            "events",
            event,
            store.size,
            &[("slug", "'ended-' || n.i"), ("start_at", "0"), ("end_at", "1"), ("over_at", "1")],
        );
        maintenance(store)
    }),
    ("run_maintenance: orders of a cancelled event", |store| {
        let event = stored_id(store.event_with_pending_orders().id);
        let database = store.database();
        database.execute("UPDATE events SET status = 'CANCELLED' WHERE id = ?1", [event]);
        let work = "INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
            SELECT (SELECT COALESCE(MAX(id), 0) + 1 FROM work), 'cancel orders', id, organization_id, id, '', 0, 0
            FROM events WHERE id = ?1";
        database.execute(work, [event]);
        maintenance(store)
    }),
    ("run_maintenance: used keys", |store| {
        let other = store.fixture.other_organization().organization();
        for _ in 0..600 {
            let key = store.fixture.service.create_api_key(other, CreateApiKey::new("Key")).expect("a key");
            store.fixture.service.authenticate(&key.key).expect("a caller");
        }
        maintenance(store)
    }),
    ("run_maintenance: page views", |store| {
        let other = store.fixture.other_organization();
        for _ in 0..600 {
            let event = store.fixture.service.create_event(&other, new_event(|_| {})).expect("an event").id;
            store.fixture.service.record_page_view(&other, event).expect("counted");
        }
        maintenance(store)
    }),
    ("run_maintenance: old idempotency keys", |store| {
        add_idempotency_keys(store, &store.fixture.other_organization(), 1);
        maintenance(store)
    }),
    ("run_maintenance: old deliveries", |store| {
        store.database().run(&format!(
            "DELETE FROM webhook_deliveries;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
            INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success, created_at)
            SELECT n.i, 1, n.i, 'ticket.issued', 1, 1, 1 FROM n",
            store.size
        ));
        maintenance(store)
    }),
    ("run_maintenance: old outbox", |store| {
        store.fill_outbox(store.endpoints[6]);
        store.database().run(
            "UPDATE webhook_outbox SET state = 'DELIVERED', finished_at = 1, claim = NULL WHERE state = 'WAITING'",
        );
        maintenance(store)
    }),
    ("run_maintenance: old notifications of handlers", |store| {
        store.database().run(&format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
            INSERT INTO work (id, kind, organization_id, body, due_at, created_at)
            SELECT n.i, 'call mail', 1, '{{}}', 1, 1 FROM n",
            store.size
        ));
        maintenance(store)
    }),
    ("run_maintenance: rows of a deleted endpoint", |store| {
        let endpoint = store.endpoints[7];
        store.fill_outbox(endpoint);
        store.fixture.service.delete_webhook(&store.fixture.caller, endpoint).expect("deleted");
        maintenance(store)
    }),
    ("run_maintenance: refunds", |store| {
        let database = store.database();
        let order = store.fixture.paid_order(&store.types[0], 1).id;
        copy_order(&database, order, store.size);
        database.run(
            "INSERT INTO payments (id, order_id, organization_id, event_id, purpose, gateway, account, mode, amount, currency,
                promised, created_at)
            SELECT id, id, organization_id, event_id, 'ORDER', 'stripe', '', 'LIVE', 100, 'EUR', 100, 1 FROM orders
                WHERE payment_reference LIKE '%-%-%';
            INSERT INTO refunds (id, order_id, organization_id, event_id, payment_id, source, amount, currency, status,
                by_gateway, promised, to_ask, created_at, updated_at)
            SELECT id, id, organization_id, event_id, id, 'ORDER', 100, 'EUR', 'DUE', 1, 100, 100, 1, 1 FROM orders
                WHERE payment_reference LIKE '%-%-%';
            INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
            SELECT id, 'refund stripe LIVE', id, organization_id, event_id, '', 1, 1 FROM orders
                WHERE payment_reference LIKE '%-%-%'",
        );
        store.next_second();
        maintenance(store)
    }),
];
