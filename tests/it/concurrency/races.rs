//! Races: several callers compete for something that only one of them can have.
//!
//! Each test has a control: the same race in SQL that reads first and writes later, without the condition in its
//! UPDATE. The control oversells, or loses an update, every time. This proves that the race is real, and that the
//! condition prevents it.

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use ticketing::allocation::{AllocationState, CreateAllocation, ImportTickets, ImportedTicket};
use ticketing::discount::{Discount, UpdateDiscount};
use ticketing::error::Reason;
use ticketing::id::{OrderId, TicketTypeId};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem, OrderStatus, PaymentStatus};
use ticketing::payment::{ListLedgerEntries, ListRefunds, ManualMethod, MarkRefunded, RefundMethod, RefundStatus};
use ticketing::ticket::{CheckInTicket, TicketStatus};
use ticketing::ticket_type::TicketType;

use crate::common::invariants::assert_consistent;
use crate::common::threads::{run_at_once, run_both};
use crate::common::*;

const ROUNDS: usize = 45;

/// The pattern of a control: several connections read, and none writes before all have read.
fn read_then_write<T: Send>(
    path: &Path,
    threads: usize,
    read: impl Fn(&Database) -> T + Sync,
    write: impl Fn(&Database, usize, T) + Sync,
) {
    let have_read = Barrier::new(threads);
    run_at_once(threads, |number| {
        let database = Database::open_without_constraints(path);
        let seen = read(&database);
        have_read.wait();
        write(&database, number, seen);
    });
}

fn free_seats(database: &Database) -> i64 {
    database.value("SELECT quantity - sold - held FROM ticket_types")
}

/// Takes a seat if the earlier read found one available.
fn take_seat_if(database: &Database, free: i64, column: &str) {
    if free >= 1 {
        database.execute(&format!("UPDATE ticket_types SET {column} = {column} + 1"), []);
    }
}

fn reason<T>(result: &ticketing::Result<T>) -> Option<Reason> {
    match result {
        Ok(_) => None,
        Err(error) => Some(error.reason().unwrap_or_else(|| panic!("no conflict: {error}"))),
    }
}

impl Fixture {
    /// Adds a ticket type that nobody orders, because an event that is sold out refuses orders for another reason.
    fn keep_event_open(&self) {
        self.new_ticket_type(0, 1);
    }

    fn refunds(&self) -> Vec<(OrderId, RefundStatus)> {
        let refunds = self.service.list_refunds(&self.caller, ListRefunds::default()).unwrap().data;
        refunds.into_iter().map(|refund| (refund.order_id, refund.status)).collect()
    }

    /// Creates a discount of ten percent for `limit` orders.
    fn limited_discount(&self, code: &str, limit: i64, auto_apply: bool) -> Discount {
        let mut new = percent_off(self.default_event(), code, 10);
        new.usage_limit = Some(limit);
        new.auto_apply = Some(auto_apply);
        self.discount(new)
    }

    /// Returns how many seats of the type pending orders reserve.
    fn reserved(&self, ticket_type: &TicketType) -> i64 {
        let reserved: Vec<i64> = self.database().column("SELECT held FROM ticket_types ORDER BY id");
        let position = self.ticket_types().iter().position(|id| *id == ticket_type.id).unwrap();
        reserved[position]
    }

    fn ticket_types(&self) -> Vec<TicketTypeId> {
        let mut page = ticketing::ticket_type::ListTicketTypes::default();
        page.page.limit = 100;
        let found = self.service.list_ticket_types(&self.caller, self.default_event().id, page).unwrap().data;
        found.into_iter().map(|ticket_type| ticket_type.id).collect()
    }
}

#[test]
fn one_of_sixteen_orders_gets_the_last_seat() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for round in 0..ROUNDS {
        let price = if round % 2 == 0 { 0 } else { 1250 };
        let ticket_type = fixture.new_ticket_type(price, 1);
        let results = run_at_once(16, |_| fixture.try_order(&ticket_type, 1));
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::SoldOut; 15]);
        assert_eq!(fixture.sold(&ticket_type), i64::from(price == 0));
        assert_eq!(fixture.reserved(&ticket_type), i64::from(price > 0));
    }
    let orders = ListOrders::default().limit(100);
    assert_eq!(fixture.service.list_orders(&fixture.caller, orders).unwrap().data.len(), ROUNDS);
    assert_consistent(&fixture.database());
}

