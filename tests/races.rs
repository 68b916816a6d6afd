//! Races: two or more callers at once want what only one can have. Each has a control, the same race run by hand-written
//! SQL that reads first and writes later, without the condition in its UPDATE: there it breaks, every time. So the race
//! is a real one, and it is the guard that keeps it from happening.

#[path = "common/load.rs"]
mod load;

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use load::{HOLD, NOON, Shop, assert_sound, at_once, both, counters, sql, unguarded, value};
use ticketing::{
    Amount, CheckInTicket, CreateDiscount, CreateOrder, Discount, IssueTickets, ListOrders, ListRefunds, NewCustomer,
    NewOrderItem, Order, OrderId, OrderStatus, PaymentStatus, Reason, RefundStatus, TicketStatus, TicketTypeId,
};

const ROUNDS: usize = 45;

/// What a control does: two (or more) connections read, and only when all have read does each write.
fn read_then_write<T: Send>(
    path: &Path,
    threads: usize,
    read: impl Fn(&rusqlite::Connection) -> T + Sync,
    write: impl Fn(&rusqlite::Connection, usize, T) + Sync,
) {
    let have_read = Barrier::new(threads);
    at_once(threads, |number| {
        let connection = unguarded(path);
        let seen = read(&connection);
        have_read.wait();
        write(&connection, number, seen);
    });
}

fn free_places(connection: &rusqlite::Connection) -> i64 {
    value(connection, "SELECT quantity - sold - held FROM ticket_types")
}

/// Takes a place where there seemed to be one.
fn sell_if(connection: &rusqlite::Connection, free: i64, column: &str) {
    if free >= 1 {
        connection.execute(&format!("UPDATE ticket_types SET {column} = {column} + 1"), []).unwrap();
    }
}

fn reason<T>(result: &ticketing::Result<T>) -> Option<Reason> {
    match result {
        Ok(_) => None,
        Err(error) => Some(error.reason().unwrap_or_else(|| panic!("no conflict: {error}"))),
    }
}

impl Shop {
    /// Gives the event a place that nobody takes: an event that is sold out refuses orders for another reason.
    fn keep_open(&self) {
        self.seats(0, 1);
    }

    fn read(&self, id: OrderId) -> Order {
        self.service.get_order(&self.caller, id).unwrap()
    }

    fn payment(&self, id: OrderId) -> Option<PaymentStatus> {
        self.read(id).payment_gateway.map(|payment| payment.status)
    }

    fn refunds(&self) -> Vec<(OrderId, RefundStatus)> {
        let refunds = self.service.list_refunds(&self.caller, ListRefunds::default()).unwrap().data;
        refunds.into_iter().map(|refund| (refund.order_id, refund.status)).collect()
    }

    fn issue(&self, seats: TicketTypeId) -> ticketing::Result<()> {
        let customer = NewCustomer::new("Press", "press@example.com");
        let request = IssueTickets { ticket_type_id: seats, customer, quantity: 1 };
        self.service.issue_tickets(&self.caller, request).map(drop)
    }

    /// A discount of ten percent for `limit` orders.
    fn discount(&self, code: &str, limit: i64, auto_apply: bool) -> Discount {
        let ten = Amount::new(10, 0);
        let mut new = CreateDiscount::percentage(self.event.id, code, ten, NOON, ticketing::Timestamp::MAX);
        (new.usage_limit, new.auto_apply) = (Some(limit), Some(auto_apply));
        self.service.create_discount(&self.caller, new).unwrap()
    }

    fn used(&self, of: &Discount) -> i64 {
        self.service.get_discount(&self.caller, of.id).unwrap().used_count
    }

    fn order_with(&self, seats: TicketTypeId, code: &str) -> ticketing::Result<Order> {
        let mut request = self.request(seats, 1);
        request.discount_code = Some(code.to_owned());
        self.service.create_order(&self.caller, request).map(|placed| placed.order)
    }

    fn held(&self, seats: TicketTypeId) -> i64 {
        let query = "SELECT held, id FROM ticket_types ORDER BY id";
        let connection = sql(&self.path);
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap();
        let position = self.ticket_types().iter().position(|id| *id == seats).unwrap();
        rows.map(Result::unwrap).nth(position).unwrap().0
    }

