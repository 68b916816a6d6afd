//! The history of webhooks: kept for 30 days or as the builder says, and what waits for ever.

use crate::common::outbox::{self, ALL_NOTIFICATIONS, insert_webhook, record_attempt_at};
use crate::common::*;
use std::time::Duration;
use ticketing::{Clock, MaintenanceReport};

const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

fn forgotten(fixture: &Fixture) -> usize {
    fixture.service.run_maintenance().expect("a run").forgotten_deliveries
}

fn attempts(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_deliveries")
}

fn notifications(fixture: &Fixture) -> i64 {
    fixture.stored("SELECT COUNT(*) FROM webhook_outbox")
}

/// A shop of which three notifications are queued: one is delivered at the second attempt, one failed once and waits, and
/// one was never tried.
fn told(fixture: Fixture) -> Fixture {
    insert_webhook(&fixture.database(), fixture.caller.organization(), &ALL_NOTIFICATIONS, true);
    let event = fixture.event_with(|new| (new.start_date, new.end_date) = (at("2027-01-01T00:00:00Z"), None));
    let free = fixture.ticket_type(&event, 0, 10);
    fixture.order(&free, 2);
    let file = fixture.database();
    let rows = outbox::rows(&file);
    record_attempt_at(&file, rows[0].id, fixture.clock.now(), false);
    record_attempt_at(&file, rows[0].id, fixture.clock.now(), true);
    record_attempt_at(&file, rows[1].id, fixture.clock.now(), false);
    fixture
}

#[test]
fn an_attempt_is_forgotten_after_thirty_days_and_what_was_sent_a_day_later() {
    let fixture = told(Fixture::new());
    fixture.clock.advance(30 * DAY - MILLISECOND);
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    assert_eq!((attempts(&fixture), notifications(&fixture)), (3, 3));
    fixture.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&fixture), attempts(&fixture), notifications(&fixture)), (3, 0, 3));
    fixture.clock.advance(DAY - MILLISECOND);
    assert_eq!((forgotten(&fixture), notifications(&fixture)), (0, 3));
    fixture.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&fixture), notifications(&fixture)), (0, 2));
}

#[test]
fn what_waits_never_grows_old() {
    let fixture = told(Fixture::new());
    fixture.clock.advance(1000 * DAY);
    fixture.service.run_maintenance().expect("a run");
    assert_eq!((attempts(&fixture), notifications(&fixture)), (0, 2));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING'"), 2);
}

#[test]
fn what_is_young_stays_when_the_old_goes() {
    let fixture = told(Fixture::new());
    fixture.clock.advance(20 * DAY);
    let file = fixture.database();
    let rows = outbox::rows(&file);
    record_attempt_at(&file, rows[1].id, fixture.clock.now(), true);
    record_attempt_at(&file, rows[2].id, fixture.clock.now(), true);
    fixture.clock.advance(11 * DAY);
    // The first notification with its two attempts, and the first attempt at the second.
    assert_eq!((forgotten(&fixture), attempts(&fixture), notifications(&fixture)), (3, 2, 2));
    fixture.clock.advance(20 * DAY);
    assert_eq!((forgotten(&fixture), attempts(&fixture), notifications(&fixture)), (2, 0, 0));
    assert_eq!(fixture.service.run_maintenance().expect("a run"), MaintenanceReport::default());
}

#[test]
fn it_can_be_kept_for_another_while_of_at_least_a_day() {
    let fixture = told(Fixture::with(|builder| builder.webhook_retention(2 * DAY)));
    fixture.clock.advance(2 * DAY - MILLISECOND);
    assert_eq!(forgotten(&fixture), 0);
    fixture.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&fixture), notifications(&fixture)), (3, 3));
    fixture.clock.advance(DAY);
    assert_eq!((forgotten(&fixture), notifications(&fixture)), (0, 2));

    let folder = tempfile::tempdir().expect("a folder");
    let open = |kept| ticketing::TicketingService::builder(folder.path().join("t.db")).webhook_retention(kept).open();
    assert_eq!(paths(open(DAY - MILLISECOND).map(drop)), ["webhook_retention"]);
    // So long that there is no such time, and the shortest.
    for kept in [Duration::MAX, DAY] {
        let service = open(kept).expect("opened");
        assert_eq!(service.run_maintenance().expect("a run"), MaintenanceReport::default());
    }
}

#[test]
fn however_much_is_old_one_run_forgets_it_all() {
    let fixture = Fixture::new();
    insert_webhook(&fixture.database(), fixture.caller.organization(), &ALL_NOTIFICATIONS, true);
    let file = fixture.database();
    let event = fixture.event_with(|new| (new.start_date, new.end_date) = (at("2027-01-01T00:00:00Z"), None));
    let free = fixture.ticket_type(&event, 0, 10_000);
    (0..230).for_each(|_| drop(fixture.issue(&free, 10)));
    file.run("BEGIN");
    for row in outbox::rows(&file) {
        record_attempt_at(&file, row.id, fixture.clock.now(), true);
    }
    file.run("COMMIT");
    fixture.clock.advance(31 * DAY);
    assert_eq!((forgotten(&fixture), attempts(&fixture), notifications(&fixture)), (2300, 0, 0));
}
