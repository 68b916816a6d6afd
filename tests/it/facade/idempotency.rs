//! Idempotency keys: a request that is repeated with its key is executed once, and gets the first response again.

use std::time::Duration;

use ticketing::discount::{CreateDiscount, Discount, DiscountValidationResponse, ValidateDiscount};
use ticketing::door::{CreateDoorLink, CreatedDoorLink, UploadScans, UploadedScans};
use ticketing::environment::SeededEntropy;
use ticketing::error::Reason;
use ticketing::event::{CreateEvent, Event, EventStatus};
use ticketing::id::{EventId, OrderId, RefundId, TicketTypeId};
use ticketing::order::{CancelOrderResponse, CreateOrder, CreateOrderResponse, Order};
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::payment::{
    CheckoutState, ListRefunds, MarkRefunded, Refund, RefundMethod, RefundOrder, RefundOrderResponse,
    RenewCheckoutResponse,
};
use ticketing::request::{KeyedCaller, Replayable};
use ticketing::ticket::{
    CancelledIssuedTicket, CheckInTicket, IssueTickets, IssueTicketsResponse, IssuedTicket, NewTicket,
};
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::webhook::{CreateWebhook, CreatedWebhookEndpoint, EventType, ResentWebhookDelivery, WebhookDelivery};
use ticketing::{Error, Result, TicketingService};

use crate::common::door::let_in;
use crate::common::sources::{files_under, is_of_optional_feature};
use crate::common::*;

/// The resources that the operations need: two of each, for a request and a different request.
struct Resources {
    events: [EventId; 2],
    ticket_type: TicketTypeId,
    pending: [OrderId; 2],
    completed: OrderId,
    to_refund: [OrderId; 2],
    to_withdraw: [RefundId; 2],
    not_checked_in: [NewTicket; 2],
    checked_in: [NewTicket; 2],
    deliveries: [WebhookDelivery; 2],
}

fn open_with_resources() -> (Fixture, Resources) {
    let fixture = Fixture::with_gateway(|builder| builder.public_url("https://tickets.example.com"));
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let pending = [fixture.order(&ticket_type, 1).id, fixture.order(&ticket_type, 2).id];
    let completed = fixture.paid_order(&ticket_type, 1).id;
    let owed = || {
        let order = fixture.order(&ticket_type, 1).id;
        fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid");
        fixture.service.cancel_order(&fixture.caller, order).expect("cancelled");
        order
    };
    let to_refund = [(); 2].map(|()| owed());
    let to_withdraw = [(); 2].map(|()| {
        let request = ListRefunds::default().order(owed());
        fixture.service.list_refunds(&fixture.caller, request).expect("a page").data[0].id
    });
    let webhook = fixture.webhook([EventType::TicketCheckedIn]).endpoint.id;
    let [not_checked_in, checked_in] =
        [(); 2].map(|()| <[NewTicket; 2]>::try_from(fixture.issue(&ticket_type, 2)).expect("two tickets"));
    for ticket in &checked_in {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("checked in");
    }
    // Checkouts can be renewed.
    fixture.gateway.set_state(Some(CheckoutState::Closed));
    fixture.discount(percent_off(&event, "EARLY", 10));
    let events = [event.id, fixture.event().id];
    fixture.gate(&event);
    fixture.fail_all_deliveries();
    let deliveries = <[WebhookDelivery; 2]>::try_from(fixture.deliveries(webhook)).expect("two deliveries");
    (
        fixture,
        Resources {
            events,
            ticket_type: ticket_type.id,
            pending,
            completed,
            to_refund,
            to_withdraw,
            not_checked_in,
            checked_in,
            deliveries,
        },
    )
}