#[test]
fn one_of_sixteen_allocations_gets_the_last_seats() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for _ in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(1250, 3);
        let results = run_at_once(16, |number| match number % 2 {
            0 => {
                let request = CreateAllocation::new("Guests", 3);
                fixture.service.create_allocation(&fixture.caller, ticket_type.id, request).map(drop)
            }
            _ => {
                let codes = (0..3).map(|code| ImportedTicket::new(format!("{}-{number}-{code}", ticket_type.id)));
                let request = ImportTickets::new("Box office", codes);
                fixture.service.import_tickets(&fixture.caller, ticket_type.id, request).map(drop)
            }
        });
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::SoldOut; 15]);
        assert_eq!(fixture.sold(&ticket_type) + fixture.reserved(&ticket_type), 3);
    }
    fixture.service.run_maintenance().expect("a run");
    assert_consistent(&fixture.database());
}

#[test]
fn control_seats_that_are_taken_outside_of_the_transaction_are_taken_sixteen_times() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(0, 3);
    let (_folder, path) = fixture.into_file();
    read_then_write(&path, 16, free_seats, |database, _, free| {
        if free >= 3 {
            database.execute("UPDATE ticket_types SET held = held + 3", []);
        }
    });
    assert_eq!(Database::open(&path).sold_and_held(), (0, 48));
}

#[test]
fn one_of_sixteen_imports_gets_a_code() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    for round in 0..ROUNDS {
        let results = run_at_once(16, |number| {
            let codes = [format!("code-{round}"), format!("other-{round}-{number}")];
            let request = ImportTickets::new("Box office", codes.map(ImportedTicket::new));
            fixture.service.import_tickets(&fixture.caller, ticket_type.id, request)
        });
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::CodeTaken; 15]);
    }
    assert_eq!(fixture.sold(ticket_type), 2 * i64::try_from(ROUNDS).unwrap());
}

#[test]
fn an_allocation_is_cancelled_while_its_tickets_are_issued() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for _ in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(1250, 1000);
        let request = CreateAllocation::new("Guests", 650);
        let id = fixture.service.create_allocation(&fixture.caller, ticket_type.id, request).unwrap().id;
        let second = fixture.second_service();
        std::thread::scope(|scope| {
            for service in [&fixture.service, &second] {
                scope.spawn(|| service.run_maintenance().expect("a run"));
            }
            scope.spawn(|| fixture.service.cancel_allocation(&fixture.caller, id).expect("cancelled"));
        });
        // What one of the runs has left to the other.
        fixture.service.run_maintenance().expect("a run");
        let cancelled = fixture.service.get_allocation(&fixture.caller, id).unwrap();
        assert_eq!((cancelled.state, cancelled.kept), (AllocationState::Cancelled, Some(0)));
        assert_eq!((fixture.sold(&ticket_type), fixture.reserved(&ticket_type)), (0, 0));
    }
}

#[test]
fn control_without_the_condition_sixteen_orders_get_the_last_seat() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(0, 1);
    let (_folder, path) = fixture.into_file();
    read_then_write(&path, 16, free_seats, |database, _, free| take_seat_if(database, free, "sold"));
    assert_eq!(Database::open(&path).sold_and_held(), (16, 0));
}

fn three_of_each(types: [&TicketType; 2]) -> CreateOrder {
    let mut request = new_order(types[0].event_id, types[0].id, 3);
    request.items.push(NewOrderItem::new(types[1].id, 3));
    request
}

