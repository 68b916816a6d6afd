//! Simultaneous orders for the seats of expired holds, which the maintenance has not released.

use std::collections::BTreeMap;

use ticketing::Error;
use ticketing::error::Reason;
use ticketing::event::Event;
use ticketing::id::TicketTypeId;
use ticketing::order::{CreateOrder, NewOrderItem};
use ticketing::ticket_type::TicketType;

use crate::common::invariants::assert_consistent;
use crate::common::threads::run_at_once;
use crate::common::*;

const THREADS: usize = 64;

/// Ticket types of an event, without any seat left: `orders` orders have one of each.
fn sold_out_types(fixture: &Fixture, event: &Event, types: usize, orders: i64) -> Vec<TicketType> {
    let types: Vec<_> = (0..types).map(|_| fixture.ticket_type(event, 1250, orders)).collect();
    for _ in 0..orders {
        let items = types.iter().map(|ticket_type| NewOrderItem::new(ticket_type.id, 1));
        let order = CreateOrder::with_items(event.id, new_customer(), items);
        fixture.service.create_order(&fixture.caller, order).expect("an order");
    }
    types
}

/// Orders `seats` of one of the types on each thread, on half of them in another process's service. Returns how many
/// orders got their seats, by ticket type. All others were refused as sold out.
fn order_at_once(fixture: &Fixture, types: [&TicketType; 2], seats: i64) -> BTreeMap<TicketTypeId, usize> {
    let second = fixture.second_service_with(|builder| builder);
    let results = run_at_once(THREADS, |number| {
        let ticket_type = types[number % 2];
        let service = if number % 4 < 2 { &fixture.service } else { &second };
        loop {
            let order = new_order(ticket_type.event_id, ticket_type.id, seats);
            match service.create_order(&fixture.caller, order) {
                // On a machine that is slow now, a customer tries again.
                Err(Error::Unavailable(_)) => {}
                result => break (ticket_type.id, result),
            }
        }
    });
    let mut successful = BTreeMap::new();
    for (ticket_type, result) in results {
        match result {
            Ok(_) => *successful.entry(ticket_type).or_default() += 1,
            Err(error) => assert_eq!(error.reason(), Some(Reason::SoldOut), "{error}"),
        }
    }
    successful
}

#[test]
fn each_seat_of_few_expired_holds_is_taken_once() {
    let fixture = Fixture::without_gateway();
    for _ in 0..5 {
        let event = fixture.event();
        let types = sold_out_types(&fixture, &event, 2, 10);
        fixture.expire_holds();
        let successful = order_at_once(&fixture, [&types[0], &types[1]], 1);
        assert_eq!(successful, BTreeMap::from([(types[0].id, 10), (types[1].id, 10)]));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn each_seat_of_many_expired_holds_that_are_released_in_batches_is_taken_once() {
    let fixture = Fixture::without_gateway();
    for _ in 0..2 {
        let event = fixture.event();
        // An order for 8 seats needs those of 8 orders with 50 items, which are more than one transaction releases.
        let types = sold_out_types(&fixture, &event, 50, 40);
        fixture.expire_holds();
        let successful = order_at_once(&fixture, [&types[0], &types[49]], 8);
        assert_eq!(successful, BTreeMap::from([(types[0].id, 5), (types[49].id, 5)]));
    }
    assert_consistent(&fixture.database());
}
