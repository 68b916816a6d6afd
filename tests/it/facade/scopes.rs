//! Scopes: every operation needs exactly one scope, and no scope implies another. What receives money or pays it back
//! with an order needs a second one.

use ticketing::error::Reason;
use ticketing::order::Order;
use ticketing::organization::Scope;
use ticketing::payment::ManualMethod;
use ticketing::{Caller, Error};

use super::operation::{Operation, Resources};
use super::operations::OPERATIONS;
use crate::common::*;

#[test]
fn every_operation_needs_its_scope_and_no_other() {
    let resources = Resources::new();
    let before = resources.fixture.all_rows();
    let scopes =
        |operation: &'static Operation| operation.scopes().into_iter().map(move |scope| (operation.name, scope));
    for (operation, (name, scope)) in
        OPERATIONS.iter().flat_map(|operation| scopes(operation).map(move |scope| (operation, scope)))
    {
        let without = resources.fixture.caller.with_scopes(Scope::ALL.iter().copied().filter(|other| *other != scope));
        assert_eq!(operation.run(&resources, &without), Err(Error::Forbidden(scope)), "{name}");
        assert!(Error::Forbidden(scope).to_string().contains(scope.as_str()));
    }
    assert_eq!(resources.fixture.all_rows(), before);
    for operation in OPERATIONS {
        let resources = Resources::new();
        let restricted = resources.fixture.caller.with_scopes(operation.scopes());
        operation.run(&resources, &restricted).expect(operation.name);
    }
}

#[test]
fn a_key_of_one_event_can_do_nothing_but_check_tickets_in() {
    let resources = Resources::new();
    let [gate, elsewhere] = [resources.ids[0].event, resources.ids[0].unused_event].map(|event| {
        let event = resources.fixture.service.get_event(&resources.fixture.caller, event).expect("the event");
        resources.fixture.gate(&event)
    });
    for operation in OPERATIONS {
        let (name, scope) = (operation.name, operation.scope);
        if scope == Scope::TicketsCheckIn {
            operation.run(&resources, &elsewhere).expect_err(name);
            operation.run(&resources, &gate).expect(name);
        } else {
            assert_eq!(operation.run(&resources, &gate), Err(Error::Forbidden(scope)), "{name}");
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
