//! What a service counts, and what it finds waiting in its file: each figure moves by exactly what was done.

use crate::common::outbox;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::*;
use ticketing::{
    Change, CheckInTicket, Clock, CreateOrder, Error, EventStatus, NewOrderItem, OrderStatistics, OrderStatus, Reason,
    TicketingService, Timestamp, UpdateTicketType,
};

fn orders(fixture: &Fixture) -> OrderStatistics {
    fixture.service.statistics().orders
}

/// Placed, completed, cancelled, expired.
fn moves(fixture: &Fixture) -> [u64; 4] {
    let OrderStatistics { placed, completed, cancelled, expired, .. } = orders(fixture);
    [placed, completed, cancelled, expired]
}

fn run_sql(fixture: &Fixture, sql: &str) {
    fixture.database().run(sql);
}

#[test]
fn a_service_that_did_nothing_lists_the_common_refusals_with_zero() {
    let fixture = Fixture::new();
    let statistics = fixture.service.statistics();
    assert_eq!(moves(&fixture), [0; 4]);
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
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 5);
    fixture.paid_order(&seat, 2);
    assert_eq!(moves(&fixture), [1, 1, 0, 0]);

    let given_up = fixture.order(&seat, 2);
    fixture.service.cancel_order(&fixture.caller, given_up.id).unwrap();
    assert_eq!(moves(&fixture), [2, 1, 1, 0]);
    // Cancelled already: nothing happens.
    assert_eq!(reason(fixture.service.cancel_order(&fixture.caller, given_up.id)), Reason::OrderNotCancellable);
    assert_eq!(moves(&fixture), [2, 1, 1, 0]);

    let late = fixture.order(&seat, 3);
    assert_eq!(reason(fixture.try_order(&seat, 1)), Reason::SoldOut);
    fixture.expire_holds();
    assert_eq!(fixture.order_status(late.id), OrderStatus::Expired);
    assert_eq!(moves(&fixture), [3, 1, 1, 0], "an expiry counts when it is written down");
    assert_eq!(fixture.service.run_maintenance().unwrap().expired_orders, 1);
    assert_eq!(moves(&fixture), [3, 1, 1, 1]);
    fixture.service.payment_completed(&fixture.caller, late.id).unwrap();
    fixture.service.payment_completed(&fixture.caller, late.id).unwrap();
    assert_eq!(moves(&fixture), [3, 2, 1, 1], "the second notice of the payment does nothing");

    let free = fixture.ticket_type(&event, 0, 10);
    let given = fixture.order(&free, 1);
    assert_eq!(moves(&fixture), [4, 3, 1, 1]);
    fixture.service.cancel_order(&fixture.caller, given.id).unwrap();
    assert_eq!(moves(&fixture), [4, 3, 2, 1]);

    let other = fixture.event();
    let chair = fixture.ticket_type(&other, 1250, 10);
    fixture.gateway.on_checkout(GatewayBehavior::Refuse);
    assert!(matches!(fixture.try_order(&chair, 1), Err(Error::PaymentGatewayFailed(_))));
    assert_eq!(moves(&fixture), [5, 3, 3, 1], "an order without a checkout link is cancelled");
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    fixture.paid_order(&chair, 1);
    fixture.order(&chair, 1);
    fixture.order(&chair, 1);
    fixture.set_event_status(other.id, EventStatus::Cancelled).unwrap();
    assert_eq!(moves(&fixture), [8, 4, 5, 1], "the two that waited are cancelled with their event");
}