/// The response of an operation.
#[derive(Debug, Clone, PartialEq)]
enum Response {
    Event(Event),
    TicketType(TicketType),
    CreatedOrder(CreateOrderResponse),
    CancelledOrder(CancelOrderResponse),
    Renewed(RenewCheckoutResponse),
    Refunded(RefundOrderResponse),
    WithdrawnRefund(Refund),
    Order(Order),
    Issued(IssueTicketsResponse),
    Ticket(IssuedTicket),
    Scans(UploadedScans),
    DoorLink(CreatedDoorLink),
    CancelledTicket(CancelledIssuedTicket),
    Discount(Discount),
    Validation(DiscountValidationResponse),
    Webhook(CreatedWebhookEndpoint),
    Resent(ResentWebhookDelivery),
}

/// Calls an operation. The index chooses one of two different requests.
type Operation = fn(&Resources, &TicketingService, &KeyedCaller, usize) -> Result<Replayable<Response>>;

/// Every operation that accepts an idempotency key.
const OPERATIONS: &[(&str, Operation)] = &[
    ("create_event", |_, service, caller, index| {
        let request = CreateEvent::new("Jazz Night", ["jazz-night", "late-night"][index], at(EVENT_START));
        service.create_event(caller, request).map(|result| result.map(Response::Event))
    }),
    ("create_ticket_type", |resources, service, caller, index| {
        let request = CreateTicketType::new("Box", eur(9990), 4);
        service
            .create_ticket_type(caller, resources.events[index], request)
            .map(|result| result.map(Response::TicketType))
    }),
    ("create_order", |resources, service, caller, index| {
        let request = CreateOrder::new(resources.events[0], new_customer(), resources.ticket_type, [3, 4][index]);
        service.create_order(caller, request).map(|result| result.map(Response::CreatedOrder))
    }),
    ("cancel_order", |resources, service, caller, index| {
        service.cancel_order(caller, resources.pending[index]).map(|result| result.map(Response::CancelledOrder))
    }),
    ("renew_checkout", |resources, service, caller, index| {
        service.renew_checkout(caller, resources.pending[index]).map(|result| result.map(Response::Renewed))
    }),
    ("refund_order", |resources, service, caller, index| {
        let request = RefundOrder::of_amount(eur([100, 200][index]));
        service.refund_order(caller, resources.completed, request).map(|result| result.map(Response::Refunded))
    }),
    ("mark_order_refunded", |resources, service, caller, index| {
        service
            .mark_order_refunded(caller, resources.to_refund[index], MarkRefunded::all(RefundMethod::Cash))
            .map(|result| result.map(|marked| Response::Order(marked.order)))
    }),
    ("withdraw_refund", |resources, service, caller, index| {
        service
            .withdraw_refund(caller, resources.to_withdraw[index])
            .map(|result| result.map(Response::WithdrawnRefund))
    }),
    ("mark_order_paid", |resources, service, caller, index| {
        service
            .mark_order_paid(caller, resources.pending[index], ManualMethod::Cash)
            .map(|result| result.map(Response::Order))
    }),
    ("mark_checkout_reminder_sent", |resources, service, caller, index| {
        service.mark_checkout_reminder_sent(caller, resources.pending[index]).map(|result| result.map(Response::Order))
    }),
    ("issue_tickets", |resources, service, caller, index| {
        let request = IssueTickets::new(resources.ticket_type, new_customer(), [3, 4][index]);
        service.issue_tickets(caller, request).map(|result| result.map(Response::Issued))
    }),
    ("check_in_ticket", |resources, service, caller, index| {
        service
            .check_in_ticket(caller, CheckInTicket::new(&resources.not_checked_in[index].code))
            .map(|result| result.map(Response::Ticket))
    }),
    ("check_out_ticket", |resources, service, caller, index| {
        service
            .check_out_ticket(caller, CheckInTicket::new(&resources.checked_in[index].code))
            .map(|result| result.map(Response::Ticket))
    }),
    ("upload_scans", |resources, service, caller, index| {
        let number = u64::try_from(index).expect("small");
        let mut report = UploadScans::new("Phone", [let_in(number, &resources.not_checked_in[index].code, NOW)]);
        report.event_id = Some(resources.events[0]);
        service.upload_scans(caller, report).map(|result| result.map(Response::Scans))
    }),
    ("create_door_link", |resources, service, caller, index| {
        let request = CreateDoorLink::new(["Gate A", "Gate B"][index]);
        service.create_door_link(caller, resources.events[0], request).map(|result| result.map(Response::DoorLink))
    }),
    ("cancel_ticket", |resources, service, caller, index| {
        service
            .cancel_ticket(caller, resources.not_checked_in[index].id)
            .map(|result| result.map(Response::CancelledTicket))
    }),
    ("create_discount", |resources, service, caller, index| {
        let request = CreateDiscount::percentage(["LATE", "LATER"][index], 7).event(resources.events[0]);
        service.create_discount(caller, request).map(|result| result.map(Response::Discount))
    }),
    ("validate_discount", |resources, service, caller, index| {
        let event_id = resources.events[0];
        let code = ["EARLY", "LATE"][index].to_owned();
        let request = ValidateDiscount::new(event_id, code, []);
        service.validate_discount(caller, request).map(|result| result.map(Response::Validation))
    }),
    ("create_webhook", |_, service, caller, index| {
        let url = ["https://example.com/hook", "https://example.com/other"][index];
        let request = CreateWebhook::new(url, [EventType::OrderCompleted]);
        service.create_webhook(caller, request).map(|result| result.map(Response::Webhook))
    }),
    ("resend_webhook_delivery", |resources, service, caller, index| {
        let delivery = &resources.deliveries[index];
        service
            .resend_webhook_delivery(caller, delivery.endpoint_id, delivery.id)
            .map(|result| result.map(Response::Resent))
    }),
];