    fn ticket_types(&self) -> Vec<TicketTypeId> {
        let mut page = ticketing::ListTicketTypes::default();
        page.page.limit = 100;
        let found = self.service.list_ticket_types(&self.caller, self.event.id, page).unwrap().data;
        found.into_iter().map(|ticket_type| ticket_type.id).collect()
    }
}

#[test]
fn the_last_place_goes_to_one_of_sixteen() {
    let shop = Shop::open();
    shop.keep_open();
    for round in 0..ROUNDS {
        let price = if round % 2 == 0 { 0 } else { 1250 };
        let seats = shop.seats(price, 1);
        let results = at_once(16, |_| shop.order(seats, 1));
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::SoldOut; 15]);
        assert_eq!(shop.ticket_type(seats).sold, i64::from(price == 0));
        assert_eq!(shop.held(seats), i64::from(price > 0));
    }
    let orders = ListOrders { page: ticketing::PageRequest::first(100), ..Default::default() };
    assert_eq!(shop.service.list_orders(&shop.caller, orders).unwrap().data.len(), ROUNDS);
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_sixteen_get_the_last_place() {
    let shop = Shop::open();
    shop.seats(0, 1);
    let (_folder, path) = shop.into_file();
    read_then_write(&path, 16, free_places, |connection, _, free| sell_if(connection, free, "sold"));
    assert_eq!(counters(&sql(&path)), (16, 0));
}

fn three_of_each(shop: &Shop, types: [TicketTypeId; 2]) -> CreateOrder {
    let mut request = shop.request(types[0], 3);
    request.items.push(NewOrderItem { ticket_type_id: types[1], quantity: 3 });
    request
}

#[test]
fn of_two_orders_that_overlap_one_gets_everything_and_the_other_nothing() {
    let shop = Shop::open();
    for round in 0..ROUNDS {
        let price = if round % 2 == 0 { 0 } else { 1250 };
        // One place too few for both, of either type.
        let (one, other) = (shop.seats(price, 5), shop.seats(price, 5));
        let order = |types| shop.service.create_order(&shop.caller, three_of_each(&shop, types));
        let (first, second) = both(|| order([one, other]), || order([other, one]));
        let refused: Vec<_> = [&first, &second].into_iter().filter_map(reason).collect();
        assert_eq!(refused, [Reason::SoldOut]);
        for seats in [one, other] {
            let (sold, held) = (shop.ticket_type(seats).sold, shop.held(seats));
            assert_eq!((sold, held), if price == 0 { (3, 0) } else { (0, 3) });
        }
    }
    let orders = ListOrders { page: ticketing::PageRequest::first(100), ..Default::default() };
    assert_eq!(shop.service.list_orders(&shop.caller, orders).unwrap().data.len(), ROUNDS);
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_one_transaction_each_order_gets_half_and_nobody_all() {
    let shop = Shop::open();
    shop.seats(0, 5);
    shop.seats(0, 5);
    let (_folder, path) = shop.into_file();
    let types = "SELECT group_concat(id) FROM ticket_types";
    let took_first = Barrier::new(2);
    let complete: Vec<bool> = at_once(2, |number| {
        let connection = unguarded(&path);
        let ids = value::<String>(&connection, types);
        let mut ids: Vec<i64> = ids.split(',').map(|id| id.parse().unwrap()).collect();
        if number == 1 {
            ids.reverse();
        }
        let take = "UPDATE ticket_types SET sold = sold + 3 WHERE id = ?1 AND sold + 3 <= quantity";
        let first = connection.execute(take, [ids[0]]).unwrap();
        took_first.wait();
        let second = connection.execute(take, [ids[1]]).unwrap();
        first + second == 2
    });
    assert_eq!(complete, [false, false]);
    assert_eq!(value::<i64>(&sql(&path), "SELECT SUM(sold) FROM ticket_types"), 6);
}

#[test]
fn payment_against_cancel_ends_cancelled_with_the_money_back_and_the_place_free() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1);
    for _ in 0..ROUNDS {
        let id = shop.order(seats, 1).unwrap().id;
        let (paid, cancelled) =
            both(|| shop.service.payment_completed(&shop.caller, id), || shop.service.cancel_order(&shop.caller, id));
        assert!(paid.is_ok());
        assert!(!cancelled.unwrap().requires_manual_refund);
        let order = shop.read(id);
        assert_eq!(order.status, OrderStatus::Cancelled);
        assert_eq!(shop.payment(id), Some(PaymentStatus::Refunded));
        assert_eq!(shop.refunds()[0], (id, RefundStatus::Done));
        let tickets = &order.items[0].issued_tickets;
        assert!(tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
        assert_eq!(counters(&sql(&shop.path)), (0, 0));
    }
    assert_sound(&sql(&shop.path));
}

