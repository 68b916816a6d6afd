//! Runs of the maintenance that make refunds, or ask what became of them: organizations take turns, and several refunds
//! are made at the same time.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use ticketing::Caller;
use ticketing::order::CreateOrder;
use ticketing::ticket_type::{CreateTicketType, TicketType};

use crate::common::database::stored_id;
use crate::common::*;

const DAY: Duration = Duration::from_hours(24);

fn seats_of(fixture: &Fixture, caller: &Caller) -> TicketType {
    let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
    fixture
        .service
        .create_ticket_type(caller, event.id, CreateTicketType::new("Seat", eur(1250), 100))
        .expect("a ticket type")
}

fn cancelled_order(fixture: &Fixture, caller: &Caller, seats: &TicketType) {
    let created = fixture
        .service
        .create_order(caller, CreateOrder::new(seats.event_id, new_customer(), seats.id, 1))
        .expect("an order");
    fixture.service.payment_completed(caller, created.order.id).expect("paid");
    fixture.service.cancel_order(caller, created.order.id).expect("cancelled");
}

/// Adds refunds to the one of a cancelled order, as if the organization had as many cancelled orders.
fn multiply(fixture: &Fixture, caller: &Caller, count: usize) {
    fixture.skip_final_check();
    let organization = stored_id(caller.organization());
    fixture.database().run(&format!(
        "INSERT INTO refunds (id, organization_id, order_id, event_id, payment_id, source, amount, currency, reference,
            status, by_gateway, promised, returned, to_ask, attempts, created_at, updated_at)
        WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {count})
        SELECT id + 1000000 + number, organization_id, order_id, event_id, payment_id, source, amount, currency, reference,
            status, by_gateway, promised, returned, to_ask, attempts, created_at, updated_at
        FROM refunds, numbers WHERE organization_id = {organization};
        INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
        SELECT r.id, w.kind, r.id, w.organization_id, w.event_id, w.body, w.due_at, w.created_at
        FROM work w JOIN refunds r ON r.organization_id = w.organization_id AND r.id <> w.key
        WHERE w.organization_id = {organization}"
    ));
}

#[test]
fn many_refunds_of_one_organization_that_fail_delay_nobody_else_s() {
    // With eight calls, one refund is made at a time.
    for calls in [128, 8] {
        let (fixture, _) = beside_failing_refunds(calls);
        fixture.gateway.disconnect(fixture.caller.organization());
        assert_eq!(fixture.service.run_maintenance().expect("a run").answered_refunds, 1, "{calls} calls");
    }
}

#[test]
fn an_organization_for_which_the_gateway_has_just_failed_comes_last_in_the_next_run() {
    let (fixture, other) = beside_failing_refunds(8);
    fixture.gateway.disconnect_until_timeout(fixture.caller.organization(), &fixture.clock);
    let before = fixture.gateway.looked_up().len();
    // The time of the first run is over when it has waited for the organization whose refunds are older.
    let answered = [0, 1].map(|_| fixture.service.run_maintenance().expect("a run").answered_refunds);
    assert_eq!(answered, [0, 1]);
    // Before a refund is asked for again, the gateway is asked for the payment.
    let asked: Vec<_> = fixture.gateway.looked_up()[before..].iter().map(|look_up| look_up.organization_id).collect();
    let failing = fixture.caller.organization();
    assert_eq!(asked, [failing, other.organization(), failing]);
}

/// An organization with 100 refunds that are due, and another one with one that is due later.
fn beside_failing_refunds(gateway_calls: usize) -> (Fixture, Caller) {
    let fixture = Fixture::with_gateway(|builder| builder.gateway_calls(gateway_calls));
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    let other = fixture.other_organization();
    cancelled_order(&fixture, &fixture.caller, &seats_of(&fixture, &fixture.caller));
    multiply(&fixture, &fixture.caller, 99);
    fixture.clock.advance(Duration::from_secs(1));
    cancelled_order(&fixture, &other, &seats_of(&fixture, &other));
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    (fixture, other)
}

