//! The quota of bytes that an organization may write per minute with its API keys.

use std::time::Duration;

use ticketing::error::Error;
use ticketing::event::{CreateEvent, Event};
use ticketing::organization::CreateApiKey;
use ticketing::{Caller, Result, TicketingService};

use super::operation::{Kind, Resources};
use super::operations::OPERATIONS;
use crate::common::*;

const QUOTA: u64 = 100_000;

fn fixture() -> Fixture {
    Fixture::with_gateway(|builder| builder.write_quota(Some(QUOTA)))
}

/// A caller with an API key of the caller's organization.
fn with_key(fixture: &Fixture, caller: &Caller) -> Caller {
    let key = fixture.service.create_api_key(caller.organization(), CreateApiKey::new("Shop")).expect("a key").key;
    fixture.service.authenticate(key.expose()).expect("valid")
}

/// Creates an event with a description of this many bytes.
fn create_large_event(fixture: &Fixture, caller: &Caller, bytes: usize) -> Result<Event> {
    let event = new_event(|event| event.description = Some("a".repeat(bytes)));
    fixture.service.create_event(caller, event)
}

/// Uses up the quota with events of 20,000 bytes each: the sixth one is refused, whatever else an event needs.
fn use_up(fixture: &Fixture, caller: &Caller) {
    let created = (0..10).map_while(|_| create_large_event(fixture, caller, 20_000).ok()).count();
    assert_eq!(created, 5);
}

#[track_caller]
fn assert_used_up<T: std::fmt::Debug>(result: Result<T>) -> Duration {
    match result {
        Err(Error::WriteQuotaExceeded { bytes_per_minute: QUOTA, retry_after, .. }) => retry_after,
        other => panic!("{other:?}"),
    }
}

#[test]
fn beyond_the_quota_nothing_is_created_until_the_minute_is_over() {
    let fixture = fixture();
    let caller = with_key(&fixture, &fixture.caller);
    create_large_event(&fixture, &caller, 5).expect("an event");
    fixture.clock.advance(Duration::from_secs(20));
    use_up(&fixture, &caller);
    assert_eq!(assert_used_up(create_large_event(&fixture, &caller, 5)), Duration::from_secs(40));
    // Another key of the organization has the same quota; another organization has its own.
    assert_used_up(create_large_event(&fixture, &with_key(&fixture, &fixture.caller), 5));
    let other = with_key(&fixture, &fixture.other_organization());
    create_large_event(&fixture, &other, 5).expect("another organization");
    // The program itself has none.
    create_large_event(&fixture, &fixture.caller, 20_000).expect("no key");
    fixture.clock.advance(Duration::from_secs(39));
    assert_eq!(assert_used_up(create_large_event(&fixture, &caller, 5)), Duration::from_secs(1));
    fixture.clock.advance(Duration::from_secs(1));
    use_up(&fixture, &caller);
}

/// What ends something, payments and check-ins are small and urgent.
#[test]
fn creations_and_updates_are_refused_and_what_is_urgent_is_not() {
    let also_create = ["assign_ticket", "renew_checkout", "resend_webhook_delivery"];
    for operation in OPERATIONS {
        let resources = Resources::with(|builder| builder.write_quota(Some(QUOTA)));
        let caller = with_key(&resources.fixture, &resources.fixture.caller);
        use_up(&resources.fixture, &caller);
        let updates = matches!(operation.kind, Kind::Conditional(_)) && operation.status == 200;
        let result = operation.run(&resources, &caller);
        if updates || operation.status == 201 || also_create.contains(&operation.name) {
            assert!(matches!(result, Err(Error::WriteQuotaExceeded { .. })), "{}: {result:?}", operation.name);
        } else {
            result.expect(operation.name);
        }
    }
}

#[test]
fn what_is_refused_for_another_reason_does_not_count() {
    let fixture = fixture();
    let caller = with_key(&fixture, &fixture.caller);
    let event = CreateEvent::new("Jazz", "jazz", at(EVENT_START)).description("a".repeat(20_000));
    fixture.service.create_event(&caller, event.clone()).expect("an event");
    for _ in 0..20 {
        let refused = fixture.service.create_event(&caller, event.clone()).expect_err("the slug is taken");
        assert_eq!(refused.code(), "conflict");
    }
    create_large_event(&fixture, &caller, 5).expect("the quota is not used up");
}

#[test]
fn what_an_order_copies_into_each_ticket_counts_for_each_ticket() {
    let fixture = fixture();
    let caller = with_key(&fixture, &fixture.caller);
    let event = fixture.event();
    let free = fixture.ticket_type_with(&event, |new| {
        new.price = eur(0);
        new.quantity = 10_000;
        new.max_per_order = Some(100);
    });
    // The name is stored with each ticket: 102,000 bytes by four requests of less than a kilobyte.
    let mut order = new_order(event.id, free.id, 100);
    order.customer.name = "a".repeat(255);
    let created = (0..10).map_while(|_| fixture.service.create_order(&caller, order.clone()).ok()).count();
    assert!((1..=4).contains(&created), "{created}");
    assert_used_up(create_large_event(&fixture, &caller, 5));
}

#[test]
fn the_quota_can_be_switched_off_but_not_be_zero() {
    let fixture = Fixture::with(|builder| builder.write_quota(None));
    let caller = with_key(&fixture, &fixture.caller);
    for _ in 0..10 {
        create_large_event(&fixture, &caller, 20_000).expect("an event");
    }
    let refused = TicketingService::temporary().write_quota(Some(0)).open().expect_err("no quota");
    assert_eq!(refused.to_string(), "write_quota must be at least 1");
}