const STATUS: &str = "SELECT status FROM orders";

#[test]
fn control_without_the_condition_a_payment_and_a_cancel_both_give_up_the_one_held_place() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1);
    shop.order(seats, 1).unwrap();
    let (_folder, path) = shop.into_file();
    let writes = [
        "UPDATE orders SET status = 'COMPLETED'; UPDATE ticket_types SET sold = sold + 1, held = held - 1",
        "UPDATE orders SET status = 'CANCELLED'; UPDATE ticket_types SET held = held - 1",
    ];
    read_then_write(
        &path,
        2,
        |connection| value::<String>(connection, STATUS),
        |connection, number, status| {
            assert_eq!(status, "PENDING");
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {}; COMMIT", writes[number])).unwrap();
        },
    );
    // One place is sold, and one that is not there is held less than never.
    assert_eq!(counters(&sql(&path)), (1, -1));
}

#[test]
fn payment_against_expiry_leaves_the_place_to_exactly_one_buyer() {
    let shop = Shop::open();
    shop.keep_open();
    for _ in 0..ROUNDS {
        let seats = shop.seats(1250, 1);
        let first = shop.order(seats, 1).unwrap().id;
        // One millisecond before the hold ends.
        shop.clock.advance(HOLD - Duration::from_millis(1));
        let ((paid, taken), maintained) = both(
            || {
                both(
                    || shop.service.payment_completed(&shop.caller, first),
                    || {
                        shop.clock.advance(Duration::from_millis(1));
                        shop.order(seats, 1)
                    },
                )
            },
            || shop.service.run_maintenance(),
        );
        paid.unwrap();
        maintained.unwrap();
        match shop.read(first).status {
            OrderStatus::Completed => {
                assert_eq!(reason(&taken), Some(Reason::SoldOut));
                assert_eq!(shop.payment(first), Some(PaymentStatus::Completed));
                assert_eq!((shop.ticket_type(seats).sold, shop.held(seats)), (1, 0));
            }
            OrderStatus::Expired => {
                assert_eq!(taken.unwrap().status, OrderStatus::Pending);
                assert_eq!(shop.payment(first), Some(PaymentStatus::Refunded));
                assert_eq!((shop.ticket_type(seats).sold, shop.held(seats)), (0, 1));
            }
            other => panic!("{other}"),
        }
        // No test leaves the hold of its round to the next.
        shop.clock.advance(HOLD);
        shop.service.run_maintenance().unwrap();
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn a_hold_ends_at_its_instant_and_not_before() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1);
    let in_time = shop.order(seats, 1).unwrap().id;
    shop.clock.advance(HOLD - Duration::from_millis(1));
    assert_eq!(reason(&shop.order(seats, 1)), Some(Reason::SoldOut));
    assert_eq!(shop.service.payment_completed(&shop.caller, in_time).unwrap().status, OrderStatus::Completed);
    shop.service.cancel_order(&shop.caller, in_time).unwrap();

    shop.clock.set(NOON);
    let late = shop.order(seats, 1).unwrap().id;
    shop.clock.advance(HOLD);
    assert_eq!(shop.read(late).status, OrderStatus::Expired);
    let taker = shop.order(seats, 1).unwrap();
    let late = shop.service.payment_completed(&shop.caller, late).unwrap();
    assert_eq!(late.status, OrderStatus::Expired);
    assert_eq!(late.payment_gateway.unwrap().status, PaymentStatus::Refunded);
    assert_eq!(shop.read(taker.id).status, OrderStatus::Pending);
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_a_paid_place_is_sold_again_as_an_expired_one() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1);
    shop.order(seats, 1).unwrap();
    let (_folder, path) = shop.into_file();
    // The payer's clock is a millisecond before the end of the hold, and the taker's, who needs nothing but a place, at it.
    let writes = [
        "UPDATE orders SET status = 'COMPLETED'; UPDATE ticket_types SET sold = sold + 1, held = held - 1",
        "UPDATE orders SET status = 'EXPIRED'; UPDATE ticket_types SET held = held - 1;
         UPDATE ticket_types SET sold = sold + 1",
    ];
    read_then_write(
        &path,
        2,
        |connection| value::<String>(connection, STATUS),
        |connection, number, status| {
            assert_eq!(status, "PENDING");
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {}; COMMIT", writes[number])).unwrap();
        },
    );
    // Both have paid for the one place.
    assert_eq!(counters(&sql(&path)), (2, -1));
}