#[test]
fn of_two_overlapping_orders_one_gets_all_seats_and_the_other_none() {
    let fixture = Fixture::new();
    for round in 0..ROUNDS {
        let price = if round % 2 == 0 { 0 } else { 1250 };
        // Each type has one seat too few for both orders.
        let one = fixture.new_ticket_type(price, 5);
        let other = fixture.new_ticket_type(price, 5);
        let order = |types| fixture.service.create_order(&fixture.caller, three_of_each(types));
        let (first, second) = run_both(|| order([&one, &other]), || order([&other, &one]));
        let refused: Vec<_> = [&first, &second].into_iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::SoldOut]);
        for ticket_type in [one, other] {
            let sold = fixture.sold(&ticket_type);
            let held = fixture.reserved(&ticket_type);
            assert_eq!((sold, held), if price == 0 { (3, 0) } else { (0, 3) });
        }
    }
    let orders = ListOrders::default().limit(100);
    assert_eq!(fixture.service.list_orders(&fixture.caller, orders).unwrap().data.len(), ROUNDS);
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_a_transaction_two_overlapping_orders_get_half_each() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(0, 5);
    fixture.new_ticket_type(0, 5);
    let (_folder, path) = fixture.into_file();
    let types = "SELECT id FROM ticket_types ORDER BY id";
    let took_first = Barrier::new(2);
    let complete: Vec<bool> = run_at_once(2, |number| {
        let database = Database::open_without_constraints(&path);
        let mut ids = database.column::<i64>(types);
        if number == 1 {
            ids.reverse();
        }
        let take = "UPDATE ticket_types SET sold = sold + 3 WHERE id = ?1 AND sold + 3 <= quantity";
        let first = database.execute(take, [ids[0]]);
        took_first.wait();
        let second = database.execute(take, [ids[1]]);
        first + second == 2
    });
    assert_eq!(complete, [false, false]);
    assert_eq!(Database::open(&path).value::<i64>("SELECT SUM(sold) FROM ticket_types"), 6);
}

#[test]
fn payment_against_cancellation_ends_cancelled_and_refunded() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1);
    for _ in 0..ROUNDS {
        let id = fixture.try_order(&ticket_type, 1).unwrap().id;
        let (paid, cancelled) = run_both(
            || fixture.service.payment_completed(&fixture.caller, id),
            || fixture.service.cancel_order(&fixture.caller, id),
        );
        assert!(paid.is_ok());
        assert!(!cancelled.unwrap().requires_manual_refund);
        let order = fixture.read_order(id);
        assert_eq!(order.status, OrderStatus::Cancelled);
        assert_eq!(fixture.payment_status(id), Some(PaymentStatus::Refunded));
        assert_eq!(fixture.refunds()[0], (id, RefundStatus::Done));
        let tickets = &order.items[0].issued_tickets;
        assert!(tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
        assert_eq!(fixture.database().sold_and_held(), (0, 0));
    }
    assert_consistent(&fixture.database());
}

const STATUS: &str = "SELECT status FROM orders";

#[test]
fn control_without_the_condition_payment_and_cancellation_release_one_seat() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1);
    fixture.try_order(&ticket_type, 1).unwrap();
    let (_folder, path) = fixture.into_file();
    let writes = [
        "UPDATE orders SET status = 'COMPLETED'; UPDATE ticket_types SET sold = sold + 1, held = held - 1",
        "UPDATE orders SET status = 'CANCELLED'; UPDATE ticket_types SET held = held - 1",
    ];
    read_then_write(
        &path,
        2,
        |database| database.value::<String>(STATUS),
        |database, number, status| {
            assert_eq!(status, "PENDING");
            database.transaction(writes[number]);
        },
    );
    // One seat is sold, and the number of reserved seats is negative.
    assert_eq!(Database::open(&path).sold_and_held(), (1, -1));
}

#[test]
fn payment_against_expiry_gives_the_seat_to_exactly_one_buyer() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for _ in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(1250, 1);
        let first = fixture.try_order(&ticket_type, 1).unwrap().id;
        // One millisecond before the hold expires.
        fixture.clock.advance(HOLD - Duration::from_millis(1));
        let ((paid, other_order), maintained) = run_both(
            || {
                run_both(
                    || fixture.service.payment_completed(&fixture.caller, first),
                    || {
                        fixture.clock.advance(Duration::from_millis(1));
                        fixture.try_order(&ticket_type, 1)
                    },
                )
            },
            || fixture.service.run_maintenance(),
        );
        paid.unwrap();
        maintained.unwrap();
        match fixture.read_order(first).status {
            OrderStatus::Completed => {
                assert_eq!(reason(&other_order), Some(Reason::SoldOut));
                assert_eq!(fixture.payment_status(first), Some(PaymentStatus::Completed));
                assert_eq!((fixture.sold(&ticket_type), fixture.reserved(&ticket_type)), (1, 0));
            }
            OrderStatus::Expired => {
                assert_eq!(other_order.unwrap().status, OrderStatus::Pending);
                assert_eq!(fixture.payment_status(first), Some(PaymentStatus::Refunded));
                assert_eq!((fixture.sold(&ticket_type), fixture.reserved(&ticket_type)), (0, 1));
            }
            other => panic!("{other}"),
        }
        // No round leaves a hold to the next one.
        fixture.clock.advance(HOLD);
        fixture.service.run_maintenance().unwrap();
    }
    assert_consistent(&fixture.database());
}

