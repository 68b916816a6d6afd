//! The history of webhooks: kept for 30 days or as the builder says, and what waits for ever.

mod common;
#[path = "common/outbox.rs"]
mod outbox;

use common::*;
use outbox::{ALL, attempted, listen, queued};
use std::time::Duration;
use ticketing::{Clock, MaintenanceReport};

const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

fn forgotten(shop: &Shop) -> usize {
    shop.service.run_maintenance().expect("a run").forgotten_deliveries
}

fn attempts(shop: &Shop) -> i64 {
    shop.stored("SELECT COUNT(*) FROM webhook_deliveries")
}

fn notifications(shop: &Shop) -> i64 {
    shop.stored("SELECT COUNT(*) FROM webhook_outbox")
}

/// A shop of which three notifications are queued: one is delivered at the second attempt, one failed once and waits, and
/// one was never tried.
fn told(shop: Shop) -> Shop {
    listen(&shop.file(), shop.caller.organization(), &ALL, true);
    let event = shop.event_with(|new| (new.start_date, new.end_date) = (at("2027-01-01T00:00:00Z"), None));
    let free = shop.ticket_type(&event, 0, 10);
    shop.order(&free, 2);
    let file = rusqlite::Connection::open(shop.file()).expect("the file");
    let rows = queued(&file);
    attempted(&file, rows[0].id, shop.clock.now(), false);
    attempted(&file, rows[0].id, shop.clock.now(), true);
    attempted(&file, rows[1].id, shop.clock.now(), false);
    shop
}

#[test]
fn an_attempt_is_forgotten_after_thirty_days_and_what_was_sent_a_day_later() {
    let shop = told(Shop::new());
    shop.clock.advance(30 * DAY - MILLISECOND);
    assert_eq!(shop.service.run_maintenance().expect("a run"), MaintenanceReport::default());
    assert_eq!((attempts(&shop), notifications(&shop)), (3, 3));
    shop.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&shop), attempts(&shop), notifications(&shop)), (3, 0, 3));
    shop.clock.advance(DAY - MILLISECOND);
    assert_eq!((forgotten(&shop), notifications(&shop)), (0, 3));
    shop.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&shop), notifications(&shop)), (0, 2));
}

#[test]
fn what_waits_never_grows_old() {
    let shop = told(Shop::new());
    shop.clock.advance(1000 * DAY);
    shop.service.run_maintenance().expect("a run");
    assert_eq!((attempts(&shop), notifications(&shop)), (0, 2));
    assert_eq!(shop.stored("SELECT COUNT(*) FROM webhook_outbox WHERE state = 'WAITING'"), 2);
}

#[test]
fn what_is_young_stays_when_the_old_goes() {
    let shop = told(Shop::new());
    shop.clock.advance(20 * DAY);
    let file = rusqlite::Connection::open(shop.file()).expect("the file");
    let rows = queued(&file);
    attempted(&file, rows[1].id, shop.clock.now(), true);
    attempted(&file, rows[2].id, shop.clock.now(), true);
    shop.clock.advance(11 * DAY);
    // The first notification with its two attempts, and the first attempt at the second.
    assert_eq!((forgotten(&shop), attempts(&shop), notifications(&shop)), (3, 2, 2));
    shop.clock.advance(20 * DAY);
    assert_eq!((forgotten(&shop), attempts(&shop), notifications(&shop)), (2, 0, 0));
    assert_eq!(shop.service.run_maintenance().expect("a run"), MaintenanceReport::default());
}

#[test]
fn it_can_be_kept_for_another_while_of_at_least_a_day() {
    let shop = told(Shop::with(&FakeGateway::new(), |builder| builder.webhook_retention(2 * DAY)));
    shop.clock.advance(2 * DAY - MILLISECOND);
    assert_eq!(forgotten(&shop), 0);
    shop.clock.advance(MILLISECOND);
    assert_eq!((forgotten(&shop), notifications(&shop)), (3, 3));
    shop.clock.advance(DAY);
    assert_eq!((forgotten(&shop), notifications(&shop)), (0, 2));

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
    let shop = Shop::new();
    listen(&shop.file(), shop.caller.organization(), &ALL, true);
    let file = rusqlite::Connection::open(shop.file()).expect("the file");
    let event = shop.event_with(|new| (new.start_date, new.end_date) = (at("2027-01-01T00:00:00Z"), None));
    let free = shop.ticket_type(&event, 0, 10_000);
    (0..230).for_each(|_| drop(shop.issue(&free, 10)));
    file.execute_batch("BEGIN").expect("begun");
    for row in queued(&file) {
        attempted(&file, row.id, shop.clock.now(), true);
    }
    file.execute_batch("COMMIT").expect("committed");
    shop.clock.advance(31 * DAY);
    assert_eq!((forgotten(&shop), attempts(&shop), notifications(&shop)), (2300, 0, 0));
}
