//! What a service counts, and what it finds waiting in its file: each figure moves by exactly what was done.

mod common;
#[path = "common/outbox.rs"]
mod outbox;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use common::*;
use ticketing::{
    Change, CheckInTicket, Clock, CreateOrder, Error, EventStatus, NewOrderItem, OrderStatistics, OrderStatus, Reason,
    TicketingService, Timestamp, UpdateTicketType,
};

fn orders(shop: &Shop) -> OrderStatistics {
    shop.service.statistics().orders
}

/// Placed, completed, cancelled, expired.
fn moves(shop: &Shop) -> [u64; 4] {
    let OrderStatistics { placed, completed, cancelled, expired, .. } = orders(shop);
    [placed, completed, cancelled, expired]
}

fn run_sql(shop: &Shop, sql: &str) {
    rusqlite::Connection::open(shop.file()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_service_that_did_nothing_lists_the_common_refusals_with_zero() {
    let shop = Shop::new();
    let statistics = shop.service.statistics();
    assert_eq!(moves(&shop), [0; 4]);
    let refused = [
        Reason::EventNotOnSale,
        Reason::TicketTypeNotOnSale,
        Reason::SaleNotStarted,
        Reason::SaleEnded,
        Reason::SoldOut,
        Reason::MaxPerOrderExceeded,
    ];
    assert_eq!(statistics.orders.refused, refused.map(|reason| (reason, 0)));
    assert_eq!((statistics.scans.accepted, statistics.scans.unknown), (0, 0));
    assert_eq!(statistics.scans.refused.len(), 7);
    // The organization was made.
    assert_eq!((statistics.commits.done, statistics.commits.failed, statistics.commits.jobs_waiting), (1, 0, 0));
}

#[test]
fn orders_are_counted_by_what_becomes_of_them() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 5);
    shop.paid_order(&seat, 2);
    assert_eq!(moves(&shop), [1, 1, 0, 0]);

    let given_up = shop.order(&seat, 2);
    shop.service.cancel_order(&shop.caller, given_up.id).unwrap();
    assert_eq!(moves(&shop), [2, 1, 1, 0]);
    // Cancelled already: nothing happens.
    assert_eq!(reason(shop.service.cancel_order(&shop.caller, given_up.id)), Reason::OrderNotCancellable);
    assert_eq!(moves(&shop), [2, 1, 1, 0]);

    let late = shop.order(&seat, 3);
    assert_eq!(reason(shop.try_order(&seat, 1)), Reason::SoldOut);
    shop.let_holds_lapse();
    assert_eq!(shop.order_status(late.id), OrderStatus::Expired);
    assert_eq!(moves(&shop), [3, 1, 1, 0], "an expiry counts when it is written down");
    assert_eq!(shop.service.run_maintenance().unwrap().expired_orders, 1);
    assert_eq!(moves(&shop), [3, 1, 1, 1]);
    shop.service.payment_completed(&shop.caller, late.id).unwrap();
    shop.service.payment_completed(&shop.caller, late.id).unwrap();
    assert_eq!(moves(&shop), [3, 2, 1, 1], "the second notice of the payment does nothing");

    let free = shop.ticket_type(&event, 0, 10);
    let given = shop.order(&free, 1);
    assert_eq!(moves(&shop), [4, 3, 1, 1]);
    shop.service.cancel_order(&shop.caller, given.id).unwrap();
    assert_eq!(moves(&shop), [4, 3, 2, 1]);

    let other = shop.event();
    let chair = shop.ticket_type(&other, 1250, 10);
    shop.gateway.on_checkout(Mood::Refusing);
    assert!(matches!(shop.try_order(&chair, 1), Err(Error::PaymentGatewayFailed(_))));
    assert_eq!(moves(&shop), [5, 3, 3, 1], "an order without a checkout link is cancelled");
    shop.gateway.on_checkout(Mood::Helpful);
    shop.paid_order(&chair, 1);
    shop.order(&chair, 1);
    shop.order(&chair, 1);
    shop.move_event(other.id, EventStatus::Cancelled).unwrap();
    assert_eq!(moves(&shop), [8, 4, 5, 1], "the two that waited are cancelled with their event");
}