#[test]
fn the_second_call_with_a_key_returns_the_first_response_and_does_nothing() {
    for (name, operation) in OPERATIONS {
        let (fixture, resources) = open_with_resources();
        let keyed = fixture.caller_with_key("key");
        let before = fixture.all_rows();
        let first = operation(&resources, &fixture.service, &keyed, 0).expect(name);
        assert!(!first.replayed, "{name}");
        let after = fixture.all_rows();
        assert!(after != before || *name == "validate_discount", "{name}");
        let checkouts = fixture.gateway.checkouts().len();
        fixture.clock.advance(Duration::from_secs(1));

        let here = operation(&resources, &fixture.service, &keyed, 0).expect(name);
        let there = operation(&resources, &fixture.second_service(), &keyed, 0).expect(name);
        assert_eq!(here.value, first.value, "{name}");
        assert_eq!(there.value, first.value, "{name} in another service");
        assert!(here.replayed && there.replayed, "{name}");
        assert_eq!(fixture.all_rows(), after, "{name}");
        assert_eq!(fixture.gateway.checkouts().len(), checkouts, "{name}");

        let clock = fixture.clock.clone();
        let folder = fixture.close();
        let builder = database::builder(folder.path().join("ticketing.db"));
        let service = builder.clock(clock).entropy(SeededEntropy::new(3)).open().expect("the file");
        let again = operation(&resources, &service, &keyed, 0).expect(name);
        assert_eq!(again.value, first.value, "{name} after a restart");
        assert!(again.replayed, "{name}");
    }
}

#[test]
fn control_with_another_key_the_second_call_is_executed_or_refused() {
    // One only reads, and the ids of scans make the other idempotent without a key.
    let without_control = ["validate_discount", "upload_scans"];
    for (name, operation) in OPERATIONS.iter().filter(|(name, _)| !without_control.contains(name)) {
        let (fixture, resources) = open_with_resources();
        operation(&resources, &fixture.service, &fixture.caller_with_key("key"), 0).expect(name);
        let after = fixture.all_rows();
        fixture.clock.advance(Duration::from_secs(1));
        match operation(&resources, &fixture.service, &fixture.caller_with_key("another-key"), 0) {
            Ok(again) => assert!(!again.replayed && fixture.all_rows() != after, "{name}"),
            Err(error) => assert!(matches!(error, Error::Conflict(_) | Error::Validation(_)), "{name}: {error}"),
        }
    }
}