#[test]
fn refunds_of_one_organization_that_cannot_be_looked_up_delay_nobody_else_s_look_ups() {
    // With eight calls, one payment is looked up at a time.
    let fixture = Fixture::with_gateway(|builder| builder.gateway_calls(8));
    let other = fixture.other_organization();
    cancelled_order(&fixture, &fixture.caller, &seats_of(&fixture, &fixture.caller));
    // The gateway lists the refunds of a payment.
    fixture.skip_final_check();
    fixture.database().run(
        "INSERT INTO payments (id, organization_id, order_id, event_id, purpose, gateway, account, mode, reference, amount,
            currency, returned, promised, created_at)
        WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 100)
        SELECT id + 1000000 + number, organization_id, order_id, event_id, purpose, gateway, account, mode, 'pi_' || number,
            amount, currency, returned, promised, created_at
        FROM payments, numbers;
        INSERT INTO work (id, kind, key, organization_id, event_id, body, due_at, created_at)
        SELECT p.id, w.kind, p.id, w.organization_id, w.event_id, w.body, w.due_at, w.created_at
        FROM work w, payments p WHERE p.reference LIKE 'pi_%'",
    );
    fixture.database().run("UPDATE payments SET reference = 'pi_0' WHERE reference IS NULL");
    fixture.clock.advance(Duration::from_secs(1));
    cancelled_order(&fixture, &other, &seats_of(&fixture, &other));
    fixture.database().run("UPDATE payments SET reference = 'pi_other' WHERE reference IS NULL");
    fixture.gateway.disconnect(fixture.caller.organization());
    fixture.clock.advance(DAY);
    assert_eq!(fixture.service.run_maintenance().expect("a run").checked_payments, 1);
    // The first of each organization, and then the others.
    let asked: Vec<_> = fixture.gateway.listed_for().into_iter().map(|payment| payment.payment_reference).collect();
    assert!(asked[..2].contains(&"pi_other".to_owned()), "{asked:?}");
    assert_eq!(asked.len(), 102);
}

/// How many refunds are asked for, and how many of them wait for others.
#[derive(Debug, Default)]
struct Calls {
    refunds: usize,
    waiting: usize,
}

const AT_ONCE: usize = 4;

/// Makes a refund only if several are asked for at the same time, after a first one.
fn answer_together((calls, changed): &(Mutex<Calls>, Condvar)) -> GatewayBehavior {
    let mut calls = calls.lock().expect("no panic");
    calls.refunds += 1;
    if calls.refunds == 1 {
        return GatewayBehavior::Succeed;
    }
    calls.waiting += 1;
    changed.notify_all();
    // Longer than any machine takes for it, and passed only if nobody else comes.
    let patience = Duration::from_secs(15);
    let waited = changed.wait_timeout_while(calls, patience, |calls| calls.waiting < AT_ONCE);
    let (_calls, timeout) = waited.expect("no panic");
    if timeout.timed_out() { GatewayBehavior::Unavailable } else { GatewayBehavior::Succeed }
}

#[test]
fn refunds_are_made_several_at_a_time() {
    let fixture = Fixture::new();
    let seats = seats_of(&fixture, &fixture.caller);
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    for _ in 0..1 + 2 * AT_ONCE {
        cancelled_order(&fixture, &fixture.caller, &seats);
    }
    let calls = <(Mutex<Calls>, Condvar)>::default();
    fixture.gateway.during_refund(move || answer_together(&calls));
    fixture.clock.advance(Duration::from_mins(1));
    // A refund whose event is busy is left to the next run.
    let runs = std::iter::repeat_with(|| fixture.service.run_maintenance().expect("a run").answered_refunds).take(5);
    assert_eq!(runs.sum::<usize>(), 1 + 2 * AT_ONCE);
}
