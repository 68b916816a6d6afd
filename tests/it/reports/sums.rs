//! After random sales, every figure equals the exports of the same moment, summed here from their cells, and the rows of the
//! database, summed by Python.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Duration;

use ticketing::door::GetEventArrivals;
use ticketing::event::{Event, GetEventSales, SalesInterval, SalesItem};
use ticketing::exports::{Export, ExportKind};
use ticketing::payment::{ManualMethod, MarkRefunded, PaymentMode, RefundMethod};
use ticketing::ticket::CheckInTicket;
use ticketing::{Amount, Timestamp};

use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::common::*;

/// The rows of a CSV file, by the names of its columns. Each cell is in quotes or has none, and no cell has a line break.
struct Table(Vec<BTreeMap<String, String>>);

fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

fn export(fixture: &Fixture, event: &Event, kind: ExportKind) -> Table {
    let mut file = Vec::new();
    let request = Export::new(kind).event(event.id);
    fixture.service.export(&fixture.caller, request, &mut file, |_| ControlFlow::Continue(())).expect("an export");
    let text = String::from_utf8(file).expect("UTF-8");
    let mut lines = text.lines();
    let names = cells(lines.next().expect("a header"));
    Table(lines.map(|line| names.iter().cloned().zip(cells(line)).collect()).collect())
}

fn cents(text: &str) -> i64 {
    text.parse::<Amount>().expect(text).minor_with(2).expect("cents")
}

/// Orders, tickets, revenue, refunded and issued of an interval. Exports do not say when a ticket was cancelled.
type Sums = [i64; 5];

