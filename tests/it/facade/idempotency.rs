//! Idempotency keys: a request that is repeated with its key is executed once, and gets the first response again.

use std::time::Duration;

use serde_json::Value;
use ticketing::environment::SeededEntropy;
use ticketing::error::Reason;
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::id::EventId;
use ticketing::order::CreateOrder;
use ticketing::organization::CreateApiKey;
use ticketing::payment::ManualMethod;
use ticketing::request::{KeyedCaller, Replayable};
use ticketing::ticket::{CheckInTicket, IssueTickets};
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::EventType;
use ticketing::{Error, Result};

use super::operation::{KeyedCall, Resources};
use super::operations::OPERATIONS;
use crate::common::*;

/// Every operation that accepts an idempotency key.
fn operations() -> impl Iterator<Item = (&'static str, KeyedCall)> + Clone {
    OPERATIONS.iter().filter_map(|operation| Some((operation.name, operation.keyed_call()?)))
}

/// Calls an operation with the first or the second request.
fn call(resources: &Resources, name: &str, caller: &KeyedCaller, index: usize) -> Result<Replayable<Value>> {
    let (_, call) = operations().find(|(found, _)| *found == name).expect(name);
    call(&resources.fixture.service, caller, &resources.ids[index])
}

#[test]
fn the_second_call_with_a_key_returns_the_first_response_and_does_nothing() {
    for (name, call) in operations() {
        let Resources { fixture, ids } = Resources::new();
        let keyed = fixture.caller_with_key("key");
        let before = fixture.all_rows();
        let first = call(&fixture.service, &keyed, &ids[0]).expect(name);
        assert!(!first.replayed, "{name}");
        let after = fixture.all_rows();
        assert!(after != before || name == "validate_discount", "{name}");
        let checkouts = fixture.gateway.checkouts().len();
        fixture.clock.advance(Duration::from_secs(1));

        let here = call(&fixture.service, &keyed, &ids[0]).expect(name);
        let there = call(&fixture.second_service(), &keyed, &ids[0]).expect(name);
        assert_eq!(here.value, first.value, "{name}");
        assert_eq!(there.value, first.value, "{name} in another service");
        assert!(here.replayed && there.replayed, "{name}");
        assert_eq!(fixture.all_rows(), after, "{name}");
        assert_eq!(fixture.gateway.checkouts().len(), checkouts, "{name}");

        let clock = fixture.clock.clone();
        let folder = fixture.close();
        let builder = database::builder(folder.path().join("ticketing.db"));
        let service = builder.clock(clock).entropy(SeededEntropy::new(3)).open().expect("the file");
        let again = call(&service, &keyed, &ids[0]).expect(name);
        assert_eq!(again.value, first.value, "{name} after a restart");
        assert!(again.replayed, "{name}");
    }
}

#[test]
fn control_with_another_key_the_second_call_is_executed_or_refused() {
    // One only reads, the ids of scans make another idempotent without a key, an event has one link to its report, and one
    // returns the run in progress.
    let without_control =
        ["validate_discount", "upload_scans", "create_report_link", "cancel_event_orders", "cancel_allocation"];
    for (name, call) in operations().filter(|(name, _)| !without_control.contains(name)) {
        let Resources { fixture, ids } = Resources::new();
        call(&fixture.service, &fixture.caller_with_key("key"), &ids[0]).expect(name);
        let after = fixture.all_rows();
        fixture.clock.advance(Duration::from_secs(1));
        match call(&fixture.service, &fixture.caller_with_key("another-key"), &ids[0]) {
            Ok(again) => assert!(
                !again.replayed && fixture.all_rows() != after,
                "{name}: the second call has changed nothing; if that is right, list it in `without_control`"
            ),
            Err(error) => assert!(matches!(error, Error::Conflict(_) | Error::Validation(_)), "{name}: {error}"),
        }
    }
}

#[test]
fn a_key_belongs_to_one_request() {
    let next = operations().cycle().skip(1);
    for ((name, call), (next, another)) in operations().zip(next) {
        let Resources { fixture, ids } = Resources::new();
        let keyed = fixture.caller_with_key("key");
        call(&fixture.service, &keyed, &ids[0]).expect(name);
        let after = fixture.all_rows();
        assert_eq!(call(&fixture.service, &keyed, &ids[1]), Err(Error::IdempotencyKeyReused), "{name}");
        for ids in &ids {
            let answer = another(&fixture.service, &keyed, ids);
            assert_eq!(answer, Err(Error::IdempotencyKeyReused), "{name} and then {next}");
        }
        let records = fixture.stored("SELECT COUNT(*) FROM idempotency_records");
        assert_eq!((fixture.all_rows(), records), (after, 1), "{name}");
        call(&fixture.service, &fixture.caller_with_key("another-key"), &ids[1]).expect(name);
    }
}