#[test]
fn a_hold_expires_exactly_at_its_end() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1);
    let in_time = fixture.try_order(&ticket_type, 1).unwrap().id;
    fixture.clock.advance(HOLD - Duration::from_millis(1));
    assert_eq!(reason(&fixture.try_order(&ticket_type, 1)), Some(Reason::SoldOut));
    assert_eq!(fixture.service.payment_completed(&fixture.caller, in_time).unwrap().status, OrderStatus::Completed);
    fixture.service.cancel_order(&fixture.caller, in_time).unwrap();

    fixture.clock.set(at(NOW));
    let late = fixture.try_order(&ticket_type, 1).unwrap().id;
    fixture.clock.advance(HOLD);
    assert_eq!(fixture.read_order(late).status, OrderStatus::Expired);
    let other = fixture.try_order(&ticket_type, 1).unwrap();
    let late = fixture.service.payment_completed(&fixture.caller, late).unwrap();
    assert_eq!(late.status, OrderStatus::Expired);
    assert_eq!(late.payment_gateway.unwrap().status, PaymentStatus::Refunded);
    assert_eq!(fixture.read_order(other.id).status, OrderStatus::Pending);
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_a_paid_seat_is_sold_again_as_expired() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1);
    fixture.try_order(&ticket_type, 1).unwrap();
    let (_folder, path) = fixture.into_file();
    // The clock of the payment is a millisecond before the end of the hold, and that of the other order at the end.
    let writes = [
        "UPDATE orders SET status = 'COMPLETED'; UPDATE ticket_types SET sold = sold + 1, held = held - 1",
        "UPDATE orders SET status = 'EXPIRED'; UPDATE ticket_types SET held = held - 1;
         UPDATE ticket_types SET sold = sold + 1",
    ];
    read_then_write(
        &path,
        2,
        |database| database.value::<String>(STATUS),
        |database, number, status| {
            assert_eq!(status, "PENDING");
            database.transaction(writes[number]);
        },
    );
    // Both buyers have the one seat.
    assert_eq!(Database::open(&path).sold_and_held(), (2, -1));
}

#[test]
fn one_of_several_simultaneous_scans_is_accepted_and_all_are_counted() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1000);
    for round in 0..ROUNDS {
        let scans = 2 + round % 7;
        let ticket = fixture.try_order(&ticket_type, 1).unwrap().items[0].issued_tickets[0].clone();
        let scan = |_| fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(ticket.code.clone()));
        let results = run_at_once(scans, scan);
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, vec![Reason::AlreadyCheckedIn; scans - 1]);
        let read = fixture.service.get_ticket(&fixture.caller, ticket.id).unwrap();
        assert_eq!(read.status, TicketStatus::CheckedIn);
        assert_eq!(read.scan_count, i64::try_from(scans).unwrap());
    }
}

#[test]
fn control_without_the_condition_two_scans_are_accepted_and_one_is_lost() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1);
    fixture.try_order(&ticket_type, 1).unwrap();
    let (_folder, path) = fixture.into_file();
    let checked_in = std::sync::atomic::AtomicUsize::new(0);
    let read = |database: &Database| {
        (
            database.value::<String>("SELECT status FROM tickets"),
            database.value::<i64>("SELECT scan_count FROM tickets"),
        )
    };
    read_then_write(&path, 2, read, |database, _, (status, scans)| {
        if status == "NOT_CHECKED_IN" {
            let update = "UPDATE tickets SET status = 'CHECKED_IN', scan_count = ?1";
            database.execute(update, [scans + 1]);
            checked_in.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    });
    assert_eq!(checked_in.into_inner(), 2);
    assert_eq!(Database::open(&path).value::<i64>("SELECT scan_count FROM tickets"), 1);
}

