//! `kill -9` in the middle of the work, fifty times on one database file. A child process sells, accepts payments,
//! cancels, issues and checks in, and reports what was acknowledged. The parent kills it and asserts that all of it is
//! stored.

use std::time::Duration;

use ticketing::ticket::CheckInTicket;

use crate::common::invariants::assert_consistent;
use crate::common::outbox;
use crate::common::processes::{ChildProcess, child_role, next_message, send_to_parent};
use crate::common::seller::{Acknowledged, Sale, Seller};
use crate::common::threads::run_at_once;
use crate::common::*;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells_until_it_is_killed");
const KILLS: u64 = 50;
const THREADS: usize = 6;

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells_until_it_is_killed() {
    child_role();
    let seller = Seller::of_child(|builder| builder, send_to_parent);
    send_to_parent("ready");
    run_at_once(THREADS, |_| {
        loop {
            seller.sell().unwrap();
        }
    });
}

/// Starts a child process, kills it after a while, and returns what it has acknowledged.
fn work_and_kill(sale: &Sale, round: u64) -> Acknowledged {
    let mut seller = ChildProcess::start(sale.child(CHILD, "sell"));
    assert_eq!(seller.next_message().as_deref(), Some("ready"));
    // A different time each round, always in the middle of the work.
    let millis = 100 + round * 7919 % 200;
    let mut acknowledged = Acknowledged::default();
    // On a busy machine the first order may take longer than this time.
    acknowledged.record(&seller.next_message().unwrap());
    std::thread::scope(|scope| {
        let ChildProcess { child, lines } = &mut seller;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(millis));
            child.kill().unwrap();
        });
        while let Some(message) = next_message(lines) {
            acknowledged.record(&message);
        }
    });
    assert!(!seller.finish().status.success(), "it was killed");
    acknowledged
}

#[test]
fn after_fifty_kills_everything_acknowledged_is_stored_completely() {
    let fixture = Fixture::new();
    outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::SALE_NOTIFICATIONS);
    let sale = Sale::prepare(fixture);
    let mut orders = 0;
    let mut first = None;
    for round in 0..KILLS {
        let acknowledged = work_and_kill(&sale, round);
        orders += acknowledged.orders.len();
        let service = sale.reopen();
        let caller = service.act_for(sale.organization).unwrap();
        acknowledged.assert_stored(&service, &caller);
        drop(service);
        assert_consistent(&Database::open(&sale.path));
        outbox::assert_one_notification_each(&Database::open(&sale.path));
        first.get_or_insert(acknowledged);
    }
    // What the first round acknowledged has survived all others.
    let service = sale.reopen();
    first.unwrap().assert_stored(&service, &service.act_for(sale.organization).unwrap());
    eprintln!("{orders} orders were acknowledged over {KILLS} kills");
}

#[test]
fn control_a_missing_ticket_and_a_wrong_counter_are_noticed() {
    for damage in ["DELETE FROM tickets WHERE id = (SELECT MIN(id) FROM tickets)", "UPDATE ticket_types SET held = 1"] {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        let ticket_type = fixture.new_ticket_type(0, 10);
        fixture.order(&ticket_type, 2);
        let connection = fixture.database();
        assert_consistent(&connection);
        connection.execute(damage, []);
        let path = fixture.path();
        std::panic::catch_unwind(|| assert_consistent(&Database::open(&path))).unwrap_err();
    }
}

#[test]
fn control_a_missing_notification_and_one_without_its_change_are_noticed() {
    for damage in [
        "DELETE FROM webhook_outbox WHERE id = (SELECT MAX(id) FROM webhook_outbox)",
        "DELETE FROM tickets WHERE check_in_at IS NULL",
    ] {
        let fixture = Fixture::new();
        fixture.skip_final_check();
        outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::SALE_NOTIFICATIONS);
        let order = fixture.order(&fixture.new_ticket_type(0, 10), 2);
        let code = order.items[0].issued_tickets[0].code.clone();
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).unwrap();
        let connection = fixture.database();
        outbox::assert_one_notification_each(&connection);
        assert_eq!(connection.execute(damage, []), 1);
        let path = fixture.path();
        std::panic::catch_unwind(|| outbox::assert_one_notification_each(&Database::open(&path))).unwrap_err();
    }
}
