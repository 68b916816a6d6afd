//! `statistics`, which count what a service did, and `backlog`, which counts the work that waits in its database.

use crate::common::outbox;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::*;
use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::{EventSettings, EventStatus};
use ticketing::order::{CreateOrder, NewOrderItem};
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::UpdateTicketType;
use ticketing::{Error, TicketingService, Timestamp};

/// The counters of orders and scans, and the gauges of the work that waits, that are not 0.
fn counters(fixture: &Fixture) -> BTreeMap<String, u64> {
    let statistics = fixture.service.statistics();
    let (orders, scans) = (statistics.orders, statistics.scans);
    let backlog = fixture.service.backlog().unwrap();
    let named = [
        ("orders created", orders.created),
        ("orders completed", orders.completed),
        ("orders cancelled", orders.cancelled),
        ("orders expired", orders.expired),
        ("scans accepted", scans.accepted),
        ("scans unknown", scans.unknown),
        ("seats reserved", backlog.reserved_seats),
        ("refunds due", backlog.refunds_due),
        ("refunds refused", backlog.refunds_refused),
    ];
    let refused = |what: &'static str| move |(reason, number): (Reason, u64)| (format!("{what} {reason:?}"), number);
    let named = named.map(|(name, number)| (name.to_owned(), number)).into_iter();
    let refused_orders = orders.refused.into_iter().map(refused("order"));
    let refused_scans = scans.refused.into_iter().map(refused("scan"));
    named.chain(refused_orders).chain(refused_scans).filter(|(_, number)| *number != 0).collect()
}

/// Asserts which counters an action changes, and by how much.
#[track_caller]
fn assert_counted<T>(fixture: &Fixture, expected: &[(&str, i64)], action: impl FnOnce() -> T) -> T {
    let before = counters(fixture);
    let result = action();
    let after = counters(fixture);
    let value = |of: &BTreeMap<String, u64>, name: &str| of.get(name).map_or(0, |number| number.cast_signed());
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changes = names.into_iter().map(|name| (name.as_str(), value(&after, name) - value(&before, name)));
    let changes: BTreeMap<_, _> = changes.filter(|(_, change)| *change != 0).collect();
    assert_eq!(changes, expected.iter().copied().collect());
    result
}

#[test]
fn the_statistics_of_a_new_service_list_the_common_reasons_with_zero() {
    let fixture = Fixture::new();
    let statistics = fixture.service.statistics();
    let refused = [
        Reason::EventNotOnSale,
        Reason::TicketTypeNotOnSale,
        Reason::SaleNotStarted,
        Reason::SaleEnded,
        Reason::SoldOut,
        Reason::MaxPerOrderExceeded,
    ];
    assert_eq!(statistics.orders.refused, refused.map(|reason| (reason, 0)));
    assert_eq!(statistics.scans.refused.len(), 7);
    assert_eq!(counters(&fixture), BTreeMap::new());
    assert_eq!(statistics.commits.done, 1, "the organization");
    assert_eq!(statistics.commits.failed, 0);
    assert_eq!(statistics.commits.jobs_waiting, 0);
}

#[test]
fn each_change_of_an_order_is_counted_once() {
    let fixture = Fixture::new();
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 5);
    let free = fixture.ticket_type(&event, 0, 10);
    let count = |expected: &[(&str, i64)], action: &dyn Fn()| assert_counted(&fixture, expected, action);
    let reserved = |seats| ("seats reserved", seats);
    let created = ("orders created", 1);
    let completed = ("orders completed", 1);
    let cancelled = ("orders cancelled", 1);

    let paid = assert_counted(&fixture, &[created, reserved(1)], || fixture.order(&ticket_type, 1)).id;
    count(&[completed, reserved(-1)], &|| drop(service.payment_completed(caller, paid).unwrap()));
    count(&[], &|| drop(service.payment_completed(caller, paid).unwrap()));
    let other = assert_counted(&fixture, &[created, reserved(2)], || fixture.order(&ticket_type, 2)).id;
    count(&[cancelled, reserved(-2)], &|| {
        service.cancel_order(caller, other).unwrap();
    });
    count(&[], &|| assert_eq!(reason(service.cancel_order(caller, other)), Reason::OrderNotCancellable));

    // An expired hold reserves nothing, and is counted when its expiry is stored.
    let late = assert_counted(&fixture, &[created, reserved(4)], || fixture.order(&ticket_type, 4)).id;
    count(&[("order SoldOut", 1)], &|| assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut));
    count(&[reserved(-4)], &|| fixture.expire_holds());
    count(&[("orders expired", 1)], &|| assert_eq!(service.run_maintenance().unwrap().expired_orders, 1));
    count(&[completed], &|| drop(service.payment_completed(caller, late).unwrap()));

    let of_nothing = assert_counted(&fixture, &[created, completed], || fixture.order(&free, 5)).id;
    count(&[cancelled], &|| {
        service.cancel_order(caller, of_nothing).unwrap();
    });
    count(&[], &|| drop(fixture.issue(&free, 2)));
    let other_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    fixture.gateway.on_checkout(GatewayBehavior::Refuse);
    count(&[created, cancelled], &|| {
        assert!(matches!(fixture.try_order(&other_type, 1), Err(Error::PaymentGatewayFailed(_))));
    });
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    count(&[("orders created", 2), reserved(3)], &|| {
        fixture.order(&other_type, 1);
        fixture.order(&other_type, 2);
    });
    count(&[("orders cancelled", 2), reserved(-3)], &|| {
        drop(fixture.set_event_status(other_type.event_id, EventStatus::Cancelled).unwrap());
    });
}