/// Sums the exports of an event by mode and a part of the time of each row.
fn summed(
    fixture: &Fixture,
    event: &Event,
    key: impl Fn(&BTreeMap<String, String>, &str) -> String,
) -> BTreeMap<(String, PaymentMode), Sums> {
    let (ledger, orders) = (export(fixture, event, ExportKind::Ledger), export(fixture, event, ExportKind::Orders));
    let attendees = export(fixture, event, ExportKind::Attendees);
    let mut sums: BTreeMap<(String, PaymentMode), Sums> = BTreeMap::new();
    let mode =
        |row: &BTreeMap<String, String>| if row["mode"] == "TEST" { PaymentMode::Test } else { PaymentMode::Live };
    // A payment as large as its order, the first of them, completed it.
    let mut paid: BTreeMap<String, (String, PaymentMode)> = BTreeMap::new();
    let completed: BTreeMap<_, _> = orders.0.iter().map(|row| (&row["orderId"], &row["completedAt"])).collect();
    for row in ledger.0.iter().filter(|row| row["kind"] == "PAYMENT") {
        if completed[&row["orderId"]] == &row["occurredAt"] {
            paid.entry(row["orderId"].clone()).or_insert((row["paymentId"].clone(), mode(row)));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for row in orders.0.iter().filter(|row| !row["completedAt"].is_empty()) {
        let mode = paid.get(&row["orderId"]).map_or(PaymentMode::Live, |(_, mode)| *mode);
        let sum = sums.entry((key(row, "completed"), mode)).or_default();
        sum[0] += i64::from(seen.insert(&row["orderId"]));
        sum[1] += row["quantity"].parse::<i64>().expect("a number");
        sum[2] += cents(&row["finalAmount"]);
    }
    for row in ledger.0.iter().filter(|row| row["kind"].starts_with("REFUND")) {
        if paid.get(&row["orderId"]).is_some_and(|(payment, _)| *payment == row["paymentId"]) {
            sums.entry((key(row, "occurred"), mode(row))).or_default()[3] -= cents(&row["amount"]);
        }
    }
    for row in attendees.0.iter().filter(|row| row["orderId"].is_empty()) {
        sums.entry((key(row, "created"), PaymentMode::Live)).or_default()[4] += 1;
    }
    sums.retain(|_, sums| *sums != Sums::default());
    sums
}

fn of_item(item: &SalesItem) -> Sums {
    [
        item.orders,
        item.tickets,
        item.revenue.minor_with(2).expect("cents"),
        item.refunded.minor_with(2).expect("cents"),
        item.issued,
    ]
}

/// A store with random sales around a night in which clocks are changed, with real money and that of tests.
fn random_store(seed: u64) -> (Fixture, Event) {
    let fixture = Fixture::new();
    let mut random = Random::new(seed);
    let night = random.pick(&["2026-03-28T18:00:00Z", "2026-10-24T18:00:00Z", "2026-06-01T00:00:00Z"]);
    fixture.set_clock("2026-01-02T00:00:00Z");
    let event = fixture.event_with(|new| {
        new.timezone = Some(random.pick(&["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"]).to_owned());
        new.start_date = at("2026-12-01T18:00:00Z");
        new.end_date = Some(at("2026-12-01T23:00:00Z"));
    });
    let types = [1250, 0, 999].map(|price| fixture.ticket_type(&event, price, 1000));
    fixture.discount(amount_off(&event, "TEN", eur(1000)));
    fixture.paid_order(fixture.default_ticket_type(), 1);
    let test = fixture.gateway.clone().named("trial", PaymentMode::Test);
    let trial = fixture.second_service_with(|builder| builder.payment_gateway(test));
    fixture.set_clock(night);
    let caller = &fixture.caller;
    for _ in 0..5 + random.below(20) {
        fixture.clock.advance(Duration::from_mins(1 + random.below(90) as u64));
        let service = if random.one_in(4) { &trial } else { &fixture.service };
        let quantity = 1 + i64::try_from(random.below(4)).expect("few");
        let mut request = new_order(event.id, types[random.below(3)].id, quantity);
        request.discount_code = random.one_in(3).then(|| "TEN".to_owned());
        let order = service.create_order(caller, request).expect("an order").order;
        match random.below(5) {
            0 => {}
            1..=3 => drop(service.payment_completed(caller, order.id)),
            _ => drop(service.mark_order_paid(caller, order.id, ManualMethod::Cash)),
        }
        if random.one_in(5) {
            fixture.issue(&types[random.below(3)], quantity);
        }
        fixture.clock.advance(Duration::from_mins(random.below(300) as u64));
        match random.below(6) {
            0 => drop(service.cancel_order(caller, order.id)),
            1 => drop(fixture.refund_amount(order.id, eur(1 + i64::try_from(random.below(900)).expect("few")))),
            2 => {
                drop(service.cancel_order(caller, order.id));
                drop(service.mark_order_refunded(caller, order.id, MarkRefunded::all(RefundMethod::Cash)));
            }
            3 => {
                for ticket in fixture.read_order(order.id).tickets().take(2) {
                    let _ = service.cancel_ticket(caller, ticket.id);
                }
            }
            // A second payment, which goes back.
            4 => drop(service.payment_completed(caller, order.id)),
            _ => {}
        }
        let _ = fixture.service.run_maintenance();
        let _ = trial.run_maintenance();
    }
    (fixture, event)
}

#[test]
fn the_sales_of_random_stores_equal_their_exports() {
    let mut with_both_modes = 0;
    for seed in first_seed()..first_seed() + repetitions("TICKETING_REPORTED_STORES", 24) {
        let (fixture, event) = random_store(seed);
        let read = |interval| {
            let request = GetEventSales::new().interval(interval);
            fixture.service.get_event_sales(&fixture.caller, event.id, request).expect("sales").items
        };
        let mut days = read(SalesInterval::Day);
        days.retain(|item| of_item(item) != Sums::default());
        let local = |row: &BTreeMap<String, String>, name: &str| row[&format!("{name}Local")][..10].to_owned();
        let expected = summed(&fixture, &event, local);
        let by_date = |item: &SalesItem| {
            let date = item.from.to_local(&event.timezone).expect("a zone")[..10].to_owned();
            let day = Timestamp::day(&date, &event.timezone).expect("a day");
            assert_eq!((item.from, item.until), (day.start, day.end), "seed {seed}");
            ((date, item.mode), of_item(item))
        };
        assert_eq!(days.iter().map(by_date).collect::<BTreeMap<_, _>>(), expected, "seed {seed}");
        assert_eq!(days.len(), expected.len(), "seed {seed}");
        with_both_modes += usize::from(days.iter().any(|item| item.mode == PaymentMode::Test));

        // The minutes and seconds of an hour in UTC are those of the zone, but for those with half hours.
        let mut hours = read(SalesInterval::Hour);
        hours.retain(|item| of_item(item) != Sums::default());
        if event.timezone == "Europe/Berlin" {
            let in_utc = |row: &BTreeMap<String, String>, name: &str| row[&format!("{name}At")][..13].to_owned();
            let by_hour = |item: &SalesItem| ((item.from.to_string()[..13].to_owned(), item.mode), of_item(item));
            assert_eq!(
                hours.iter().map(by_hour).collect::<BTreeMap<_, _>>(),
                summed(&fixture, &event, in_utc),
                "seed {seed}"
            );
        }
        let total = |items: &[SalesItem], figure: usize| items.iter().map(|item| of_item(item)[figure]).sum::<i64>();
        for figure in 0..5 {
            assert_eq!(total(&hours, figure), total(&days, figure), "seed {seed}");
        }
    }
    assert!(with_both_modes > 0);
}

#[test]
fn python_sums_the_rows_of_random_stores_to_the_same_days() {
    if !database::is_file() {
        return;
    }
    let Some(python) = python::python("sqlite3, zoneinfo") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/reports/sums.py");
    let mut cancelled = 0;
    for seed in first_seed()..first_seed() + repetitions("TICKETING_REPORTED_STORES", 24).div_ceil(2) {
        let (fixture, event) = random_store(1000 + seed);
        let read = fixture.service.get_event_sales(&fixture.caller, event.id, GetEventSales::new()).expect("sales");
        let row = |item: &SalesItem| {
            let date = item.from.to_local(&event.timezone).expect("a zone")[..10].to_owned();
            let sums: Vec<_> = of_item(item).into_iter().chain([item.cancelled]).collect();
            (format!("{date} {}", item.mode), sums)
        };
        let found: BTreeMap<_, _> = read.items.iter().map(row).collect();
        let mut command = Command::new(&python);
        command.arg(script).arg(fixture.path()).arg(database::stored_id(event.id).to_string());
        let output = command.output().expect("Python");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected: BTreeMap<String, Vec<i64>> = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found, expected, "seed {seed}");
        cancelled += read.items.iter().map(|item| item.cancelled).sum::<i64>();
        let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
        let of_days: i64 = read.items.iter().map(|item| item.cancelled).sum();
        assert_eq!(of_days, summary.tickets_cancelled, "seed {seed}");
    }
    assert!(cancelled > 0);
}

#[test]
fn the_totals_equal_the_summary_of_the_event() {
    for seed in first_seed()..first_seed() + repetitions("TICKETING_REPORTED_STORES", 24).div_ceil(4) {
        let (fixture, event) = random_store(500 + seed);
        let days =
            fixture.service.get_event_sales(&fixture.caller, event.id, GetEventSales::new()).expect("sales").items;
        let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
        let mode = summary.mode.unwrap_or(PaymentMode::Live);
        let all = |figure: usize, is_counted: fn(PaymentMode, PaymentMode) -> bool| {
            days.iter().filter(|item| is_counted(item.mode, mode)).map(|item| of_item(item)[figure]).sum::<i64>()
        };
        let minor = |amount: Amount| amount.minor_with(2).expect("cents");
        assert_eq!(all(2, |item, mode| item == mode), minor(summary.gross_revenue), "seed {seed}");
        let refunded = minor(summary.refunded_total) + minor(summary.manually_refunded_total);
        assert_eq!(all(3, |item, mode| item == mode), refunded, "seed {seed}");
        assert_eq!(all(1, |_, _| true) + all(4, |_, _| true), summary.tickets_issued, "seed {seed}");
    }
}

#[test]
fn the_arrivals_of_random_evenings_equal_the_export_of_check_ins() {
    for seed in first_seed()..first_seed() + repetitions("TICKETING_REPORTED_STORES", 24).div_ceil(2) {
        let fixture = Fixture::new();
        let mut random = Random::new(seed);
        let event = fixture.event();
        let seat = fixture.ticket_type(&event, 0, 1000);
        let codes: Vec<_> = (0..4).flat_map(|_| fixture.issue(&seat, 10)).map(|ticket| ticket.code).collect();
        fixture.clock.set(event.start_date);
        let mut gates = Vec::new();
        for scan in 0..150 {
            if scan == 30 {
                gates = vec![fixture.gate(&event), fixture.gate(&event), fixture.caller.clone()];
            }
            let caller = if gates.is_empty() { &fixture.caller } else { &gates[random.below(3)] };
            let request = CheckInTicket::new(&codes[random.below(40)]);
            match random.below(4) {
                0 => drop(fixture.service.check_out_ticket(caller, request)),
                _ => drop(fixture.service.check_in_ticket(caller, request)),
            }
            fixture.clock.advance(Duration::from_secs(random.below(200) as u64));
        }
        let found = fixture.service.get_event_arrivals(&fixture.caller, event.id, GetEventArrivals::new());
        let found = found.expect("arrivals");
        let rows = export(&fixture, &event, ExportKind::CheckIns).0;
        let count = |is_counted: &dyn Fn(&BTreeMap<String, String>) -> bool| {
            i64::try_from(rows.iter().filter(|row| is_counted(row)).count()).expect("few")
        };
        let is_admission = |row: &BTreeMap<String, String>| {
            row["outcome"] == "ADMITTED" && row["kind"] == "IN" || row["kind"] == "BASE"
        };
        let (mut admitted, mut left) = (0, 0);
        for item in &found.items {
            let is_in_item = |row: &BTreeMap<String, String>| {
                let time: Timestamp = row["time"].parse().expect("a time");
                (item.from..item.until).contains(&time) && item.gate.as_deref().unwrap_or_default() == row["gate"]
            };
            assert_eq!(item.admitted, count(&|row| is_in_item(row) && is_admission(row)), "seed {seed}: {item:?}");
            assert_eq!(item.left, count(&|row| is_in_item(row) && row["outcome"] == "LEFT"), "seed {seed}: {item:?}");
            let refused: i64 = item.refused.iter().map(|refused| refused.count).sum();
            let is_refused = |row: &BTreeMap<String, String>| row["kind"] == "IN" && row["outcome"] != "ADMITTED";
            assert_eq!(refused, count(&|row| is_in_item(row) && is_refused(row)), "seed {seed}: {item:?}");
            (admitted, left) = (admitted + item.admitted, left + item.left);
        }
        assert_eq!((admitted, left), (count(&is_admission), count(&|row| row["outcome"] == "LEFT")), "seed {seed}");
        let tickets = export(&fixture, &event, ExportKind::Attendees).0;
        let inside = tickets.iter().filter(|row| row["status"] == "CHECKED_IN").count();
        let missing = tickets.iter().filter(|row| row["firstScanDate"].is_empty()).count();
        assert_eq!(
            (found.inside as usize, found.missing as usize, found.expected),
            (inside, missing, 40),
            "seed {seed}"
        );
        assert_eq!(found.inside, admitted - left, "seed {seed}");
    }
}