#[test]
fn orders_that_are_refused_are_counted_by_reason_and_wrong_requests_are_not() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 5);
    let hidden = shop.ticket_type_with(&event, |new| {
        new.status = Some(ticketing::TicketTypeStatus::DisplayAsUnavailable);
    });
    let later = shop.ticket_type_with(&event, |new| new.sale_start_date = Some(at("2026-06-02T00:00Z")));
    let earlier = shop.ticket_type_with(&event, |new| new.sale_end_date = Some(at("2026-06-01T00:00Z")));
    let draft = shop.event_with(|new| new.status = Some(EventStatus::Drafted));
    let of_draft = shop.ticket_type(&draft, 1250, 5);
    for (ticket_type, quantity, expected, times) in [
        (&seat, 6, Reason::SoldOut, 3),
        (&seat, 11, Reason::MaxPerOrderExceeded, 1),
        (&hidden, 1, Reason::TicketTypeNotOnSale, 2),
        (&later, 1, Reason::SaleNotStarted, 1),
        (&earlier, 1, Reason::SaleEnded, 1),
        (&of_draft, 1, Reason::EventNotOnSale, 1),
    ] {
        for _ in 0..times {
            assert_eq!(reason(shop.try_order(ticket_type, quantity)), expected);
        }
    }
    paths(shop.try_order(&seat, 0));
    let expected = [
        (Reason::EventNotOnSale, 1),
        (Reason::TicketTypeNotOnSale, 2),
        (Reason::SaleNotStarted, 1),
        (Reason::SaleEnded, 1),
        (Reason::SoldOut, 3),
        (Reason::MaxPerOrderExceeded, 1),
    ];
    assert_eq!(orders(&shop).refused, expected);
    assert_eq!(moves(&shop), [0; 4]);
}

#[test]
fn what_is_undone_inside_of_a_transaction_is_not_counted() {
    let shop = Shop::new();
    let event = shop.event();
    let (seat, chair) = (shop.ticket_type(&event, 1250, 1), shop.ticket_type(&event, 1250, 1));
    let mut both = CreateOrder::new(event.id, ada(), seat.id, 1);
    both.items.push(NewOrderItem { ticket_type_id: chair.id, quantity: 1 });
    let both = shop.service.create_order(&shop.caller, both).unwrap().order;
    shop.let_holds_lapse();
    shop.service.run_maintenance().unwrap();
    shop.paid_order(&chair, 1);
    shop.order(&seat, 1);
    shop.let_holds_lapse();
    assert_eq!(moves(&shop), [3, 1, 0, 1]);
    // The late payment finds the seat, whose hold has run out, and then no chair: the seat's order does not expire by that.
    shop.service.payment_completed(&shop.caller, both.id).unwrap();
    assert_eq!(shop.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(moves(&shop), [3, 1, 0, 1]);
    shop.service.run_maintenance().unwrap();
    assert_eq!(moves(&shop), [3, 1, 0, 2]);
}

#[test]
fn a_commit_that_fails_is_counted_and_nothing_that_was_in_it() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 1);
    let free = shop.ticket_type(&event, 0, 5);
    let ticket = shop.issue(&free, 1).remove(0);
    // A debt that is noticed when the transaction is to be committed.
    run_sql(
        &shop,
        "CREATE TABLE debts (id INTEGER REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER debt AFTER INSERT ON orders BEGIN INSERT INTO debts VALUES (0); END;
        CREATE TRIGGER debt_of_scans AFTER UPDATE ON tickets BEGIN INSERT INTO debts VALUES (0); END;",
    );
    let before = shop.service.statistics();
    assert!(matches!(shop.try_order(&seat, 1), Err(Error::Store(_))));
    assert!(matches!(shop.try_order(&free, 1), Err(Error::Store(_))));
    let scan = CheckInTicket::new(&ticket.code);
    assert!(matches!(shop.service.check_in_ticket(&shop.caller, scan.clone()), Err(Error::Store(_))));
    let mut after = shop.service.statistics();
    assert_eq!(after.commits.failed, 3);
    after.commits.failed = 0;
    assert_eq!(after, before);

    run_sql(&shop, "DROP TRIGGER debt; DROP TRIGGER debt_of_scans");
    shop.order(&free, 1);
    shop.service.check_in_ticket(&shop.caller, scan).unwrap();
    assert_eq!(moves(&shop), [1, 1, 0, 0]);
    let after = shop.service.statistics();
    assert_eq!((after.scans.accepted, after.commits.failed), (1, 3));
    assert_eq!(after.commits.done, before.commits.done + 2);
}