#[test]
fn of_scans_at_once_exactly_one_is_accepted_and_all_are_counted() {
    let shop = Shop::open();
    let seats = shop.seats(0, 1000);
    for round in 0..ROUNDS {
        let scans = 2 + round % 7;
        let ticket = shop.order(seats, 1).unwrap().items[0].issued_tickets[0].clone();
        let scan = |_| shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(ticket.code.clone()));
        let results = at_once(scans, scan);
        let refused: Vec<_> = results.iter().filter_map(reason).collect();
        assert_eq!(refused, vec![Reason::AlreadyCheckedIn; scans - 1]);
        let read = shop.service.get_ticket(&shop.caller, ticket.id).unwrap();
        assert_eq!(read.status, TicketStatus::CheckedIn);
        assert_eq!(read.scan_count, i64::try_from(scans).unwrap());
    }
}

#[test]
fn control_without_the_condition_two_enter_with_one_ticket_and_one_scan_is_lost() {
    let shop = Shop::open();
    let seats = shop.seats(0, 1);
    shop.order(seats, 1).unwrap();
    let (_folder, path) = shop.into_file();
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let read = |connection: &rusqlite::Connection| {
        (
            value::<String>(connection, "SELECT status FROM tickets"),
            value::<i64>(connection, "SELECT scan_count FROM tickets"),
        )
    };
    read_then_write(&path, 2, read, |connection, _, (status, scans)| {
        if status == "NOT_CHECKED_IN" {
            let update = "UPDATE tickets SET status = 'CHECKED_IN', scan_count = ?1";
            connection.execute(update, [scans + 1]).unwrap();
            inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    });
    assert_eq!(inside.into_inner(), 2);
    assert_eq!(value::<i64>(&sql(&path), "SELECT scan_count FROM tickets"), 1);
}

#[test]
fn a_ticket_cancelled_with_its_order_returns_its_place_once() {
    let shop = Shop::open();
    let seats = shop.seats(0, 3);
    for _ in 0..ROUNDS {
        let order = shop.order(seats, 2).unwrap();
        let ticket = order.items[0].issued_tickets[0].id;
        let (cancelled, of_ticket) = both(
            || shop.service.cancel_order(&shop.caller, order.id),
            || shop.service.cancel_ticket(&shop.caller, ticket),
        );
        cancelled.unwrap();
        assert!(matches!(reason(&of_ticket), None | Some(Reason::TicketCancelled)));
        assert_eq!(shop.ticket_type(seats).sold, 0);
        let tickets = &shop.read(order.id).items[0].issued_tickets;
        assert!(tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_one_place_is_returned_twice() {
    let shop = Shop::open();
    let seats = shop.seats(0, 3);
    shop.order(seats, 1).unwrap();
    let (_folder, path) = shop.into_file();
    let read = |connection: &rusqlite::Connection| value::<String>(connection, "SELECT status FROM tickets");
    read_then_write(&path, 2, read, |connection, _, status| {
        if status != "CANCELLED" {
            let write = "BEGIN IMMEDIATE; UPDATE tickets SET status = 'CANCELLED';
                UPDATE ticket_types SET sold = sold - 1; COMMIT";
            connection.execute_batch(write).unwrap();
        }
    });
    assert_eq!(counters(&sql(&path)), (-1, 0));
}

#[test]
fn the_last_place_is_either_issued_or_ordered() {
    let shop = Shop::open();
    shop.keep_open();
    for round in 0..ROUNDS {
        let seats = shop.seats(if round % 2 == 0 { 0 } else { 1250 }, 1);
        let (issued, ordered) = both(|| shop.issue(seats), || shop.order(seats, 1));
        let refused: Vec<_> = [reason(&issued), reason(&ordered)].into_iter().flatten().collect();
        assert_eq!(refused, [Reason::SoldOut]);
        assert_eq!(shop.ticket_type(seats).sold + shop.held(seats), 1);
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_the_last_place_is_issued_and_held() {
    let shop = Shop::open();
    shop.seats(1250, 1);
    let (_folder, path) = shop.into_file();
    read_then_write(&path, 2, free_places, |connection, number, free| {
        sell_if(connection, free, ["sold", "held"][number]);
    });
    assert_eq!(counters(&sql(&path)), (1, 1));
}

#[test]
fn of_two_late_payments_for_one_place_one_revives_its_order_and_the_other_is_refunded() {
    let shop = Shop::open();
    shop.keep_open();
    for _ in 0..ROUNDS {
        let seats = shop.seats(1250, 1);
        let first = shop.order(seats, 1).unwrap().id;
        shop.clock.advance(HOLD);
        let second = shop.order(seats, 1).unwrap().id;
        shop.clock.advance(HOLD);
        let pay = |id| shop.service.payment_completed(&shop.caller, id);
        let (one, other) = both(|| pay(first), || pay(second));
        let mut ends =
            [one.unwrap(), other.unwrap()].map(|order| (order.status, order.payment_gateway.unwrap().status));
        ends.sort_by_key(|(status, _)| status.to_string());
        let [completed, expired] = ends;
        assert_eq!(completed, (OrderStatus::Completed, PaymentStatus::Completed));
        assert_eq!(expired.0, OrderStatus::Expired);
        assert_eq!(expired.1, PaymentStatus::Refunded);
        assert_eq!((shop.ticket_type(seats).sold, shop.held(seats)), (1, 0));
    }
    assert_eq!(shop.refunds().len(), 25.min(ROUNDS));
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_both_late_payments_get_the_one_place() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1);
    for _ in 0..2 {
        shop.order(seats, 1).unwrap();
        shop.clock.advance(HOLD);
    }
    shop.service.run_maintenance().unwrap();
    let (_folder, path) = shop.into_file();
    read_then_write(&path, 2, free_places, |connection, _, free| sell_if(connection, free, "sold"));
    assert_eq!(counters(&sql(&path)), (2, 0));
}

#[test]
fn an_order_marked_paid_and_paid_at_once_has_its_tickets_once_and_keeps_one_payment() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1000);
    let mut marked = 0;
    for _ in 0..ROUNDS {
        let id = shop.order(seats, 2).unwrap().id;
        let (by_hand, by_gateway) = both(
            || shop.service.mark_order_paid(&shop.caller, id),
            || shop.service.payment_completed(&shop.caller, id),
        );
        assert_eq!(by_gateway.unwrap().status, OrderStatus::Completed);
        let order = shop.read(id);
        assert_eq!(order.status, OrderStatus::Completed);
        assert_eq!(order.items[0].issued_tickets.len(), 2);
        match reason(&by_hand) {
            // The gateway's money came second: it goes back.
            None => {
                assert_eq!(shop.payment(id), Some(PaymentStatus::Refunded));
                marked += 1;
            }
            Some(reason) => {
                assert_eq!(reason, Reason::OrderNotPending);
                assert_eq!(shop.payment(id), Some(PaymentStatus::Completed));
            }
        }
    }
    assert_eq!(value::<i64>(&sql(&shop.path), "SELECT COUNT(*) FROM refunds"), marked);
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_an_order_paid_twice_has_its_places_sold_twice() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1000);
    shop.order(seats, 2).unwrap();
    let (_folder, path) = shop.into_file();
    read_then_write(
        &path,
        2,
        |connection| value::<String>(connection, STATUS),
        |connection, _, status| {
            if status == "PENDING" {
                let write = "BEGIN IMMEDIATE; UPDATE orders SET status = 'COMPLETED';
                UPDATE ticket_types SET sold = sold + 2, held = held - 2; COMMIT";
                connection.execute_batch(write).unwrap();
            }
        },
    );
    assert_eq!(counters(&sql(&path)), (4, -2));
}

#[test]
fn a_quantity_lowered_while_the_place_is_ordered_never_falls_below_what_is_taken() {
    let shop = Shop::open();
    shop.keep_open();
    for round in 0..ROUNDS {
        let seats = shop.seats(if round % 2 == 0 { 0 } else { 1250 }, 2);
        shop.order(seats, 1).unwrap();
        let (lowered, ordered) = both(|| shop.set_quantity(seats, 1), || shop.order(seats, 1));
        match (reason(&lowered), reason(&ordered)) {
            (None, Some(Reason::SoldOut)) | (Some(Reason::QuantityBelowSold), None) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(shop.ticket_type(seats).sold + shop.held(seats), shop.ticket_type(seats).quantity);
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_the_quantity_falls_below_what_is_sold() {
    let shop = Shop::open();
    let seats = shop.seats(0, 2);
    shop.order(seats, 1).unwrap();
    let (_folder, path) = shop.into_file();
    read_then_write(&path, 2, free_places, |connection, number, free| {
        if number == 0 {
            assert_eq!(free, 1);
            connection.execute("UPDATE ticket_types SET quantity = 1", []).unwrap();
        } else {
            sell_if(connection, free, "sold");
        }
    });
    let (sold, _) = counters(&sql(&path));
    assert_eq!((sold, value::<i64>(&sql(&path), "SELECT quantity FROM ticket_types")), (2, 1));
}

#[test]
fn of_sixteen_orders_with_a_code_for_five_five_get_it() {
    let shop = Shop::open();
    for round in 0..ROUNDS {
        let seats = shop.seats(if round % 2 == 0 { 1250 } else { 0 }, 100);
        let code = format!("FIVE-{round}");
        let of = shop.discount(&code, 5, false);
        let results = at_once(16, |_| shop.order_with(seats, &code));
        let (taken, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!((taken.len(), refused.len(), shop.used(&of)), (5, 11, 5));
        for error in refused {
            let error = error.unwrap_err();
            assert_eq!(error.to_string(), "discountCode Discount code usage limit reached");
        }
        // What was refused holds no place.
        assert_eq!(shop.ticket_type(seats).sold + shop.held(seats), 5);
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn of_sixteen_orders_five_get_the_automatic_discount_for_five_and_the_others_the_next_best_while_it_lasts() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 10_000);
    for round in 0..ROUNDS {
        // Both take off as much, so the older one comes first.
        let best = shop.discount(&format!("BEST-{round}"), 5, true);
        let next = shop.discount(&format!("NEXT-{round}"), 7, true);
        let orders = at_once(16, |_| shop.order(seats, 1).unwrap());
        let with = |code: Option<&str>| orders.iter().filter(|order| order.discount_code.as_deref() == code).count();
        assert_eq!((with(Some(&best.code)), with(Some(&next.code)), with(None)), (5, 7, 4));
        assert_eq!((shop.used(&best), shop.used(&next)), (5, 7));
        assert!(orders.iter().all(|order| order.discounted_amount.is_some() == order.discount_code.is_some()));
    }
    assert_sound(&sql(&shop.path));
}

#[test]
fn control_without_the_condition_sixteen_use_what_is_for_five() {
    for auto_apply in [false, true] {
        let shop = Shop::open();
        shop.discount("FIVE", 5, auto_apply);
        let (_folder, path) = shop.into_file();
        let left =
            format!("SELECT usage_limit - used_count FROM discounts WHERE auto_apply = {}", i64::from(auto_apply));
        read_then_write(
            &path,
            16,
            |connection| value::<i64>(connection, &left),
            |connection, _, left| {
                if left >= 1 {
                    connection.execute("UPDATE discounts SET used_count = used_count + 1", []).unwrap();
                }
            },
        );
        assert_eq!(value::<i64>(&sql(&path), "SELECT used_count FROM discounts"), 16);
    }
}

#[test]
fn of_two_late_payments_for_one_use_one_revives_its_order_and_the_other_is_refunded() {
    let shop = Shop::open();
    let seats = shop.seats(1250, 1000);
    for round in 0..ROUNDS {
        let code = format!("ONCE-{round}");
        let of = shop.discount(&code, 1, false);
        let late = || {
            let id = shop.order_with(seats, &code).unwrap().id;
            shop.clock.advance(HOLD);
            id
        };
        let (first, second) = (late(), late());
        let sold = shop.ticket_type(seats).sold;
        let pay = |id| shop.service.payment_completed(&shop.caller, id);
        let (one, other) = both(|| pay(first), || pay(second));
        let mut ends =
            [one.unwrap(), other.unwrap()].map(|order| (order.status, order.payment_gateway.unwrap().status));
        ends.sort_by_key(|(status, _)| status.to_string());
        assert_eq!(ends[0], (OrderStatus::Completed, PaymentStatus::Completed));
        assert_eq!(ends[1], (OrderStatus::Expired, PaymentStatus::Refunded));
        assert_eq!((shop.used(&of), shop.ticket_type(seats).sold - sold, shop.held(seats)), (1, 1, 0));
    }
    assert_sound(&sql(&shop.path));
}
