//! `statistics`, which count what a service did, and `backlog`, which counts the work that waits in its database.

use crate::common::outbox;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::*;
use ticketing::environment::Clock;
use ticketing::error::Reason;
use ticketing::event::{EventSettings, EventStatus};
use ticketing::monitoring::OrderStatistics;
use ticketing::order::{CreateOrder, NewOrderItem, OrderStatus};
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::UpdateTicketType;
use ticketing::{Error, TicketingService, Timestamp};

fn order_statistics(fixture: &Fixture) -> OrderStatistics {
    fixture.service.statistics().orders
}

/// The numbers of orders that a service created, completed, cancelled and expired.
#[derive(Debug, Default, PartialEq, Eq)]
struct OrderCounts {
    created: u64,
    completed: u64,
    cancelled: u64,
    expired: u64,
}

fn order_counts(fixture: &Fixture) -> OrderCounts {
    let OrderStatistics { created, completed, cancelled, expired, .. } = order_statistics(fixture);
    OrderCounts { created, completed, cancelled, expired }
}

#[test]
fn the_statistics_of_a_new_service_list_the_common_reasons_with_zero() {
    let fixture = Fixture::new();
    let statistics = fixture.service.statistics();
    assert_eq!(order_counts(&fixture), OrderCounts::default());
    let refused = [
        Reason::EventNotOnSale,
        Reason::TicketTypeNotOnSale,
        Reason::SaleNotStarted,
        Reason::SaleEnded,
        Reason::SoldOut,
        Reason::MaxPerOrderExceeded,
    ];
    assert_eq!(statistics.orders.refused, refused.map(|reason| (reason, 0)));
    assert_eq!(statistics.scans.accepted, 0);
    assert_eq!(statistics.scans.unknown, 0);
    assert_eq!(statistics.scans.refused.len(), 7);
    assert_eq!(statistics.commits.done, 1, "the organization");
    assert_eq!(statistics.commits.failed, 0);
    assert_eq!(statistics.commits.jobs_waiting, 0);
}