#[test]
fn a_refund_is_due_until_the_gateway_answers_and_a_refused_one_stays_counted() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    for (behavior, counted) in [
        (GatewayBehavior::Succeed, &[("orders cancelled", 1)][..]),
        (GatewayBehavior::Unavailable, &[("orders cancelled", 1), ("refunds due", 1)]),
        (GatewayBehavior::Refuse, &[("orders cancelled", 1), ("refunds refused", 1)]),
    ] {
        let paid = fixture.paid_order(&ticket_type, 1);
        fixture.gateway.on_refund(behavior);
        assert_counted(&fixture, counted, || fixture.service.cancel_order(&fixture.caller, paid.id).unwrap());
    }
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    assert_counted(&fixture, &[("refunds due", -1)], || fixture.service.run_maintenance().unwrap());
}

#[test]
fn refused_orders_are_counted_by_reason_and_invalid_requests_are_not_counted() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 5);
    let hidden = fixture.ticket_type_with(&event, |new| {
        new.status = Some(ticketing::ticket_type::TicketTypeStatus::DisplayAsUnavailable);
    });
    let later = fixture.ticket_type_with(&event, |new| new.sale_start_date = Some(at("2026-06-02T00:00Z")));
    let earlier = fixture.ticket_type_with(&event, |new| new.sale_end_date = Some(at("2026-06-01T00:00Z")));
    let draft = fixture.event_with(|new| new.status = Some(EventStatus::Drafted));
    let of_draft = fixture.ticket_type(&draft, 1250, 5);
    for (ticket_type, quantity, expected) in [
        (&ticket_type, 6, Reason::SoldOut),
        (&ticket_type, 11, Reason::MaxPerOrderExceeded),
        (&hidden, 1, Reason::TicketTypeNotOnSale),
        (&later, 1, Reason::SaleNotStarted),
        (&earlier, 1, Reason::SaleEnded),
        (&of_draft, 1, Reason::EventNotOnSale),
    ] {
        let refuse = || assert_eq!(reason(fixture.try_order(ticket_type, quantity)), expected);
        assert_counted(&fixture, &[(&format!("order {expected:?}"), 1)], refuse);
    }
    assert_counted(&fixture, &[], || paths(fixture.try_order(&ticket_type, 0)));
}

#[test]
fn changes_that_a_transaction_rolls_back_are_not_counted() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1);
    let other_type = fixture.ticket_type(&event, 1250, 1);
    let mut both = CreateOrder::new(event.id, new_customer(), ticket_type.id, 1);
    both.items.push(NewOrderItem::new(other_type.id, 1));
    let both = fixture.service.create_order(&fixture.caller, both).unwrap().order;
    fixture.expire_holds();
    fixture.service.run_maintenance().unwrap();
    fixture.paid_order(&other_type, 1);
    fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    // The late payment releases the expired hold of the first type, but finds no available seat of the other type. The
    // release is rolled back, so the order with the expired hold does not expire.
    assert_counted(&fixture, &[], || fixture.service.payment_completed(&fixture.caller, both.id).unwrap());
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_counted(&fixture, &[("orders expired", 1)], || fixture.service.run_maintenance().unwrap());
}