#[test]
fn a_key_belongs_to_one_request() {
    for (index, (name, operation)) in OPERATIONS.iter().enumerate() {
        let (fixture, resources) = open_with_resources();
        operation(&resources, &fixture.service, &fixture.caller_with_key("key"), 0).expect(name);
        let after = fixture.all_rows();
        let records = "SELECT COUNT(*) FROM idempotency_records";
        let other = fixture.caller_with_key("key");
        assert_eq!(operation(&resources, &fixture.service, &other, 1), Err(Error::IdempotencyKeyReused), "{name}");
        let (next, another) = OPERATIONS[(index + 1) % OPERATIONS.len()];
        for index in [0, 1] {
            let answer = another(&resources, &fixture.service, &other, index);
            assert_eq!(answer, Err(Error::IdempotencyKeyReused), "{name} and then {next}");
        }
        assert_eq!((fixture.all_rows(), fixture.stored(records)), (after, 1), "{name}");
        operation(&resources, &fixture.service, &fixture.caller_with_key("another-key"), 1).expect(name);
    }
}

/// Operations whose requests differ only in the operation or in the id.
#[test]
fn the_same_body_for_another_operation_or_id_is_another_request() {
    let (fixture, resources) = open_with_resources();
    let scan = || CheckInTicket::new(&resources.not_checked_in[0].code);
    fixture.service.check_in_ticket(&fixture.caller_with_key("scan"), scan()).expect("checked in");
    assert_eq!(
        fixture.service.check_out_ticket(&fixture.caller_with_key("scan"), scan()),
        Err(Error::IdempotencyKeyReused)
    );
    fixture
        .service
        .mark_order_paid(&fixture.caller_with_key("order"), resources.pending[0], ManualMethod::Cash)
        .expect("paid");
    let cancelled = fixture.service.cancel_order(&fixture.caller_with_key("order"), resources.pending[0]);
    assert_eq!(cancelled, Err(Error::IdempotencyKeyReused));
    let delivery = &resources.deliveries[0];
    let other = fixture.webhook([EventType::TicketCheckedIn]).endpoint.id;
    fixture
        .service
        .resend_webhook_delivery(&fixture.caller_with_key("resend"), delivery.endpoint_id, delivery.id)
        .expect("queued");
    let resent = fixture.service.resend_webhook_delivery(&fixture.caller_with_key("resend"), other, delivery.id);
    assert_eq!(resent, Err(Error::IdempotencyKeyReused));
}

#[test]
fn an_invalid_key_is_refused_by_every_operation() {
    let (fixture, resources) = open_with_resources();
    let before = fixture.all_rows();
    for key in ["", "basket 1", "ö", &"k".repeat(256)] {
        let caller = fixture.caller.with_idempotency_key(key);
        for (name, operation) in OPERATIONS {
            let refused = operation(&resources, &fixture.service, &caller, 0).expect_err(name);
            assert_eq!(refused.to_string(), "idempotencyKey must have 1 to 255 visible ASCII characters", "{name}");
        }
    }
    assert_eq!(fixture.all_rows(), before);
}

#[test]
fn every_organization_has_its_own_keys() {
    let (fixture, resources) = open_with_resources();
    let other = fixture.other_organization().with_idempotency_key("key");
    let (_, create_event) = OPERATIONS[0];
    let mine = create_event(&resources, &fixture.service, &fixture.caller_with_key("key"), 0).expect("an event");
    let others_event = create_event(&resources, &fixture.service, &other, 0).expect("an event");
    assert!(!others_event.replayed);
    assert_ne!(mine.value, others_event.value);
    let again = create_event(&resources, &fixture.service, &other, 0).expect("the event");
    assert_eq!((again.value, again.replayed), (others_event.value, true));
    let again = create_event(&resources, &fixture.service, &fixture.caller_with_key("key"), 0).expect("the event");
    assert_eq!((again.value, again.replayed), (mine.value, true));
}