#[test]
fn orders_that_are_refused_are_counted_by_reason_and_wrong_requests_are_not() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 5);
    let hidden = fixture.ticket_type_with(&event, |new| {
        new.status = Some(ticketing::TicketTypeStatus::DisplayAsUnavailable);
    });
    let later = fixture.ticket_type_with(&event, |new| new.sale_start_date = Some(at("2026-06-02T00:00Z")));
    let earlier = fixture.ticket_type_with(&event, |new| new.sale_end_date = Some(at("2026-06-01T00:00Z")));
    let draft = fixture.event_with(|new| new.status = Some(EventStatus::Drafted));
    let of_draft = fixture.ticket_type(&draft, 1250, 5);
    for (ticket_type, quantity, expected, times) in [
        (&seat, 6, Reason::SoldOut, 3),
        (&seat, 11, Reason::MaxPerOrderExceeded, 1),
        (&hidden, 1, Reason::TicketTypeNotOnSale, 2),
        (&later, 1, Reason::SaleNotStarted, 1),
        (&earlier, 1, Reason::SaleEnded, 1),
        (&of_draft, 1, Reason::EventNotOnSale, 1),
    ] {
        for _ in 0..times {
            assert_eq!(reason(fixture.try_order(ticket_type, quantity)), expected);
        }
    }
    paths(fixture.try_order(&seat, 0));
    let expected = [
        (Reason::EventNotOnSale, 1),
        (Reason::TicketTypeNotOnSale, 2),
        (Reason::SaleNotStarted, 1),
        (Reason::SaleEnded, 1),
        (Reason::SoldOut, 3),
        (Reason::MaxPerOrderExceeded, 1),
    ];
    assert_eq!(orders(&fixture).refused, expected);
    assert_eq!(moves(&fixture), [0; 4]);
}

#[test]
fn what_is_undone_inside_of_a_transaction_is_not_counted() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (seat, chair) = (fixture.ticket_type(&event, 1250, 1), fixture.ticket_type(&event, 1250, 1));
    let mut both = CreateOrder::new(event.id, new_customer(), seat.id, 1);
    both.items.push(NewOrderItem { ticket_type_id: chair.id, quantity: 1 });
    let both = fixture.service.create_order(&fixture.caller, both).unwrap().order;
    fixture.expire_holds();
    fixture.service.run_maintenance().unwrap();
    fixture.paid_order(&chair, 1);
    fixture.order(&seat, 1);
    fixture.expire_holds();
    assert_eq!(moves(&fixture), [3, 1, 0, 1]);
    // The late payment finds the seat, whose hold has run out, and then no chair: the seat's order does not expire by
    // that.
    fixture.service.payment_completed(&fixture.caller, both.id).unwrap();
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(moves(&fixture), [3, 1, 0, 1]);
    fixture.service.run_maintenance().unwrap();
    assert_eq!(moves(&fixture), [3, 1, 0, 2]);
}

#[test]
fn a_commit_that_fails_is_counted_and_nothing_that_was_in_it() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 1);
    let free = fixture.ticket_type(&event, 0, 5);
    let ticket = fixture.issue(&free, 1).remove(0);
    // A debt that is noticed when the transaction is to be committed.
    run_sql(
        &fixture,
        "CREATE TABLE debts (id INTEGER REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER debt AFTER INSERT ON orders BEGIN INSERT INTO debts VALUES (0); END;
        CREATE TRIGGER debt_of_scans AFTER UPDATE ON tickets BEGIN INSERT INTO debts VALUES (0); END;",
    );
    let before = fixture.service.statistics();
    assert!(matches!(fixture.try_order(&seat, 1), Err(Error::Store(_))));
    assert!(matches!(fixture.try_order(&free, 1), Err(Error::Store(_))));
    let scan = CheckInTicket::new(&ticket.code);
    assert!(matches!(fixture.service.check_in_ticket(&fixture.caller, scan.clone()), Err(Error::Store(_))));
    let mut after = fixture.service.statistics();
    assert_eq!(after.commits.failed, 3);
    after.commits.failed = 0;
    assert_eq!(after, before);

    run_sql(&fixture, "DROP TRIGGER debt; DROP TRIGGER debt_of_scans");
    fixture.order(&free, 1);
    fixture.service.check_in_ticket(&fixture.caller, scan).unwrap();
    assert_eq!(moves(&fixture), [1, 1, 0, 0]);
    let after = fixture.service.statistics();
    assert_eq!((after.scans.accepted, after.commits.failed), (1, 3));
    assert_eq!(after.commits.done, before.commits.done + 2);
}