#[test]
fn scans_are_counted_by_outcome() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 100);
    let tickets = shop.issue(&seat, 10);
    let scan_at = |code: &str, event| {
        shop.service.check_in_ticket(&shop.caller, CheckInTicket { code: code.to_owned(), event_id: event })
    };
    let scan = |code: &str| scan_at(code, None);
    for ticket in &tickets[..3] {
        scan(&ticket.code).unwrap();
    }
    assert_eq!(reason(scan(&tickets[0].code)), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&tickets[1].code)), Reason::AlreadyCheckedIn);
    let elsewhere = shop.event();
    assert_eq!(reason(scan_at(&tickets[3].code, Some(elsewhere.id))), Reason::WrongEvent);
    shop.service.cancel_ticket(&shop.caller, tickets[4].id).unwrap();
    assert_eq!(reason(scan(&tickets[4].code)), Reason::TicketCancelled);
    let limit = |change: UpdateTicketType| shop.service.update_ticket_type(&shop.caller, seat.id, change).unwrap();
    limit(UpdateTicketType { valid_from: Change::Set(Some(at("2026-06-02T00:00Z"))), ..Default::default() });
    for _ in 0..4 {
        assert_eq!(reason(scan(&tickets[5].code)), Reason::NotYetValid);
    }
    limit(UpdateTicketType {
        valid_from: Change::Set(None),
        valid_until: Change::Set(Some(at("2026-06-01T00:00Z"))),
        ..Default::default()
    });
    assert_eq!(reason(scan(&tickets[5].code)), Reason::NoLongerValid);
    limit(UpdateTicketType {
        valid_until: Change::Set(None),
        allowed_dates: Change::Set(vec![at("2026-06-09T12:00Z")]),
        ..Default::default()
    });
    assert_eq!(reason(scan(&tickets[5].code)), Reason::NotValidToday);
    shop.move_event(event.id, EventStatus::Cancelled).unwrap();
    assert_eq!(reason(scan(&tickets[5].code)), Reason::EventCancelled);
    is_not_found(scan("00000000000000000000"));
    let stranger = shop.stranger();
    is_not_found(shop.service.check_in_ticket(&stranger, CheckInTicket::new(&tickets[0].code)));
    // None of these is a scan of a ticket.
    paths(scan(""));
    shop.service.check_out_ticket(&shop.caller, CheckInTicket::new(&tickets[0].code)).unwrap();
    is_not_found(shop.service.check_out_ticket(&shop.caller, CheckInTicket::new("00000000000000000000")));
    shop.service.get_ticket_by_code(&shop.caller, &tickets[0].code).unwrap();

    let scans = shop.service.statistics().scans;
    assert_eq!((scans.accepted, scans.unknown), (3, 2));
    let expected = [
        (Reason::TicketCancelled, 1),
        (Reason::AlreadyCheckedIn, 2),
        (Reason::WrongEvent, 1),
        (Reason::EventCancelled, 1),
        (Reason::NotYetValid, 4),
        (Reason::NoLongerValid, 1),
        (Reason::NotValidToday, 1),
    ];
    assert_eq!(scans.refused, expected);
}

/// A clock that can hold up whoever asks it for the time, and of which each look takes 3 milliseconds.
#[derive(Debug, Clone, Default)]
struct SlowClock(Arc<Slow>);

#[derive(Debug, Default)]
struct Slow {
    looks: AtomicU64,
    held_up: AtomicBool,
    open: Mutex<bool>,
    opened: Condvar,
}

impl SlowClock {
    fn hold_up_the_next(&self) {
        *self.0.open.lock().unwrap() = false;
        self.0.held_up.store(true, Ordering::SeqCst);
    }

    fn is_holding_up(&self) -> bool {
        !self.0.held_up.load(Ordering::SeqCst)
    }

    fn let_go(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }
}

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        if self.0.held_up.swap(false, Ordering::SeqCst) {
            drop(self.0.opened.wait_while(self.0.open.lock().unwrap(), |open| !*open).unwrap());
        }
        at(NOW)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(3 * self.0.looks.fetch_add(1, Ordering::SeqCst))
    }
}