#[test]
fn a_ticket_cancelled_with_its_order_frees_its_seat_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 3);
    for _ in 0..ROUNDS {
        let order = fixture.try_order(&ticket_type, 2).unwrap();
        let ticket = order.items[0].issued_tickets[0].id;
        let (cancelled, of_ticket) = run_both(
            || fixture.service.cancel_order(&fixture.caller, order.id),
            || fixture.service.cancel_ticket(&fixture.caller, ticket),
        );
        cancelled.unwrap();
        assert!(matches!(reason(&of_ticket), None | Some(Reason::TicketCancelled)));
        assert_eq!(fixture.sold(&ticket_type), 0);
        let tickets = &fixture.read_order(order.id).items[0].issued_tickets;
        assert!(tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_one_seat_is_freed_twice() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 3);
    fixture.try_order(&ticket_type, 1).unwrap();
    let (_folder, path) = fixture.into_file();
    let read = |database: &Database| database.value::<String>("SELECT status FROM tickets");
    read_then_write(&path, 2, read, |database, _, status| {
        if status != "CANCELLED" {
            let write = "UPDATE tickets SET status = 'CANCELLED'; UPDATE ticket_types SET sold = sold - 1";
            database.transaction(write);
        }
    });
    assert_eq!(Database::open(&path).sold_and_held(), (-1, 0));
}

#[test]
fn the_last_seat_is_either_issued_or_ordered() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for round in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(if round % 2 == 0 { 0 } else { 1250 }, 1);
        let (issued, ordered) =
            run_both(|| fixture.try_issue(ticket_type.id, 1), || fixture.try_order(&ticket_type, 1));
        let refused: Vec<_> = [reason(&issued), reason(&ordered)].into_iter().flatten().collect();
        assert_eq!(refused, [Reason::SoldOut]);
        assert_eq!(fixture.sold(&ticket_type) + fixture.reserved(&ticket_type), 1);
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_the_last_seat_is_issued_and_reserved() {
    let fixture = Fixture::new();
    fixture.new_ticket_type(1250, 1);
    let (_folder, path) = fixture.into_file();
    read_then_write(&path, 2, free_seats, |database, number, free| {
        take_seat_if(database, free, ["sold", "held"][number]);
    });
    assert_eq!(Database::open(&path).sold_and_held(), (1, 1));
}

#[test]
fn of_two_late_payments_for_one_seat_one_succeeds_and_one_is_refunded() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for _ in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(1250, 1);
        let first = fixture.try_order(&ticket_type, 1).unwrap().id;
        fixture.clock.advance(HOLD);
        let second = fixture.try_order(&ticket_type, 1).unwrap().id;
        fixture.clock.advance(HOLD);
        let pay = |id| fixture.service.payment_completed(&fixture.caller, id);
        let (one, other) = run_both(|| pay(first), || pay(second));
        let mut ends =
            [one.unwrap(), other.unwrap()].map(|order| (order.status, order.payment_gateway.unwrap().status));
        ends.sort_by_key(|(status, _)| status.to_string());
        let [completed, expired] = ends;
        assert_eq!(completed, (OrderStatus::Completed, PaymentStatus::Completed));
        assert_eq!(expired, (OrderStatus::Expired, PaymentStatus::Refunded));
        assert_eq!((fixture.sold(&ticket_type), fixture.reserved(&ticket_type)), (1, 0));
    }
    assert_eq!(fixture.refunds().len(), 25.min(ROUNDS));
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_both_late_payments_get_the_seat() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1);
    for _ in 0..2 {
        fixture.try_order(&ticket_type, 1).unwrap();
        fixture.clock.advance(HOLD);
    }
    fixture.service.run_maintenance().unwrap();
    let (_folder, path) = fixture.into_file();
    read_then_write(&path, 2, free_seats, |database, _, free| take_seat_if(database, free, "sold"));
    assert_eq!(Database::open(&path).sold_and_held(), (2, 0));
}

#[test]
fn an_order_paid_in_cash_and_by_gateway_at_once_keeps_one_payment() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    let mut marked = 0;
    for _ in 0..ROUNDS {
        let id = fixture.try_order(&ticket_type, 2).unwrap().id;
        let (by_hand, by_gateway) = run_both(
            || fixture.service.mark_order_paid(&fixture.caller, id, ManualMethod::Cash),
            || fixture.service.payment_completed(&fixture.caller, id),
        );
        assert_eq!(by_gateway.unwrap().status, OrderStatus::Completed);
        let order = fixture.read_order(id);
        assert_eq!(order.status, OrderStatus::Completed);
        assert_eq!(order.items[0].issued_tickets.len(), 2);
        match reason(&by_hand) {
            // The payment through the gateway came second: it is refunded.
            None => {
                assert_eq!(fixture.payment_status(id), Some(PaymentStatus::Refunded));
                marked += 1;
            }
            Some(reason) => {
                assert_eq!(reason, Reason::OrderNotPending);
                assert_eq!(fixture.payment_status(id), Some(PaymentStatus::Completed));
            }
        }
    }
    assert_eq!(fixture.database().value::<i64>("SELECT COUNT(*) FROM refunds"), marked);
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_an_order_paid_twice_sells_its_seats_twice() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    fixture.try_order(&ticket_type, 2).unwrap();
    let (_folder, path) = fixture.into_file();
    read_then_write(
        &path,
        2,
        |database| database.value::<String>(STATUS),
        |database, _, status| {
            if status == "PENDING" {
                let write = "UPDATE orders SET status = 'COMPLETED';
                    UPDATE ticket_types SET sold = sold + 2, held = held - 2";
                database.transaction(write);
            }
        },
    );
    assert_eq!(Database::open(&path).sold_and_held(), (4, -2));
}