/// Operations whose requests differ only in the operation or in the id.
#[test]
fn the_same_body_for_another_operation_or_id_is_another_request() {
    let Resources { fixture, ids: [ids, _] } = Resources::new();
    let service = &fixture.service;
    let [scan, order, resend] = ["scan", "order", "resend"].map(|key| fixture.caller_with_key(key));
    service.check_in_ticket(&scan, CheckInTicket::new(ids.code)).expect("checked in");
    let checked_out = service.check_out_ticket(&scan, CheckInTicket::new(ids.code));
    assert_eq!(checked_out, Err(Error::IdempotencyKeyReused));
    service.mark_order_paid(&order, ids.pending, ManualMethod::Cash).expect("paid");
    assert_eq!(service.cancel_order(&order, ids.pending), Err(Error::IdempotencyKeyReused));
    let other = fixture.webhook([EventType::TicketCheckedIn]).endpoint.id;
    service.resend_webhook_delivery(&resend, ids.webhook, ids.delivery).expect("queued");
    let resent = service.resend_webhook_delivery(&resend, other, ids.delivery);
    assert_eq!(resent, Err(Error::IdempotencyKeyReused));
}

#[test]
fn an_invalid_key_is_refused_by_every_operation() {
    let Resources { fixture, ids } = Resources::new();
    let before = fixture.all_rows();
    for key in ["", "basket 1", "ö", &"k".repeat(256)] {
        for (name, call) in operations() {
            let refused = call(&fixture.service, &fixture.caller_with_key(key), &ids[0]).expect_err(name);
            assert_eq!(refused.to_string(), "idempotencyKey must have 1 to 255 visible ASCII characters", "{name}");
        }
    }
    assert_eq!(fixture.all_rows(), before);
}

#[test]
fn every_organization_has_its_own_keys() {
    let resources = Resources::new();
    let own = resources.fixture.caller_with_key("key");
    let other = resources.fixture.other_organization().with_idempotency_key("key");
    let create_event = |caller| call(&resources, "create_event", caller, 0).expect("an event");
    let [first, others_first] = [&own, &other].map(create_event);
    assert!(!first.replayed && !others_first.replayed);
    assert_ne!(first.value, others_first.value);
    for (caller, first) in [(&other, others_first), (&own, first)] {
        let again = create_event(caller);
        assert_eq!((again.value, again.replayed), (first.value, true));
    }
}

/// Calls with an idempotency key of the program, of an API key with all scopes, and of the key of a door link.
fn callers(Resources { fixture, ids }: &Resources, key: &str) -> [KeyedCaller; 3] {
    let organization = fixture.caller.organization();
    let shop = fixture.service.create_api_key(organization, CreateApiKey::new("Shop")).expect("a key");
    let shop = fixture.service.authenticate(&shop.key).expect("a valid key");
    let event = fixture.service.get_event(&fixture.caller, ids[0].event).expect("the event");
    [fixture.caller.clone(), shop, fixture.gate(&event)].map(|caller| caller.with_idempotency_key(key))
}

#[test]
fn each_api_key_and_the_program_have_idempotency_keys_of_their_own() {
    let resources = Resources::new();
    let fixture = &resources.fixture;
    let [program, shop, gate] = callers(&resources, "order-1001");
    let calls = [(&gate, "check_in_ticket"), (&shop, "create_order"), (&program, "create_order")];
    let first = calls.map(|(caller, name)| call(&resources, name, caller, 0).expect("the key is free"));
    assert!(first.iter().all(|response| !response.replayed));
    assert_ne!(first[1].value, first[2].value);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 3);
    for ((caller, name), first) in calls.into_iter().zip(first) {
        let again = call(&resources, name, caller, 0).expect("the first response");
        assert_eq!((again.value, again.replayed), (first.value, true));
        assert_eq!(call(&resources, name, caller, 1), Err(Error::IdempotencyKeyReused));
    }
    fixture.set_clock("2026-06-02T12:00:01Z");
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 3);
}