#[test]
fn orders_are_counted_when_created_completed_cancelled_and_expired() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 5);
    fixture.paid_order(&ticket_type, 2);
    assert_eq!(order_counts(&fixture), OrderCounts { created: 1, completed: 1, cancelled: 0, expired: 0 });

    let cancelled = fixture.order(&ticket_type, 2);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).unwrap();
    assert_eq!(order_counts(&fixture), OrderCounts { created: 2, completed: 1, cancelled: 1, expired: 0 });
    // Another cancellation is rejected and not counted.
    assert_eq!(reason(fixture.service.cancel_order(&fixture.caller, cancelled.id)), Reason::OrderNotCancellable);
    assert_eq!(order_counts(&fixture), OrderCounts { created: 2, completed: 1, cancelled: 1, expired: 0 });

    let late = fixture.order(&ticket_type, 3);
    assert_eq!(reason(fixture.try_order(&ticket_type, 1)), Reason::SoldOut);
    fixture.expire_holds();
    assert_eq!(fixture.order_status(late.id), OrderStatus::Expired);
    assert_eq!(
        order_counts(&fixture),
        OrderCounts { created: 3, completed: 1, cancelled: 1, expired: 0 },
        "an expiry is counted when it is stored"
    );
    assert_eq!(fixture.service.run_maintenance().unwrap().expired_orders, 1);
    assert_eq!(order_counts(&fixture), OrderCounts { created: 3, completed: 1, cancelled: 1, expired: 1 });
    fixture.service.payment_completed(&fixture.caller, late.id).unwrap();
    fixture.service.payment_completed(&fixture.caller, late.id).unwrap();
    assert_eq!(
        order_counts(&fixture),
        OrderCounts { created: 3, completed: 2, cancelled: 1, expired: 1 },
        "a repeated payment notification is not counted"
    );

    let free = fixture.ticket_type(&event, 0, 10);
    let free_order = fixture.order(&free, 1);
    assert_eq!(order_counts(&fixture), OrderCounts { created: 4, completed: 3, cancelled: 1, expired: 1 });
    fixture.service.cancel_order(&fixture.caller, free_order.id).unwrap();
    assert_eq!(order_counts(&fixture), OrderCounts { created: 4, completed: 3, cancelled: 2, expired: 1 });

    let other = fixture.event();
    let other_type = fixture.ticket_type(&other, 1250, 10);
    fixture.gateway.on_checkout(GatewayBehavior::Refuse);
    assert!(matches!(fixture.try_order(&other_type, 1), Err(Error::PaymentGatewayFailed(_))));
    assert_eq!(
        order_counts(&fixture),
        OrderCounts { created: 5, completed: 3, cancelled: 3, expired: 1 },
        "an order whose checkout fails is cancelled"
    );
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    fixture.paid_order(&other_type, 1);
    fixture.order(&other_type, 1);
    fixture.order(&other_type, 1);
    fixture.set_event_status(other.id, EventStatus::Cancelled).unwrap();
    assert_eq!(
        order_counts(&fixture),
        OrderCounts { created: 8, completed: 4, cancelled: 5, expired: 1 },
        "the two pending orders are cancelled with their event"
    );
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
    for (ticket_type, quantity, expected, times) in [
        (&ticket_type, 6, Reason::SoldOut, 3),
        (&ticket_type, 11, Reason::MaxPerOrderExceeded, 1),
        (&hidden, 1, Reason::TicketTypeNotOnSale, 2),
        (&later, 1, Reason::SaleNotStarted, 1),
        (&earlier, 1, Reason::SaleEnded, 1),
        (&of_draft, 1, Reason::EventNotOnSale, 1),
    ] {
        for _ in 0..times {
            assert_eq!(reason(fixture.try_order(ticket_type, quantity)), expected);
        }
    }
    paths(fixture.try_order(&ticket_type, 0));
    let expected = [
        (Reason::EventNotOnSale, 1),
        (Reason::TicketTypeNotOnSale, 2),
        (Reason::SaleNotStarted, 1),
        (Reason::SaleEnded, 1),
        (Reason::SoldOut, 3),
        (Reason::MaxPerOrderExceeded, 1),
    ];
    assert_eq!(order_statistics(&fixture).refused, expected);
    assert_eq!(order_counts(&fixture), OrderCounts::default());
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
    assert_eq!(order_counts(&fixture), OrderCounts { created: 3, completed: 1, cancelled: 0, expired: 1 });
    // The late payment releases the expired hold of the first type, but finds no available seat of the other type. The
    // release is rolled back, so the order with the expired hold does not expire.
    fixture.service.payment_completed(&fixture.caller, both.id).unwrap();
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM orders WHERE status = 'EXPIRED'"), 1);
    assert_eq!(order_counts(&fixture), OrderCounts { created: 3, completed: 1, cancelled: 0, expired: 1 });
    fixture.service.run_maintenance().unwrap();
    assert_eq!(order_counts(&fixture), OrderCounts { created: 3, completed: 1, cancelled: 0, expired: 2 });
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
    assert_eq!(order_counts(&fixture), OrderCounts { created: 1, completed: 1, cancelled: 0, expired: 0 });
    let after = fixture.service.statistics();
    assert_eq!(after.scans.accepted, 1);
    assert_eq!(after.commits.failed, 3);
    assert_eq!(after.commits.done, before.commits.done + 2);
}