/// Waits until it is so: a moment, or as long as a busy machine takes.
fn wait_until(what: impl Fn() -> bool) {
    for _ in 0..6000 {
        if what() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it did not come to be");
}

#[test]
fn commits_are_counted_with_their_jobs_and_their_time_and_jobs_while_they_wait() {
    let clock = SlowClock::default();
    let shop = Shop::with(&FakeGateway::new(), |builder| builder.clock(clock.clone()));
    let event = shop.event();
    let view = || shop.service.record_page_view(&shop.caller, event.id).unwrap();
    let before = shop.service.statistics().commits;
    assert_eq!(before.done, 2, "the organization and the event");
    (0..5).for_each(|_| view());
    let alone = shop.service.statistics().commits;
    assert_eq!(alone.done, 7);
    assert_eq!(alone.jobs.buckets[0], (1.0, 7));
    assert!((alone.jobs.sum - 7.0).abs() < 1e-9);
    // From one look at the clock to the next: 3 milliseconds each.
    assert_eq!(alone.seconds.count(), 7);
    assert!((alone.seconds.sum - 0.021).abs() < 1e-9);
    assert!(alone.seconds.buckets.contains(&(0.005, 7)) && alone.seconds.buckets.contains(&(0.0025, 0)));

    // One caller is held up inside of its work; three more come meanwhile, and are committed with it.
    clock.hold_up_the_next();
    std::thread::scope(|scope| {
        scope.spawn(view);
        wait_until(|| clock.is_holding_up());
        for number in 1..=3 {
            scope.spawn(view);
            wait_until(|| shop.service.statistics().commits.jobs_waiting == number);
        }
        assert_eq!(shop.service.statistics().commits.done, 7);
        clock.let_go();
    });
    let together = shop.service.statistics().commits;
    assert_eq!((together.done, together.jobs_waiting, together.failed), (8, 0, 0));
    let jobs: Vec<_> = together.jobs.buckets.iter().filter(|(_, commits)| *commits > 0).copied().collect();
    assert_eq!(jobs, [(1.0, 7), (4.0, 1)]);
    assert!((together.jobs.sum - 11.0).abs() < 1e-9);
}

#[test]
fn a_clock_that_panics_ends_no_commit() {
    #[derive(Debug)]
    struct Broken;
    impl Clock for Broken {
        fn now(&self) -> Timestamp {
            at(NOW)
        }

        fn monotonic(&self) -> Duration {
            panic!("no time, as it was told to")
        }
    }
    let shop = Shop::with(&FakeGateway::new(), |builder| builder.clock(Broken));
    shop.event();
    let commits = shop.service.statistics().commits;
    assert_eq!((commits.done, commits.seconds.count(), commits.seconds.sum.to_bits()), (2, 2, 0));
}

#[test]
fn held_places_are_those_of_unpaid_orders_whose_hold_has_not_run_out() {
    let shop = Shop::new();
    let held = || shop.service.backlog().unwrap().held_places;
    let event = shop.event();
    let (seat, chair) = (shop.ticket_type(&event, 1250, 100), shop.ticket_type(&event, 0, 100));
    assert_eq!(held(), 0);
    shop.order(&seat, 3);
    shop.order(&chair, 5); // costs nothing: sold, not held
    shop.issue(&seat, 2);
    assert_eq!(held(), 3);
    shop.clock.advance(HOLD / 2);
    let paid = shop.order(&seat, 4);
    let given_up = shop.order(&seat, 10);
    assert_eq!(held(), 17);
    shop.service.cancel_order(&shop.caller, given_up.id).unwrap();
    assert_eq!(held(), 7);
    shop.clock.advance(HOLD / 2);
    assert_eq!(held(), 4, "the first hold has run out, though nobody has written that down");
    shop.service.run_maintenance().unwrap();
    assert_eq!(held(), 4);
    shop.service.payment_completed(&shop.caller, paid.id).unwrap();
    assert_eq!(held(), 0);
}

#[test]
fn refunds_are_due_until_the_gateway_answers_and_those_that_it_refused_stay_counted() {
    let shop = Shop::new();
    let refunds = || {
        let backlog = shop.service.backlog().unwrap();
        (backlog.refunds_due, backlog.refunds_refused)
    };
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 100);
    let cancel_paid = || {
        let paid = shop.paid_order(&seat, 1);
        shop.service.cancel_order(&shop.caller, paid.id).unwrap();
    };
    cancel_paid();
    assert_eq!(refunds(), (0, 0), "the gateway gave the money back at once");
    shop.gateway.on_refund(Mood::Unavailable);
    cancel_paid();
    cancel_paid();
    assert_eq!(refunds(), (2, 0));
    shop.gateway.on_refund(Mood::Refusing);
    cancel_paid();
    assert_eq!(refunds(), (2, 1));
    shop.gateway.on_refund(Mood::Helpful);
    shop.clock.advance(Duration::from_mins(1));
    shop.service.run_maintenance().unwrap();
    assert_eq!(refunds(), (0, 1));
}