#[test]
fn scans_are_counted_by_outcome() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let tickets = fixture.issue(&seat, 10);
    let scan_at = |code: &str, event| {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket { code: code.to_owned(), event_id: event })
    };
    let scan = |code: &str| scan_at(code, None);
    for ticket in &tickets[..3] {
        scan(&ticket.code).unwrap();
    }
    assert_eq!(reason(scan(&tickets[0].code)), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&tickets[1].code)), Reason::AlreadyCheckedIn);
    let elsewhere = fixture.event();
    assert_eq!(reason(scan_at(&tickets[3].code, Some(elsewhere.id))), Reason::WrongEvent);
    fixture.service.cancel_ticket(&fixture.caller, tickets[4].id).unwrap();
    assert_eq!(reason(scan(&tickets[4].code)), Reason::TicketCancelled);
    let limit =
        |change: UpdateTicketType| fixture.service.update_ticket_type(&fixture.caller, seat.id, change).unwrap();
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
    fixture.set_event_status(event.id, EventStatus::Cancelled).unwrap();
    assert_eq!(reason(scan(&tickets[5].code)), Reason::EventCancelled);
    assert_not_found(scan("00000000000000000000"));
    let stranger = fixture.other_organization();
    assert_not_found(fixture.service.check_in_ticket(&stranger, CheckInTicket::new(&tickets[0].code)));
    // None of these is a scan of a ticket.
    paths(scan(""));
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&tickets[0].code)).unwrap();
    assert_not_found(fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new("00000000000000000000")));
    fixture.service.get_ticket_by_code(&fixture.caller, &tickets[0].code).unwrap();

    let scans = fixture.service.statistics().scans;
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
    let fixture = Fixture::with(|builder| builder.clock(clock.clone()));
    let event = fixture.event();
    let view = || fixture.service.record_page_view(&fixture.caller, event.id).unwrap();
    let before = fixture.service.statistics().commits;
    assert_eq!(before.done, 2, "the organization and the event");
    (0..5).for_each(|_| view());
    let alone = fixture.service.statistics().commits;
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
            wait_until(|| fixture.service.statistics().commits.jobs_waiting == number);
        }
        assert_eq!(fixture.service.statistics().commits.done, 7);
        clock.let_go();
    });
    let together = fixture.service.statistics().commits;
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
    let fixture = Fixture::with(|builder| builder.clock(Broken));
    fixture.event();
    let commits = fixture.service.statistics().commits;
    assert_eq!((commits.done, commits.seconds.count(), commits.seconds.sum.to_bits()), (2, 2, 0));
}

#[test]
fn held_places_are_those_of_unpaid_orders_whose_hold_has_not_run_out() {
    let fixture = Fixture::new();
    let held = || fixture.service.backlog().unwrap().held_places;
    let event = fixture.event();
    let (seat, chair) = (fixture.ticket_type(&event, 1250, 100), fixture.ticket_type(&event, 0, 100));
    assert_eq!(held(), 0);
    fixture.order(&seat, 3);
    fixture.order(&chair, 5); // costs nothing: sold, not held
    fixture.issue(&seat, 2);
    assert_eq!(held(), 3);
    fixture.clock.advance(HOLD / 2);
    let paid = fixture.order(&seat, 4);
    let given_up = fixture.order(&seat, 10);
    assert_eq!(held(), 17);
    fixture.service.cancel_order(&fixture.caller, given_up.id).unwrap();
    assert_eq!(held(), 7);
    fixture.clock.advance(HOLD / 2);
    assert_eq!(held(), 4, "the first hold has run out, though nobody has written that down");
    fixture.service.run_maintenance().unwrap();
    assert_eq!(held(), 4);
    fixture.service.payment_completed(&fixture.caller, paid.id).unwrap();
    assert_eq!(held(), 0);
}

#[test]
fn refunds_are_due_until_the_gateway_answers_and_those_that_it_refused_stay_counted() {
    let fixture = Fixture::new();
    let refunds = || {
        let backlog = fixture.service.backlog().unwrap();
        (backlog.refunds_due, backlog.refunds_refused)
    };
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let cancel_paid = || {
        let paid = fixture.paid_order(&seat, 1);
        fixture.service.cancel_order(&fixture.caller, paid.id).unwrap();
    };
    cancel_paid();
    assert_eq!(refunds(), (0, 0), "the gateway gave the money back at once");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    cancel_paid();
    cancel_paid();
    assert_eq!(refunds(), (2, 0));
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    cancel_paid();
    assert_eq!(refunds(), (2, 1));
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.run_maintenance().unwrap();
    assert_eq!(refunds(), (0, 1));
}

