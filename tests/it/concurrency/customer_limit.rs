//! Races of one customer's orders for the limit on the seats that its unpaid orders reserve.

use std::sync::Barrier;

use ticketing::error::Reason;
use ticketing::order::CreateOrder;
use ticketing::ticket_type::TicketType;

use crate::common::invariants::assert_consistent;
use crate::common::threads::run_at_once;
use crate::common::*;

const THREADS: usize = 16;

fn two_seats_for(ticket_type: &TicketType, email: &str) -> CreateOrder {
    let mut order = new_order(ticket_type.event_id, ticket_type.id, 2);
    order.customer.email = email.to_owned();
    order
}

#[test]
fn simultaneous_orders_of_one_customer_never_exceed_its_limit() {
    let fixture = Fixture::with(|builder| builder.max_reserved_per_customer(10));
    let second = fixture.second_service_with(|builder| builder.max_reserved_per_customer(10));
    for round in 0..20 {
        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
        // Half of them in another process's service, and in upper case.
        let results = run_at_once(THREADS, |number| match number % 2 {
            0 => fixture.service.create_order(&fixture.caller, two_seats_for(&ticket_type, "bo@example.com")),
            _ => second.create_order(&fixture.caller, two_seats_for(&ticket_type, "BO@example.com")),
        });
        let refused: Vec<_> = results.into_iter().filter_map(Result::err).map(|error| error.reason()).collect();
        assert_eq!(refused, [Some(Reason::LimitReached); 11], "round {round}");
        let held = "SELECT held FROM ticket_types ORDER BY id DESC LIMIT 1";
        assert_eq!(fixture.stored(held), 10);
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_with_the_limit_judged_before_the_transaction_all_orders_are_created() {
    let fixture = Fixture::without_gateway();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 1000);
    let have_read = Barrier::new(THREADS);
    run_at_once(THREADS, |_| {
        let reserved = fixture.stored("SELECT held FROM ticket_types");
        have_read.wait();
        if reserved + 2 <= 10 {
            let order = two_seats_for(&ticket_type, "bo@example.com");
            fixture.service.create_order(&fixture.caller, order).expect("an order");
        }
    });
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 32);
}