/// Calls with an idempotency key of the program, of an API key with all scopes, and of the key of a door link.
fn callers(fixture: &Fixture, resources: &Resources, key: &str) -> [KeyedCaller; 3] {
    let organization = fixture.caller.organization();
    let shop = fixture.service.create_api_key(organization, CreateApiKey::new("Shop")).expect("a key");
    let shop = fixture.service.authenticate(&shop.key).expect("a valid key");
    let event = fixture.service.get_event(&fixture.caller, resources.events[0]).expect("the event");
    [fixture.caller.clone(), shop, fixture.gate(&event)].map(|caller| caller.with_idempotency_key(key))
}

#[test]
fn each_api_key_and_the_program_have_idempotency_keys_of_their_own() {
    let (fixture, resources) = open_with_resources();
    let [program, shop, gate] = callers(&fixture, &resources, "order-1001");
    let find = |name: &str| OPERATIONS.iter().find(|(found, _)| *found == name).expect(name).1;
    let calls = [(&gate, find("check_in_ticket")), (&shop, find("create_order")), (&program, find("create_order"))];
    let first = calls.map(|(caller, call)| call(&resources, &fixture.service, caller, 0).expect("the key is free"));
    assert!(first.iter().all(|response| !response.replayed));
    assert_ne!(first[1].value, first[2].value);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 3);
    for ((caller, call), first) in calls.into_iter().zip(first) {
        let again = call(&resources, &fixture.second_service(), caller, 0).expect("the first response");
        assert_eq!((again.value, again.replayed), (first.value, true));
        assert_eq!(call(&resources, &fixture.service, caller, 1), Err(Error::IdempotencyKeyReused));
    }
    fixture.set_clock("2026-06-02T12:00:01Z");
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 3);
}

#[test]
fn what_an_earlier_version_stored_is_replayed_to_every_caller_of_the_organization() {
    let (fixture, resources) = open_with_resources();
    let [program, shop, _] = callers(&fixture, &resources, "key");
    let (_, create_event) = OPERATIONS[0];
    let first = create_event(&resources, &fixture.service, &shop, 0).expect("an event").value;
    // As the migration leaves it: the sender of a record of an earlier version is not known.
    fixture.database().run("UPDATE idempotency_records SET sender = -1");
    for caller in [&program, &shop] {
        let again = create_event(&resources, &fixture.service, caller, 0).expect("the event");
        assert_eq!((again.value, again.replayed), (first.clone(), true));
        assert_eq!(create_event(&resources, &fixture.service, caller, 1), Err(Error::IdempotencyKeyReused));
    }
    let other = fixture.other_organization().with_idempotency_key("key");
    assert!(!create_event(&resources, &fixture.service, &other, 1).expect("an event").replayed);
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert!(!create_event(&resources, &fixture.service, &program, 1).expect("the key is free").replayed);
}

#[test]
fn an_order_of_an_earlier_version_that_waits_for_its_link_gets_it_once() {
    let (fixture, resources) = open_with_resources();
    let [_, shop, _] = callers(&fixture, &resources, "key");
    let create = || {
        let request = CreateOrder::new(resources.events[0], new_customer(), resources.ticket_type, 1);
        fixture.service.create_order(&shop, request)
    };
    let order = create().expect("an order").value.order.id;
    fixture.database().run(
        "UPDATE idempotency_records SET sender = -1, answer = NULL, order_id = (SELECT MAX(id) FROM orders);
        UPDATE orders SET payment_link = NULL, payment_status = NULL, payment_reference = NULL
            WHERE id = (SELECT MAX(id) FROM orders)",
    );
    // The request of the first attempt is over.
    fixture.clock.advance(Duration::from_mins(1));
    let resumed = create().expect("the order");
    assert_eq!(resumed.value.order.id, order);
    let again = create().expect("the order");
    assert_eq!((again.value, again.replayed), (resumed.value, true));
}

#[test]
fn creating_an_event_in_the_past_is_replayed_with_the_same_response() {
    let (fixture, _) = open_with_resources();
    let past = || new_event_of_the_past("old-night");
    let event = fixture.service.create_event(&fixture.caller_with_key("key"), past()).expect("an event").value;
    assert_eq!((event.status, event.revision), (EventStatus::Expired, 1));
    assert_eq!(fixture.service.get_event(&fixture.caller, event.id), Ok(event.clone()));
    let again = fixture.service.create_event(&fixture.caller_with_key("key"), past()).expect("the event");
    assert_eq!((again.value, again.replayed), (event, true));
}

