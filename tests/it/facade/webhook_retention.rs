//! Retention of webhook data: the history is kept for 30 days or as configured, waiting notifications for ever.

use crate::common::outbox::{self, SALE_NOTIFICATIONS, insert_webhook, record_failure_at, record_success_at};
use crate::common::transport::FakeTransport;
use crate::common::*;
use std::time::Duration;
use ticketing::environment::Clock;
use ticketing::maintenance::MaintenanceReport;

const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Runs maintenance and returns how many attempts it deleted.
fn delete_old(fixture: &Fixture) -> usize {
    fixture.service.run_maintenance().expect("a run").forgotten_deliveries
}

fn attempts(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_deliveries")
}

fn notifications(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_outbox")
}

/// Queues three notifications: one that is delivered at the second attempt, one that failed once and waits, and one
/// without an attempt.
fn with_notifications(fixture: Fixture) -> Fixture {
    insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    let event = fixture.event_with(|new| {
        new.start_date = at("2027-01-01T00:00:00Z");
        new.end_date = None;
    });
    let free = fixture.ticket_type(&event, 0, 10);
    fixture.order(&free, 2);
    let database = fixture.database();
    let rows = outbox::rows(&database);
    record_failure_at(&database, rows[0].id, fixture.clock.now());
    record_success_at(&database, rows[0].id, fixture.clock.now());
    record_failure_at(&database, rows[1].id, fixture.clock.now());
    fixture
}

#[test]
fn attempts_are_deleted_after_thirty_days_and_notifications_a_day_later() {
    let fixture = with_notifications(Fixture::new());
    fixture.clock.advance(30 * DAY - MILLISECOND);
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    assert_eq!((attempts(&fixture), notifications(&fixture)), (3, 3));
    fixture.clock.advance(MILLISECOND);
    assert_eq!((delete_old(&fixture), attempts(&fixture), notifications(&fixture)), (3, 0, 3));
    fixture.clock.advance(DAY - MILLISECOND);
    assert_eq!((delete_old(&fixture), notifications(&fixture)), (0, 3));
    fixture.clock.advance(MILLISECOND);
    assert_eq!((delete_old(&fixture), notifications(&fixture)), (0, 2));
}

#[test]
fn recent_attempts_and_notifications_are_kept() {
    let fixture = with_notifications(Fixture::new());
    fixture.clock.advance(20 * DAY);
    let database = fixture.database();
    let rows = outbox::rows(&database);
    record_success_at(&database, rows[1].id, fixture.clock.now());
    record_success_at(&database, rows[2].id, fixture.clock.now());
    fixture.clock.advance(11 * DAY);
    // Deletes the first notification with its two attempts, and the first attempt of the second.
    assert_eq!((delete_old(&fixture), attempts(&fixture), notifications(&fixture)), (3, 2, 2));
    fixture.clock.advance(20 * DAY);
    assert_eq!((delete_old(&fixture), attempts(&fixture), notifications(&fixture)), (2, 0, 0));
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
}

#[test]
fn the_retention_is_configurable_and_at_least_a_day() {
    let fixture = with_notifications(Fixture::with(|builder| builder.webhook_retention(2 * DAY)));
    fixture.clock.advance(2 * DAY - MILLISECOND);
    assert_eq!(delete_old(&fixture), 0);
    fixture.clock.advance(MILLISECOND);
    assert_eq!((delete_old(&fixture), notifications(&fixture)), (3, 3));
    fixture.clock.advance(DAY);
    assert_eq!((delete_old(&fixture), notifications(&fixture)), (0, 2));

    let folder = tempfile::tempdir().expect("a folder");
    let open = |retention| {
        ticketing::TicketingService::builder(folder.path().join("t.db")).webhook_retention(retention).open()
    };
    assert_eq!(paths(open(DAY - MILLISECOND).map(drop)), ["webhook_retention"]);
    // The longest and the shortest retention.
    for retention in [Duration::MAX, DAY] {
        let service = open(retention).expect("a service");
        assert_eq!(service.run_maintenance().expect("a run"), MaintenanceReport::default());
    }
}

#[test]
fn one_run_deletes_all_old_data() {
    let fixture = Fixture::new();
    insert_webhook(&fixture.database(), fixture.caller.organization(), &SALE_NOTIFICATIONS);
    let database = fixture.database();
    let event = fixture.event_with(|new| {
        new.start_date = at("2027-01-01T00:00:00Z");
        new.end_date = None;
    });
    let free = fixture.ticket_type(&event, 0, 10_000);
    for _ in 0..230 {
        fixture.issue(&free, 10);
    }
    fixture.expand();
    database.run("BEGIN");
    for row in outbox::rows(&database) {
        record_success_at(&database, row.id, fixture.clock.now());
    }
    database.run("COMMIT");
    fixture.clock.advance(31 * DAY);
    assert_eq!((delete_old(&fixture), attempts(&fixture), notifications(&fixture)), (2300, 0, 0));
}

#[test]
fn an_attempt_made_while_the_clock_was_behind_is_deleted_with_its_notification() {
    let fixture = Fixture::with_transport(&FakeTransport::succeeding());
    fixture.ticket_webhook("https://example.com/hook");
    let stored = || {
        fixture.service.run_maintenance().unwrap();
        assert!(fixture.service.check().unwrap().is_clean());
        (notifications(&fixture), attempts(&fixture))
    };
    fixture.set_clock("2024-06-01T12:00:00Z");
    fixture.queue_notifications(1);
    assert_eq!(fixture.service.deliver_due_webhooks().unwrap(), 1);
    fixture.set_clock(NOW);
    assert_eq!(stored(), (1, 1));
    fixture.clock.advance(Duration::from_hours(40 * 24));
    assert_eq!(stored(), (0, 0));
}