#[test]
fn a_quantity_lowered_during_an_order_stays_above_the_taken_seats() {
    let fixture = Fixture::new();
    fixture.keep_event_open();
    for round in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(if round % 2 == 0 { 0 } else { 1250 }, 2);
        fixture.try_order(&ticket_type, 1).unwrap();
        let (lowered, ordered) =
            run_both(|| fixture.set_quantity(ticket_type.id, 1), || fixture.try_order(&ticket_type, 1));
        match (reason(&lowered), reason(&ordered)) {
            (None, Some(Reason::SoldOut)) | (Some(Reason::QuantityBelowSold), None) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(
            fixture.sold(&ticket_type) + fixture.reserved(&ticket_type),
            fixture.read_ticket_type(ticket_type.id).quantity
        );
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_the_quantity_falls_below_the_sold_seats() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 2);
    fixture.try_order(&ticket_type, 1).unwrap();
    let (_folder, path) = fixture.into_file();
    read_then_write(&path, 2, free_seats, |database, number, free| {
        if number == 0 {
            assert_eq!(free, 1);
            database.execute("UPDATE ticket_types SET quantity = 1", []);
        } else {
            take_seat_if(database, free, "sold");
        }
    });
    let (sold, _) = Database::open(&path).sold_and_held();
    assert_eq!((sold, Database::open(&path).value::<i64>("SELECT quantity FROM ticket_types")), (2, 1));
}

#[test]
fn five_of_sixteen_orders_use_a_code_that_is_limited_to_five() {
    let fixture = Fixture::new();
    for round in 0..ROUNDS {
        let ticket_type = fixture.new_ticket_type(if round % 2 == 0 { 1250 } else { 0 }, 100);
        let code = format!("FIVE-{round}");
        let discount = fixture.limited_discount(&code, 5, false);
        let results = run_at_once(16, |_| fixture.try_order_with_code(&ticket_type, 1, &code));
        let (accepted, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!((accepted.len(), refused.len(), fixture.discount_uses(&discount)), (5, 11, 5));
        for error in refused {
            let error = error.unwrap_err();
            assert_eq!(error.to_string(), "discountCode: Discount code usage limit reached");
        }
        // A refused order reserves no seat.
        assert_eq!(fixture.sold(&ticket_type) + fixture.reserved(&ticket_type), 5);
    }
    assert_consistent(&fixture.database());
}

#[test]
fn automatic_discounts_apply_up_to_their_limits_to_simultaneous_orders() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 10_000);
    for round in 0..ROUNDS {
        // Both save the same, so the older one applies first.
        let best = fixture.limited_discount(&format!("BEST-{round}"), 5, true);
        let next = fixture.limited_discount(&format!("NEXT-{round}"), 7, true);
        let orders = run_at_once(16, |_| fixture.try_order(&ticket_type, 1).unwrap());
        let with = |code: Option<&str>| orders.iter().filter(|order| order.discount_code.as_deref() == code).count();
        assert_eq!((with(Some(&best.code)), with(Some(&next.code)), with(None)), (5, 7, 4));
        assert_eq!((fixture.discount_uses(&best), fixture.discount_uses(&next)), (5, 7));
        for discount in [&best, &next] {
            // An event has at most 20 enabled ones.
            let disable = UpdateDiscount::default().is_active(false);
            fixture.service.update_discount(&fixture.caller, discount.id, disable).unwrap();
        }
        assert!(orders.iter().all(|order| order.discounted_amount.is_some() == order.discount_code.is_some()));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_sixteen_orders_use_a_code_for_five() {
    for auto_apply in [false, true] {
        let fixture = Fixture::new();
        fixture.limited_discount("FIVE", 5, auto_apply);
        let (_folder, path) = fixture.into_file();
        let left =
            format!("SELECT usage_limit - used_count FROM discounts WHERE auto_apply = {}", i64::from(auto_apply));
        read_then_write(
            &path,
            16,
            |database| database.value::<i64>(&left),
            |database, _, left| {
                if left >= 1 {
                    database.execute("UPDATE discounts SET used_count = used_count + 1", []);
                }
            },
        );
        assert_eq!(Database::open(&path).value::<i64>("SELECT used_count FROM discounts"), 16);
    }
}

#[test]
fn of_two_late_payments_for_one_use_one_succeeds_and_one_is_refunded() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    for round in 0..ROUNDS {
        let code = format!("ONCE-{round}");
        let discount = fixture.limited_discount(&code, 1, false);
        let late = || {
            let id = fixture.try_order_with_code(&ticket_type, 1, &code).unwrap().id;
            fixture.clock.advance(HOLD);
            id
        };
        let first = late();
        let second = late();
        let sold = fixture.sold(&ticket_type);
        let pay = |id| fixture.service.payment_completed(&fixture.caller, id);
        let (one, other) = run_both(|| pay(first), || pay(second));
        let mut ends =
            [one.unwrap(), other.unwrap()].map(|order| (order.status, order.payment_gateway.unwrap().status));
        ends.sort_by_key(|(status, _)| status.to_string());
        assert_eq!(ends[0], (OrderStatus::Completed, PaymentStatus::Completed));
        assert_eq!(ends[1], (OrderStatus::Expired, PaymentStatus::Refunded));
        assert_eq!(
            (fixture.discount_uses(&discount), fixture.sold(&ticket_type) - sold, fixture.reserved(&ticket_type)),
            (1, 1, 0)
        );
    }
    assert_consistent(&fixture.database());
}