#[test]
fn a_failed_commit_is_counted_but_its_changes_are_not() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1);
    let free = fixture.ticket_type(&event, 0, 5);
    let ticket = fixture.issue(&free, 1).remove(0);
    // The deferred foreign key makes the commit fail.
    let database = fixture.database();
    database.run("CREATE TABLE violations (id BIGINT REFERENCES organizations (id) DEFERRABLE INITIALLY DEFERRED)");
    let violate = "INSERT INTO violations VALUES (0)";
    database.trigger("violate_on_order", "AFTER INSERT ON orders", "TRUE", violate);
    database.trigger("violate_on_scan", "AFTER UPDATE ON tickets", "TRUE", violate);
    let before = fixture.service.statistics();
    assert!(matches!(fixture.try_order(&ticket_type, 1), Err(Error::Store(_))));
    assert!(matches!(fixture.try_order(&free, 1), Err(Error::Store(_))));
    let scan = CheckInTicket::new(&ticket.code);
    assert!(matches!(fixture.service.check_in_ticket(&fixture.caller, scan.clone()), Err(Error::Store(_))));
    let mut after = fixture.service.statistics();
    assert_eq!(after.commits.failed, 3);
    after.commits.failed = 0;
    assert_eq!(after, before);

    database.end_trigger("violate_on_order");
    database.end_trigger("violate_on_scan");
    fixture.order(&free, 1);
    fixture.service.check_in_ticket(&fixture.caller, scan).unwrap();
    let counted = [("orders completed", 1), ("orders created", 1), ("scans accepted", 1)];
    assert_eq!(counters(&fixture), BTreeMap::from(counted.map(|(name, number)| (name.to_owned(), number))));
    let after = fixture.service.statistics();
    assert_eq!(after.commits.failed, 3);
    assert_eq!(after.commits.done, before.commits.done + 2);
}

#[test]
fn scans_are_counted_by_outcome() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let codes: Vec<_> = fixture.issue(&ticket_type, 10).into_iter().map(|ticket| ticket.code).collect();
    let check_in = |scan| fixture.service.check_in_ticket(&fixture.caller, scan);
    let scan = |code: &str| check_in(CheckInTicket::new(code));
    let refused = |expected: Reason, scan: CheckInTicket| {
        let refuse = || assert_eq!(reason(check_in(scan)), expected);
        assert_counted(&fixture, &[(&format!("scan {expected:?}"), 1)], refuse);
    };
    let change = |change| drop(fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).unwrap());
    assert_counted(&fixture, &[("scans accepted", 1)], || scan(&codes[0]).unwrap());
    refused(Reason::AlreadyCheckedIn, CheckInTicket::new(&codes[0]));
    refused(Reason::WrongEvent, CheckInTicket::new(&codes[1]).event(fixture.event().id));
    let cancelled = fixture.issue(&ticket_type, 1).remove(0);
    fixture.service.cancel_ticket(&fixture.caller, cancelled.id).unwrap();
    refused(Reason::TicketCancelled, CheckInTicket::new(&cancelled.code));
    change(UpdateTicketType::default().valid_from(at("2026-06-02T00:00Z")));
    refused(Reason::NotYetValid, CheckInTicket::new(&codes[1]));
    change(UpdateTicketType::default().clear_valid_from().valid_until(at("2026-06-01T00:00Z")));
    refused(Reason::NoLongerValid, CheckInTicket::new(&codes[1]));
    change(UpdateTicketType::default().clear_valid_until().allowed_dates([at("2026-06-09T12:00Z")]));
    refused(Reason::NotValidToday, CheckInTicket::new(&codes[1]));
    fixture.set_event_status(event.id, EventStatus::Cancelled).unwrap();
    refused(Reason::EventCancelled, CheckInTicket::new(&codes[1]));
    let unknown = "00000000000000000000";
    let other_caller = fixture.other_organization();
    assert_counted(&fixture, &[("scans unknown", 2)], || {
        assert_not_found(scan(unknown));
        assert_not_found(fixture.service.check_in_ticket(&other_caller, CheckInTicket::new(&codes[0])));
    });
    // None of these calls is counted: an invalid request, check-outs, and reading a ticket.
    assert_counted(&fixture, &[], || {
        paths(scan(""));
        fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&codes[0])).unwrap();
        assert_not_found(fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(unknown)));
        fixture.service.get_ticket_by_code(&fixture.caller, &codes[0]).unwrap();
    });
}

/// A clock whose next call can be blocked, and whose monotonic time advances by 3 milliseconds with each reading.
#[derive(Debug, Clone, Default)]
struct BlockingClock(Arc<ClockState>);

#[derive(Debug, Default)]
struct ClockState {
    /// How often the monotonic time was read.
    readings: AtomicU64,
    /// Whether the next call will block.
    is_armed: AtomicBool,
    is_released: Mutex<bool>,
    released: Condvar,
}

impl BlockingClock {
    fn block_next_call(&self) {
        *self.0.is_released.lock().unwrap() = false;
        self.0.is_armed.store(true, Ordering::SeqCst);
    }