#[test]
fn what_an_earlier_version_stored_is_replayed_to_every_caller_of_the_organization() {
    let resources = Resources::new();
    let fixture = &resources.fixture;
    let [program, shop, _] = callers(&resources, "key");
    let create_event = |caller, index| call(&resources, "create_event", caller, index);
    let first = create_event(&shop, 0).expect("an event").value;
    // As the migration leaves it: the sender of a record of an earlier version is not known.
    fixture.database().run("UPDATE idempotency_records SET sender = -1");
    for caller in [&program, &shop] {
        let again = create_event(caller, 0).expect("the event");
        assert_eq!((again.value, again.replayed), (first.clone(), true));
        assert_eq!(create_event(caller, 1), Err(Error::IdempotencyKeyReused));
    }
    let other = fixture.other_organization().with_idempotency_key("key");
    assert!(!create_event(&other, 1).expect("an event").replayed);
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert!(!create_event(&program, 1).expect("the key is free").replayed);
}

#[test]
fn an_order_of_an_earlier_version_that_waits_for_its_link_gets_it_once() {
    let resources = Resources::new();
    let (fixture, ids) = (&resources.fixture, &resources.ids[0]);
    let [_, shop, _] = callers(&resources, "key");
    let create = || {
        let request = CreateOrder::new(ids.event, new_customer(), ids.ticket_type, 1);
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
    let fixture = Fixture::new();
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
    let fixture = Fixture::new();
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
    let fixture = Fixture::new();
    let event = fixture.default_event().id;
    let unknown = "type_0000000000001".parse().expect("an id");
    let request = |quantity| CreateTicketType::new("Box", eur(1), quantity);
    for _ in 0..2 {
        let nowhere: EventId = "event_0000000000001".parse().expect("an id");
        assert_not_found(fixture.service.create_ticket_type(&fixture.caller_with_key("key"), nowhere, request(1)));
        let issued = IssueTickets::new(unknown, new_customer(), 1);
        assert_eq!(paths(fixture.service.issue_tickets(&fixture.caller_with_key("key"), issued)), ["ticketId"]);
    }
    let keyed = fixture.caller_with_key("key");
    fixture.service.create_ticket_type(&keyed, event, request(2)).expect("the key is free");
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
    let fixture = Fixture::new();
    let ticket = fixture.issue(fixture.default_ticket_type(), 1).remove(0);
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("checked in");
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
fn replays(fixture: &Fixture, key: &str) -> bool {
    let caller = fixture.caller_with_key(key);
    let request = IssueTickets::new(fixture.default_ticket_type().id, new_customer(), 1);
    fixture.service.issue_tickets(&caller, request).expect("a ticket").replayed
}

#[test]
fn a_key_is_kept_for_24_hours() {
    let fixture = Fixture::new();
    assert!(!replays(&fixture, "key"));
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert!(replays(&fixture, "key"));
    fixture.set_clock("2026-06-02T12:00:00Z");
    // The record is not deleted yet, but it no longer counts, not even for a different request.
    let keyed = fixture.caller_with_key("key");
    let create = || fixture.service.create_event(&keyed, CreateEvent::new("Jazz Night", "jazz-night", at(EVENT_START)));
    create().expect("the key is free");
    fixture.set_clock("2026-06-03T11:59:59.999Z");
    assert!(create().expect("the event").replayed, "24 hours from the later request");
}

#[test]
fn setting_the_clock_back_forgets_no_key() {
    let fixture = Fixture::new();
    assert!(!replays(&fixture, "key"));
    fixture.set_clock("2020-01-01T00:00:00Z");
    assert!(replays(&fixture, "key"));
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 0);
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert!(replays(&fixture, "key"));
}

#[test]
fn maintenance_deletes_only_old_keys() {
    let fixture = Fixture::new();
    let kept = || fixture.stored("SELECT COUNT(*) FROM idempotency_records");
    let forgotten = || fixture.service.run_maintenance().expect("a run").forgotten_keys;
    assert!(!replays(&fixture, "old") && !replays(&fixture, "old-too"));
    fixture.set_clock("2026-06-01T12:00:00.001Z");
    assert!(!replays(&fixture, "young"));
    fixture.set_clock("2026-06-02T11:59:59.999Z");
    assert_eq!((forgotten(), kept()), (0, 3));
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert_eq!((forgotten(), kept()), (2, 1));
    assert!(replays(&fixture, "young") && !replays(&fixture, "old"));
}

#[test]
fn one_run_of_maintenance_deletes_all_old_keys() {
    let fixture = Fixture::new();
    assert!(!replays(&fixture, "key"));
    let copies = "INSERT INTO idempotency_records (organization_id, key, fingerprint, answer, order_id, created_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT organization_id, key || i, fingerprint, answer, order_id, created_at FROM idempotency_records, n";
    fixture.database().execute(copies, []);
    fixture.set_clock("2026-06-02T12:00:00Z");
    assert_eq!(fixture.service.run_maintenance().expect("a run").forgotten_keys, 2501);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 0);
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