#[test]
fn of_several_simultaneous_partial_refunds_only_those_are_made_that_fit_the_payment() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    for _ in 0..ROUNDS / 3 {
        let order = fixture.paid_order(&ticket_type, 2);
        let results = run_at_once(8, |_| fixture.refund_amount(order.id, eur(1000)));
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        // Two times 10.00 of 25.00.
        assert_eq!(refused, [Reason::RefundExceedsPayment; 6]);
        assert_eq!(fixture.service.get_order_balance(&fixture.caller, order.id).unwrap().sums.promised, eur(2000));
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_the_condition_more_is_refunded_than_was_paid() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    fixture.paid_order(&ticket_type, 2);
    fixture.skip_final_check();
    let (_folder, path) = fixture.into_file();
    let left = |database: &Database| database.value::<i64>("SELECT amount - promised FROM payments");
    read_then_write(&path, 8, left, |database, _, left| {
        if left >= 1000 {
            database.execute("UPDATE payments SET promised = promised + 1000", []);
        }
    });
    assert_eq!(left(&Database::open(&path)), 2500 - 8000);
}

#[test]
fn money_that_several_clerks_record_as_given_back_is_recorded_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    for _ in 0..ROUNDS / 3 {
        let order = fixture.order(&ticket_type, 2);
        fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).unwrap();
        fixture.service.cancel_order(&fixture.caller, order.id).unwrap();
        let request = MarkRefunded::all(RefundMethod::Cash);
        let results =
            run_at_once(8, |_| fixture.service.mark_order_refunded(&fixture.caller, order.id, request.clone()));
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::NoManualRefundDue; 7]);
        let entries = ListLedgerEntries::new().order(order.id);
        let entries = fixture.service.list_ledger_entries(&fixture.caller, entries).unwrap().data;
        assert_eq!(entries.iter().map(|entry| entry.amount).collect::<Vec<_>>(), [eur(-2500), eur(2500)]);
    }
    assert_consistent(&fixture.database());
}

#[test]
fn control_without_a_transaction_two_clerks_give_the_same_money_back() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    let order = fixture.order(&ticket_type, 2);
    fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).unwrap();
    fixture.service.cancel_order(&fixture.caller, order.id).unwrap();
    fixture.skip_final_check();
    let (_folder, path) = fixture.into_file();
    let owed = |database: &Database| database.value::<i64>("SELECT owed FROM payments");
    read_then_write(&path, 2, owed, |database, _, owed| {
        let write = "UPDATE payments SET returned = returned + ?1, owed = owed - ?1";
        database.execute(write, [owed]);
    });
    assert_eq!(owed(&Database::open(&path)), -2500);
}