    fn is_blocking(&self) -> bool {
        !self.0.is_armed.load(Ordering::SeqCst)
    }

    fn release(&self) {
        *self.0.is_released.lock().unwrap() = true;
        self.0.released.notify_all();
    }
}

impl Clock for BlockingClock {
    fn now(&self) -> Timestamp {
        if self.0.is_armed.swap(false, Ordering::SeqCst) {
            let is_released = self.0.is_released.lock().unwrap();
            drop(self.0.released.wait_while(is_released, |is_released| !*is_released).unwrap());
        }
        at(NOW)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(3 * self.0.readings.fetch_add(1, Ordering::SeqCst))
    }
}

/// Waits until the condition is true, for at most 30 seconds.
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the condition is still false");
}

#[test]
fn commits_are_counted_with_their_jobs_durations_and_waiting_jobs() {
    if !database::is_file() {
        return skipped("a PostgreSQL server runs jobs of different events at once");
    }
    let clock = BlockingClock::default();
    let fixture = Fixture::with(|builder| builder.clock(clock.clone()));
    let event = fixture.event();
    let change_tags = || {
        let tags = EventSettings::default().tags(["jazz"]);
        drop(fixture.service.update_event_settings(&fixture.caller, event.id, tags).unwrap());
    };
    let before = fixture.service.statistics().commits;
    assert_eq!(before.done, 2, "the organization and the event");
    for _ in 0..5 {
        change_tags();
    }
    let single = fixture.service.statistics().commits;
    assert_eq!(single.done, 7);
    assert_eq!(single.jobs.buckets[0], (1.0, 7));
    assert!((single.jobs.sum - 7.0).abs() < 1e-9);
    // A commit lasts from one reading of the clock to the next: 3 milliseconds.
    assert_eq!(single.seconds.count(), 7);
    assert!((single.seconds.sum - 0.021).abs() < 1e-9);
    assert!(single.seconds.buckets.contains(&(0.005, 7)) && single.seconds.buckets.contains(&(0.0025, 0)));

    // The clock blocks the first job. Three more jobs are queued meanwhile, and committed together with it.
    clock.block_next_call();
    std::thread::scope(|scope| {
        scope.spawn(change_tags);
        wait_until(|| clock.is_blocking());
        for number in 1..=3 {
            scope.spawn(change_tags);
            wait_until(|| fixture.service.statistics().commits.jobs_waiting == number);
        }
        assert_eq!(fixture.service.statistics().commits.done, 7);
        clock.release();
    });
    let grouped = fixture.service.statistics().commits;
    assert_eq!(grouped.done, 8);
    assert_eq!(grouped.jobs_waiting, 0);
    assert_eq!(grouped.failed, 0);
    let jobs: Vec<_> = grouped.jobs.buckets.iter().filter(|(_, commits)| *commits > 0).copied().collect();
    assert_eq!(jobs, [(1.0, 7), (4.0, 1)]);
    assert!((grouped.jobs.sum - 11.0).abs() < 1e-9);
}

#[test]
fn commits_succeed_although_the_clock_panics() {
    if !database::is_file() {
        return skipped("a panic of the clock is not caught with PostgreSQL");
    }
    #[derive(Debug)]
    struct PanickingClock;
    impl Clock for PanickingClock {
        fn now(&self) -> Timestamp {
            at(NOW)
        }

        fn monotonic(&self) -> Duration {
            panic!("the clock of this test always panics")
        }
    }
    let fixture = Fixture::with(|builder| builder.clock(PanickingClock));
    fixture.event();
    let commits = fixture.service.statistics().commits;
    assert_eq!(commits.done, 2);
    assert_eq!(commits.seconds.count(), 2);
    assert_eq!(commits.seconds.sum.to_bits(), 0);
}