fn new_event_of_the_past(slug: &str) -> CreateEvent {
    let mut new = CreateEvent::new("Old Night", slug, at("2020-01-01T18:00:00Z"));
    new.status = Some(EventStatus::Published);
    new
}

#[test]
fn field_errors_are_not_stored() {
    let (fixture, _) = open_with_resources();
    let keyed = fixture.caller_with_key("key");
    let create =
        |slug: &str| fixture.service.create_event(&keyed, CreateEvent::new("Jazz Night", slug, at(EVENT_START)));
    for _ in 0..2 {
        assert_eq!(paths(create("Jazz!")), ["slug"]);
    }
    let event = create("jazz-night").expect("the key is free");
    assert_eq!((event.value.slug.as_str(), event.replayed), ("jazz-night", false));
}

#[test]
fn not_found_is_not_stored() {
    let (fixture, resources) = open_with_resources();
    let unknown = "type_0000000000001".parse().expect("an id");
    let request = |quantity| CreateTicketType::new("Box", eur(1), quantity);
    for _ in 0..2 {
        let nowhere: EventId = "event_0000000000001".parse().expect("an id");
        assert_not_found(fixture.service.create_ticket_type(&fixture.caller_with_key("key"), nowhere, request(1)));
        let issued = IssueTickets::new(unknown, new_customer(), 1);
        assert_eq!(paths(fixture.service.issue_tickets(&fixture.caller_with_key("key"), issued)), ["ticketId"]);
    }
    fixture
        .service
        .create_ticket_type(&fixture.caller_with_key("key"), resources.events[0], request(2))
        .expect("the key is free");
}

#[test]
fn conflicts_are_not_stored_and_the_same_request_may_succeed_later() {
    let fixture = Fixture::new();
    let event = fixture.event();
    fixture.ticket_type(&event, 0, 1);
    let last = fixture.ticket_type(&event, 1250, 1);
    let first = fixture.order(&last, 1);
    let caller = fixture.caller_with_key("key");
    let order = || fixture.service.create_order(&caller, CreateOrder::new(event.id, new_customer(), last.id, 1));
    assert_eq!([reason(order()), reason(order())], [Reason::SoldOut; 2]);
    fixture.service.cancel_order(&fixture.caller, first.id).expect("cancelled");
    let created = order().expect("the seat is available");
    assert!(!created.replayed);
    let again = order().expect("the order");
    assert_eq!((again.value, again.replayed), (created.value, true));
}

#[test]
fn a_refused_scan_is_counted_each_time_and_the_next_may_succeed() {
    let (fixture, resources) = open_with_resources();
    let ticket = &resources.checked_in[0];
    let scans = || fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").scan_count;
    let scan = || fixture.service.check_in_ticket(&fixture.caller_with_key("key"), CheckInTicket::new(&ticket.code));
    assert_eq!([reason(scan()), reason(scan())], [Reason::AlreadyCheckedIn; 2]);
    assert_eq!(scans(), 3);
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("checked out");
    let checked_in = scan().expect("checked in").value;
    assert_eq!((checked_in.scan_count, scans()), (4, 4));
    assert_eq!(scan().expect("the ticket").value, checked_in);
    assert_eq!(scans(), 4);
}

/// Whether issuing a ticket with this key returns a stored response.
fn replays(fixture: &Fixture, resources: &Resources, key: &str) -> bool {
    let caller = fixture.caller_with_key(key);
    let request = IssueTickets::new(resources.ticket_type, new_customer(), 1);
    fixture.service.issue_tickets(&caller, request).expect("a ticket").replayed
}