#[test]
fn scans_are_counted_by_outcome() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let tickets = fixture.issue(&ticket_type, 10);
    let check_in = |scan| fixture.service.check_in_ticket(&fixture.caller, scan);
    let scan = |code: &str| check_in(CheckInTicket::new(code));
    for ticket in &tickets[..3] {
        scan(&ticket.code).unwrap();
    }
    assert_eq!(reason(scan(&tickets[0].code)), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&tickets[1].code)), Reason::AlreadyCheckedIn);
    let other_event = fixture.event();
    assert_eq!(reason(check_in(CheckInTicket::new(&tickets[3].code).event(other_event.id))), Reason::WrongEvent);
    fixture.service.cancel_ticket(&fixture.caller, tickets[4].id).unwrap();
    assert_eq!(reason(scan(&tickets[4].code)), Reason::TicketCancelled);
    let update_ticket_type =
        |change: UpdateTicketType| fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, change).unwrap();
    update_ticket_type(UpdateTicketType::default().valid_from(at("2026-06-02T00:00Z")));
    for _ in 0..4 {
        assert_eq!(reason(scan(&tickets[5].code)), Reason::NotYetValid);
    }
    update_ticket_type(UpdateTicketType::default().clear_valid_from().valid_until(at("2026-06-01T00:00Z")));
    assert_eq!(reason(scan(&tickets[5].code)), Reason::NoLongerValid);
    update_ticket_type(UpdateTicketType::default().clear_valid_until().allowed_dates([at("2026-06-09T12:00Z")]));
    assert_eq!(reason(scan(&tickets[5].code)), Reason::NotValidToday);
    fixture.set_event_status(event.id, EventStatus::Cancelled).unwrap();
    assert_eq!(reason(scan(&tickets[5].code)), Reason::EventCancelled);
    assert_not_found(scan("00000000000000000000"));
    let other_caller = fixture.other_organization();
    assert_not_found(fixture.service.check_in_ticket(&other_caller, CheckInTicket::new(&tickets[0].code)));
    // None of these calls is counted: an invalid request, check-outs, and reading a ticket.
    paths(scan(""));
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&tickets[0].code)).unwrap();
    assert_not_found(fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new("00000000000000000000")));
    fixture.service.get_ticket_by_code(&fixture.caller, &tickets[0].code).unwrap();

    let scans = fixture.service.statistics().scans;
    assert_eq!(scans.accepted, 3);
    assert_eq!(scans.unknown, 2);
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
fn reserved_seats_are_those_of_pending_orders_whose_hold_has_not_expired() {
    let fixture = Fixture::new();
    let reserved = || fixture.service.backlog().unwrap().reserved_seats;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let free = fixture.ticket_type(&event, 0, 100);
    assert_eq!(reserved(), 0);
    fixture.order(&ticket_type, 3);
    fixture.order(&free, 5); // sold at once, not reserved
    fixture.issue(&ticket_type, 2);
    assert_eq!(reserved(), 3);
    fixture.clock.advance(HOLD / 2);
    let paid = fixture.order(&ticket_type, 4);
    let cancelled = fixture.order(&ticket_type, 10);
    assert_eq!(reserved(), 17);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).unwrap();
    assert_eq!(reserved(), 7);
    fixture.clock.advance(HOLD / 2);
    assert_eq!(reserved(), 4, "the first hold has expired, although maintenance has not run yet");
    fixture.service.run_maintenance().unwrap();
    assert_eq!(reserved(), 4);
    fixture.service.payment_completed(&fixture.caller, paid.id).unwrap();
    assert_eq!(reserved(), 0);
}

#[test]
fn refunds_are_due_until_the_gateway_responds_and_refused_ones_stay_counted() {
    #[derive(Debug, PartialEq, Eq)]
    struct Refunds {
        due: u64,
        refused: u64,
    }
    let fixture = Fixture::new();
    let refunds = || {
        let backlog = fixture.service.backlog().unwrap();
        Refunds { due: backlog.refunds_due, refused: backlog.refunds_refused }
    };
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let refund_order = || {
        let paid = fixture.paid_order(&ticket_type, 1);
        fixture.service.cancel_order(&fixture.caller, paid.id).unwrap();
    };
    refund_order();
    assert_eq!(refunds(), Refunds { due: 0, refused: 0 }, "the gateway refunded the payment at once");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    refund_order();
    refund_order();
    assert_eq!(refunds(), Refunds { due: 2, refused: 0 });
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    refund_order();
    assert_eq!(refunds(), Refunds { due: 2, refused: 1 });
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.run_maintenance().unwrap();
    assert_eq!(refunds(), Refunds { due: 0, refused: 1 });
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
    assert_eq!(order_statistics(&fixture).created, 2, "the orders of both organizations");
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
