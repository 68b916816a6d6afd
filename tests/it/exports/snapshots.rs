//! An export beside writers: every order is whole, and the sums are those of one instant.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use ticketing::Amount;
use ticketing::exports::{Export, ExportKind, SettlementSection};
use ticketing::order::NewOrderItem;

use super::readers::try_export;
use crate::common::*;

/// How many threads write.
const WRITERS: usize = 64;

/// Runs `read` while writers sell orders of a ticket of each type, which are paid at once.
fn beside_writers(fixture: &Fixture, types: &[ticketing::ticket_type::TicketType; 2], read: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut request = new_order(types[0].event_id, types[0].id, 1);
                    request.items.push(NewOrderItem::new(types[1].id, 2));
                    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
                    fixture.service.payment_completed(&fixture.caller, order.id).expect("paid");
                }
            });
        }
        let stop_at_end = StopAtEnd(&stop);
        read();
        drop(stop_at_end);
    });
}

/// Lets the writers end, also after a panic.
struct StopAtEnd<'s>(&'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The number of rows of an order that begins with this column, by order, and the rows.
fn rows_by_order(text: &str, column: &str) -> std::collections::HashMap<String, usize> {
    let mut lines = text.lines();
    let index =
        lines.next().expect("a header").split(',').position(|name| name == format!("\"{column}\"")).expect(column);
    let mut rows = std::collections::HashMap::new();
    for line in lines {
        *rows.entry(line.split(',').nth(index).expect("a cell").to_owned()).or_default() += 1;
    }
    rows
}

#[test]
fn an_export_beside_64_writers_has_whole_orders_and_the_sums_of_one_instant() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let types = [100, 200].map(|price| fixture.ticket_type(&event, price, 1_000_000));
    let read = || {
        let settlement = fixture.service.get_settlement(&fixture.caller, event.id).expect("a settlement");
        let total = |kind| {
            let file = try_export(&fixture, Export::new(kind).event(event.id)).expect("an export");
            file.report.totals.first().map_or(Amount::ZERO, |total| total.amount)
        };
        [settlement.amount(SettlementSection::Balance), total(ExportKind::Ledger), total(ExportKind::Attendees)]
    };
    let (mut differed, mut rounds) = (false, 0);
    beside_writers(&fixture, &types, || {
        while rounds < 5 || !differed {
            rounds += 1;
            assert!(rounds < 1000, "the writers write");
            let orders = try_export(&fixture, Export::new(ExportKind::Orders).event(event.id)).expect("orders");
            let items = rows_by_order(orders.text(), "orderId");
            assert!(items.values().all(|rows| *rows == 2), "an order has both of its items");
            let tickets = try_export(&fixture, Export::new(ExportKind::Attendees).event(event.id)).expect("attendees");
            assert!(rows_by_order(tickets.text(), "orderId").values().all(|rows| *rows == 3), "and all three tickets");

            // Of one snapshot, all exports and the settlement are of the same instant.
            let [balance, ledger, attendees] = fixture.service.on_one_snapshot(read).expect("a snapshot");
            assert_eq!((ledger, attendees), (balance, balance));

            // The control: read in separate transactions, they differ.
            let [balance, ledger, attendees] = read();
            differed |= ledger != balance || attendees != balance;
        }
    });
}

#[test]
fn an_export_shows_nothing_that_was_written_after_its_first_row() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 100, 1_000_000);
    for _ in 0..21 {
        // 50 × 21 tickets: the progress is reported once before the end.
        for _ in 0..5 {
            fixture.issue(&ticket_type, 10);
        }
    }
    let mut reports = Vec::new();
    let mut file = Vec::new();
    let request = Export::new(ExportKind::Attendees).event(event.id);
    let report = fixture.service.export(&fixture.caller, request.clone(), &mut file, |progress| {
        reports.push((progress.rows, progress.total_rows));
        fixture.issue(&ticket_type, 1);
        ControlFlow::Continue(())
    });
    assert_eq!(report.expect("an export").rows, 1050);
    assert_eq!(reports, [(1000, 1050), (1050, 1050)]);
    assert_eq!(try_export(&fixture, request).expect("an export").report.rows, 1052);
}

/// The days of the sale begin and end at these times.
const DAYS: [&str; 3] = ["2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", "2026-06-03T00:00:00Z"];

#[test]
fn an_export_has_as_many_tickets_as_seats_and_one_in_two_transactions_has_more() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let seats = 1050;
    let ticket_type = fixture.ticket_type(&event, 100, seats);
    let mut tickets = Vec::new();
    for _ in 0..seats / 10 {
        tickets.extend(fixture.issue(&ticket_type, 10));
    }
    fixture.clock.advance(std::time::Duration::from_hours(24));
    // Gives a seat of the first day to somebody else on the second. It is sold once at any time.
    let sell_again = |ticket: usize| {
        fixture.service.cancel_ticket(&fixture.caller, tickets[ticket].id).expect("cancelled");
        fixture.issue(&ticket_type, 1);
    };
    let request = |from, before| Export::new(ExportKind::Attendees).from(at(from)).before(at(before));
    let export = |request, during: &dyn Fn()| {
        let mut file = Vec::new();
        let during = |_| {
            during();
            ControlFlow::Continue(())
        };
        fixture.service.export(&fixture.caller, request, &mut file, during).expect("an export");
        String::from_utf8(file).expect("UTF-8").matches("\"NOT_CHECKED_IN\"").count()
    };
    let seats = usize::try_from(seats).expect("few");

    // The progress is reported after 1,000 rows and after the last one: ticket 0 is read already.
    let once = Cell::new(true);
    let sold = export(request(DAYS[0], DAYS[2]), &|| {
        if once.take() {
            sell_again(0);
        }
    });
    assert_eq!(sold, seats);

    // The control: halves that are read one after the other have a seat twice.
    let first = export(request(DAYS[0], DAYS[1]), &|| {});
    sell_again(1);
    let second = export(request(DAYS[1], DAYS[2]), &|| {});
    assert_eq!(first + second, seats + 1);
}