#[test]
fn a_key_is_kept_for_24_hours() {
    let (fixture, resources) = open_with_resources();
    assert!(!replays(&fixture, &resources, "key"));
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert!(replays(&fixture, &resources, "key"));
    fixture.set_clock("2026-06-02T12:00:00Z");
    // The record is not deleted yet, but it no longer counts, not even for a different request.
    let (_, create_event) = OPERATIONS[0];
    create_event(&resources, &fixture.service, &fixture.caller_with_key("key"), 0).expect("the key is free");
    fixture.set_clock("2026-06-03T11:59:59.999Z");
    let again = fixture.caller_with_key("key");
    let event = create_event(&resources, &fixture.service, &again, 0).expect("the event");
    assert!(event.replayed, "24 hours from the later request");
}

#[test]
fn setting_the_clock_back_forgets_no_key() {
    let (fixture, resources) = open_with_resources();
    assert!(!replays(&fixture, &resources, "key"));
    fixture.set_clock("2020-01-01T00:00:00Z");
    assert!(replays(&fixture, &resources, "key"));
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 0);
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert!(replays(&fixture, &resources, "key"));
}

#[test]
fn maintenance_deletes_only_old_keys() {
    let (fixture, resources) = open_with_resources();
    let kept = || fixture.stored("SELECT COUNT(*) FROM idempotency_records");
    let forgotten = || fixture.service.run_maintenance().expect("a run").forgotten_keys;
    assert!(!replays(&fixture, &resources, "old") && !replays(&fixture, &resources, "old-too"));
    fixture.set_clock("2026-06-01T12:00:00.001Z");
    assert!(!replays(&fixture, &resources, "young"));
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert_eq!((forgotten(), kept()), (0, 3));
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert_eq!((forgotten(), kept()), (2, 1));
    assert!(replays(&fixture, &resources, "young") && !replays(&fixture, &resources, "old"));
}

#[test]
fn one_run_of_maintenance_deletes_all_old_keys() {
    let (fixture, resources) = open_with_resources();
    assert!(!replays(&fixture, &resources, "key"));
    let copies = "INSERT INTO idempotency_records (organization_id, key, fingerprint, answer, order_id, created_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT organization_id, key || i, fingerprint, answer, order_id, created_at FROM idempotency_records, n";
    fixture.database().execute(copies, []);
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 2501);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 0);
}

/// Returns the names that follow each of `beginnings` in the files of a folder, in alphabetical order.
fn names_after(folder: &str, beginnings: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for path in files_under(folder).iter().filter(|path| !is_of_optional_feature(path)) {
        let text = std::fs::read_to_string(path).expect("text").split_whitespace().collect::<String>();
        for part in beginnings.iter().flat_map(|beginning| text.split(beginning).skip(1)) {
            let operation = part.split("Operation::").next().and_then(|part| part.split("operation!(").next());
            if operation.is_some_and(|operation| operation.contains(".not_idempotent()")) {
                continue;
            }
            let name = part.trim_start_matches('"').split(|c: char| !c.is_alphanumeric() && c != '_').next();
            names.extend(name.map(str::to_owned));
        }
    }
    names.sort_unstable();
    names
}

#[test]
fn the_table_has_every_post_operation_and_every_idempotent_one() {
    let mut named: Vec<_> = OPERATIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    named.sort_unstable();
    assert_eq!(names_after("src/service", &["OperationTarget::new(", "OperationTarget::on("]), named);
    let posts = ["create", "action", "action_with_options", "action_on"]
        .map(|kind| [format!("operation!({kind},"), format!("Operation::{kind}(Route::new(")])
        .concat();
    let posts: Vec<_> = posts.iter().map(String::as_str).collect();
    assert_eq!(names_after("src/server/operations", &posts), named);
}

#[test]
fn a_stored_response_is_returned_while_another_process_keeps_everyone_from_writing() {
    let fixture = Fixture::new();
    let caller = fixture.caller.with_idempotency_key("basket-1");
    let ticket_type = fixture.default_ticket_type();
    let order = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
    let first = fixture.service.create_order(&caller, order.clone()).expect("created");
    let database = fixture.database();
    assert!(database.try_begin());
    let again = fixture.service.create_order(&caller, order).expect("the stored response");
    assert!(again.replayed);
    assert_eq!(again.value, first.value);
}