#[test]
fn notifications_wait_until_they_are_sent_and_are_due_at_their_time() {
    #[derive(Debug, PartialEq, Eq)]
    struct Notifications {
        waiting: u64,
        due: u64,
        /// How long the oldest one has been due.
        oldest_due: Option<Duration>,
    }
    let fixture = Fixture::new();
    let notifications = || {
        let backlog = fixture.service.backlog().unwrap();
        Notifications {
            waiting: backlog.webhooks_waiting,
            due: backlog.webhooks_due,
            oldest_due: backlog.webhook_oldest_due,
        }
    };
    assert_eq!(notifications(), Notifications { waiting: 0, due: 0, oldest_due: None });
    let database = fixture.database();
    let other_caller = fixture.other_organization();
    let secs = Duration::from_secs;
    outbox::insert_webhook(&database, fixture.caller.organization(), &outbox::SALE_NOTIFICATIONS);
    outbox::insert_webhook(&database, other_caller.organization(), &outbox::SALE_NOTIFICATIONS);
    let free = fixture.ticket_type(&fixture.event(), 0, 100);
    fixture.order(&free, 2);
    assert_eq!(notifications(), Notifications { waiting: 3, due: 3, oldest_due: Some(secs(0)) });
    fixture.clock.advance(secs(90));
    fixture.issue(&free, 1);
    assert_eq!(notifications(), Notifications { waiting: 4, due: 4, oldest_due: Some(secs(90)) });

    // One was sent. Another failed, and is due again in five seconds.
    let rows = outbox::rows(&database);
    let now = fixture.clock.now();
    outbox::record_success_at(&database, rows[0].id, now);
    outbox::record_failure_at(&database, rows[1].id, now.saturating_add(secs(5)));
    assert_eq!(notifications(), Notifications { waiting: 3, due: 2, oldest_due: Some(secs(90)) });
    outbox::record_success_at(&database, rows[2].id, now);
    assert_eq!(notifications(), Notifications { waiting: 2, due: 1, oldest_due: Some(secs(0)) });
    fixture.clock.advance(secs(4));
    assert_eq!(notifications(), Notifications { waiting: 2, due: 1, oldest_due: Some(secs(4)) });
    fixture.clock.advance(secs(1));
    assert_eq!(notifications(), Notifications { waiting: 2, due: 2, oldest_due: Some(secs(5)) });

    // The notifications of disabled endpoints are not due.
    database.execute("UPDATE webhook_endpoints SET enabled = 0", []);
    assert_eq!(notifications(), Notifications { waiting: 2, due: 0, oldest_due: None });
    database.execute("UPDATE webhook_endpoints SET enabled = 1", []);
    for row in &rows[1..] {
        if row.id != rows[2].id {
            outbox::record_success_at(&database, row.id, fixture.clock.now());
        }
    }
    assert_eq!(notifications(), Notifications { waiting: 0, due: 0, oldest_due: None });
}

#[test]
fn each_service_has_its_own_statistics_and_all_have_the_same_backlog() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let second = fixture.second_service();
    fixture.order(&ticket_type, 2);
    let caller = fixture.other_organization();
    let other = fixture.service.create_event(&caller, new_event(|_| {})).unwrap();
    let other_type = fixture.service.create_ticket_type(
        &caller,
        other.id,
        ticketing::ticket_type::CreateTicketType::new("Chair", eur(100), 9),
    );
    let request = CreateOrder::new(other.id, new_customer(), other_type.unwrap().id, 3);
    fixture.service.create_order(&caller, request).unwrap();

    let statistics = second.statistics();
    assert_eq!(statistics.orders.created, 0);
    assert_eq!(statistics.commits.done, 0);
    assert_eq!(fixture.service.statistics().orders.created, 2, "the orders of both organizations");
    for service in [&fixture.service, &second] {
        let backlog = service.backlog().unwrap();
        assert_eq!(backlog.reserved_seats, 5);
        if database::is_file() {
            assert_eq!(backlog.wal_bytes, std::fs::metadata(fixture.path().with_extension("db-wal")).unwrap().len());
            assert!(backlog.wal_bytes > 0);
        } else {
            assert_eq!(backlog.wal_bytes, 0);
        }
    }
}

#[cfg(unix)]
#[test]
fn the_size_of_the_wal_is_found_if_the_path_is_a_symbolic_link() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    let fixture = Fixture::new();
    let other_folder = tempfile::tempdir().unwrap();
    let link = other_folder.path().join("link.db");
    std::os::unix::fs::symlink(fixture.path(), &link).unwrap();
    let service = TicketingService::open(link).unwrap();
    assert_eq!(service.backlog().unwrap(), fixture.service.backlog().unwrap());
    assert!(service.backlog().unwrap().wal_bytes > 0);
}

#[test]
fn without_a_free_read_connection_there_are_statistics_but_no_backlog() {
    let fixture = Fixture::with(|builder| builder.readers(1));
    let service: TicketingService = fixture.service.clone();
    let result = service.on_one_snapshot(|| {
        let other = fixture.service.clone();
        std::thread::spawn(move || (other.backlog(), other.statistics().commits.done)).join().unwrap()
    });
    let (backlog, commits) = result.unwrap();
    assert!(matches!(backlog, Err(Error::Unavailable(_))), "{backlog:?}");
    assert_eq!(commits, 1);
    assert_eq!(fixture.service.backlog().unwrap().reserved_seats, 0);
}