#[test]
fn webhooks_wait_until_they_are_sent_and_are_due_where_their_time_has_come() {
    let fixture = Fixture::new();
    let backlog = || {
        let backlog = fixture.service.backlog().unwrap();
        (backlog.webhooks_waiting, backlog.webhooks_due, backlog.webhook_oldest_due)
    };
    assert_eq!(backlog(), (0, 0, None));
    let file = fixture.database();
    let (stranger, secs) = (fixture.other_organization(), Duration::from_secs);
    outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &outbox::ALL_NOTIFICATIONS, true);
    outbox::insert_webhook(&fixture.database(), stranger.organization(), &outbox::ALL_NOTIFICATIONS, true);
    let free = fixture.ticket_type(&fixture.event(), 0, 100);
    fixture.order(&free, 2);
    assert_eq!(backlog(), (3, 3, Some(secs(0))));
    fixture.clock.advance(secs(90));
    fixture.issue(&free, 1);
    assert_eq!(backlog(), (4, 4, Some(secs(90))));

    // One was sent; one failed, and is to be sent again in five seconds: it waits, and is not due before.
    let rows = outbox::rows(&file);
    let now = fixture.clock.now();
    outbox::record_attempt_at(&file, rows[0].id, now, true);
    outbox::record_attempt_at(&file, rows[1].id, now.plus(secs(5)), false);
    assert_eq!(backlog(), (3, 2, Some(secs(90))));
    outbox::record_attempt_at(&file, rows[2].id, now, true);
    assert_eq!(backlog(), (2, 1, Some(secs(0))));
    fixture.clock.advance(secs(4));
    assert_eq!(backlog(), (2, 1, Some(secs(4))));
    fixture.clock.advance(secs(1));
    assert_eq!(backlog(), (2, 2, Some(secs(5))));

    // What waits for an endpoint that is disabled cannot be sent.
    file.execute("UPDATE webhook_endpoints SET enabled = 0", []);
    assert_eq!(backlog(), (2, 0, None));
    file.execute("UPDATE webhook_endpoints SET enabled = 1", []);
    for row in &rows[1..] {
        if row.id != rows[2].id {
            outbox::record_attempt_at(&file, row.id, fixture.clock.now(), true);
        }
    }
    assert_eq!(backlog(), (0, 0, None));
}

#[test]
fn each_service_counts_for_itself_and_all_of_them_find_the_same_backlog() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let second = fixture.second_service();
    fixture.order(&seat, 2);
    let caller = fixture.other_organization();
    let other = fixture.service.create_event(&caller, new_event(|_| {})).unwrap();
    let chair =
        fixture.service.create_ticket_type(&caller, other.id, ticketing::CreateTicketType::new("Chair", eur(100), 9));
    let request = CreateOrder::new(other.id, new_customer(), chair.unwrap().id, 3);
    fixture.service.create_order(&caller, request).unwrap();

    let statistics = second.statistics();
    assert_eq!((statistics.orders.placed, statistics.commits.done), (0, 0));
    assert_eq!(orders(&fixture).placed, 2, "of both organizations");
    for service in [&fixture.service, &second] {
        let backlog = service.backlog().unwrap();
        assert_eq!(backlog.held_places, 5);
        assert_eq!(backlog.wal_bytes, std::fs::metadata(fixture.path().with_extension("db-wal")).unwrap().len());
        assert!(backlog.wal_bytes > 0);
    }
}

#[cfg(unix)]
#[test]
fn the_log_of_a_file_behind_a_link_is_found_beside_the_file() {
    let fixture = Fixture::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.db");
    std::os::unix::fs::symlink(fixture.path(), &link).unwrap();
    let service = TicketingService::open(link).unwrap();
    assert_eq!(service.backlog().unwrap(), fixture.service.backlog().unwrap());
    assert!(service.backlog().unwrap().wal_bytes > 0);
}

#[test]
fn a_store_whose_readers_are_all_busy_has_no_backlog_to_tell_but_its_statistics() {
    let fixture = Fixture::with(|builder| builder.readers(1));
    let service: TicketingService = fixture.service.clone();
    let told = service.on_one_snapshot(|| {
        let other = fixture.service.clone();
        std::thread::spawn(move || (other.backlog(), other.statistics().commits.done)).join().unwrap()
    });
    let (backlog, commits) = told.unwrap();
    assert!(matches!(backlog, Err(Error::Unavailable(_))), "{backlog:?}");
    assert_eq!(commits, 1);
    assert_eq!(fixture.service.backlog().unwrap().held_places, 0);
}