#[test]
fn webhooks_wait_until_they_are_sent_and_are_due_where_their_time_has_come() {
    let shop = Shop::new();
    let backlog = || {
        let backlog = shop.service.backlog().unwrap();
        (backlog.webhooks_waiting, backlog.webhooks_due, backlog.webhook_oldest_due)
    };
    assert_eq!(backlog(), (0, 0, None));
    let file = rusqlite::Connection::open(shop.file()).unwrap();
    let (stranger, secs) = (shop.stranger(), Duration::from_secs);
    outbox::listen(&shop.file(), shop.caller.organization(), &outbox::ALL, true);
    outbox::listen(&shop.file(), stranger.organization(), &outbox::ALL, true);
    let free = shop.ticket_type(&shop.event(), 0, 100);
    shop.order(&free, 2);
    assert_eq!(backlog(), (3, 3, Some(secs(0))));
    shop.clock.advance(secs(90));
    shop.issue(&free, 1);
    assert_eq!(backlog(), (4, 4, Some(secs(90))));

    // One was sent; one failed, and is to be sent again in five seconds: it waits, and is not due before.
    let rows = outbox::queued(&file);
    let now = shop.clock.now();
    outbox::attempted(&file, rows[0].id, now, true);
    outbox::attempted(&file, rows[1].id, now.plus(secs(5)), false);
    assert_eq!(backlog(), (3, 2, Some(secs(90))));
    outbox::attempted(&file, rows[2].id, now, true);
    assert_eq!(backlog(), (2, 1, Some(secs(0))));
    shop.clock.advance(secs(4));
    assert_eq!(backlog(), (2, 1, Some(secs(4))));
    shop.clock.advance(secs(1));
    assert_eq!(backlog(), (2, 2, Some(secs(5))));

    // What waits for an endpoint that is disabled cannot be sent.
    file.execute("UPDATE webhook_endpoints SET enabled = 0", []).unwrap();
    assert_eq!(backlog(), (2, 0, None));
    file.execute("UPDATE webhook_endpoints SET enabled = 1", []).unwrap();
    for row in &rows[1..] {
        if row.id != rows[2].id {
            outbox::attempted(&file, row.id, shop.clock.now(), true);
        }
    }
    assert_eq!(backlog(), (0, 0, None));
}

#[test]
fn each_service_counts_for_itself_and_all_of_them_find_the_same_backlog() {
    let shop = Shop::new();
    let event = shop.event();
    let seat = shop.ticket_type(&event, 1250, 100);
    let second = shop.second();
    shop.order(&seat, 2);
    let caller = shop.stranger();
    let other = shop.service.create_event(&caller, new_event(|_| {})).unwrap();
    let chair =
        shop.service.create_ticket_type(&caller, other.id, ticketing::CreateTicketType::new("Chair", eur(100), 9));
    let request = CreateOrder::new(other.id, ada(), chair.unwrap().id, 3);
    shop.service.create_order(&caller, request).unwrap();

    let statistics = second.statistics();
    assert_eq!((statistics.orders.placed, statistics.commits.done), (0, 0));
    assert_eq!(orders(&shop).placed, 2, "of both organizations");
    for service in [&shop.service, &second] {
        let backlog = service.backlog().unwrap();
        assert_eq!(backlog.held_places, 5);
        assert_eq!(backlog.wal_bytes, std::fs::metadata(shop.file().with_extension("db-wal")).unwrap().len());
        assert!(backlog.wal_bytes > 0);
    }
}

#[cfg(unix)]
#[test]
fn the_log_of_a_file_behind_a_link_is_found_beside_the_file() {
    let shop = Shop::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    std::os::unix::fs::symlink(shop.file(), &link).unwrap();
    let service = TicketingService::open(link).unwrap();
    assert_eq!(service.backlog().unwrap(), shop.service.backlog().unwrap());
    assert!(service.backlog().unwrap().wal_bytes > 0);
}

#[test]
fn a_store_whose_readers_are_all_busy_has_no_backlog_to_tell_but_its_statistics() {
    let shop = Shop::with(&FakeGateway::new(), |builder| builder.readers(1));
    let service: TicketingService = shop.service.clone();
    let told = service.on_one_snapshot(|| {
        let other = shop.service.clone();
        std::thread::spawn(move || (other.backlog(), other.statistics().commits.done)).join().unwrap()
    });
    let (backlog, commits) = told.unwrap();
    assert!(matches!(backlog, Err(Error::Unavailable(_))), "{backlog:?}");
    assert_eq!(commits, 1);
    assert_eq!(shop.service.backlog().unwrap().held_places, 0);
}
