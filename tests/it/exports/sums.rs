//! The files add up: after random sales, the summary of the event, its settlement, the ledger, and the files as other
//! programs read them have the same sums.

use serde_json::Value;
use ticketing::exports::{Export, ExportFormat, ExportKind, SettlementSection};
use ticketing::order::Order;
use ticketing::payment::{
    DisputeStatus, GatewayDispute, GatewayEvent, ListLedgerEntries, ManualMethod, MarkRefunded, RefundMethod,
};
use ticketing::ticket::CheckInTicket;

use super::readers::{by_libreoffice, cents, export, has_libreoffice, has_python, read};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::common::settlements::assert_settled;
use crate::common::*;

/// A store with random orders of an event, and some of another one.
fn random_store(seed: u64) -> (Fixture, ticketing::event::Event) {
    let fixture = Fixture::new();
    let mut random = Random::new(seed);
    let event = fixture.event();
    let other = fixture.event();
    let types = [1250, 0, 999].map(|price| fixture.ticket_type(&event, price, 1000));
    let foreign = fixture.ticket_type(&other, 500, 1000);
    fixture.discount(amount_off(&event, "TEN", eur(1000)));
    fixture.paid_order(&foreign, 1);
    for _ in 0..2 + random.below(10) {
        let ticket_type = &types[random.below(3)];
        let quantity = 1 + i64::try_from(random.below(4)).expect("few");
        let order = match random.one_in(3) {
            true => fixture.order_with_code(ticket_type, quantity, "TEN"),
            false => fixture.order(ticket_type, quantity),
        };
        change(&fixture, &mut random, &order);
    }
    (fixture, event)
}

/// Pays an order, or not, and does something with it. What the state of the order does not allow is refused.
fn change(fixture: &Fixture, random: &mut Random, order: &Order) {
    let (service, caller) = (&fixture.service, &fixture.caller);
    match random.below(5) {
        0 => {}
        1 | 2 => drop(service.payment_completed(caller, order.id)),
        3 => {
            drop(service.mark_order_paid(caller, order.id, random.pick(&[ManualMethod::Cash, ManualMethod::Transfer])))
        }
        _ => {
            let _ = service.mark_order_paid(caller, order.id, ManualMethod::Other);
            let _ = service.payment_completed(caller, order.id);
        }
    }
    fixture.clock.advance(std::time::Duration::from_mins(3));
    for _ in 0..random.below(3) {
        match random.below(6) {
            0 => drop(service.cancel_order(caller, order.id)),
            1 => drop(fixture.refund_amount(order.id, eur(1 + i64::try_from(random.below(900)).expect("few")))),
            2 => drop(service.mark_order_refunded(caller, order.id, MarkRefunded::all(RefundMethod::Cash))),
            3 => {
                let status = random.pick(&[DisputeStatus::Open, DisputeStatus::Won, DisputeStatus::Lost]);
                dispute(fixture, order, status);
            }
            4 => {
                for ticket in fixture.read_order(order.id).tickets().take(1) {
                    let _ = service.cancel_ticket(caller, ticket.id);
                }
            }
            _ => {
                for ticket in fixture.read_order(order.id).tickets() {
                    let _ = service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
                }
            }
        }
    }
    let _ = service.run_maintenance();
}

/// Reports a dispute of a part of the order's payment.
fn dispute(fixture: &Fixture, order: &Order, status: DisputeStatus) {
    if order.total.is_zero() {
        return;
    }
    let taken = if status == DisputeStatus::Won { eur(0) } else { eur(100) };
    let dispute = GatewayDispute::new(format!("dp_{}", order.id), eur(100), "EUR").status(status).taken(taken);
    let notice = Notice::about(order, GatewayEvent::Dispute(dispute));
    fixture.gateway.know(&notice);
    let _ = notice.send(&fixture.service);
}

/// Compares the sums of a store, and returns how much money its event has left.
fn compare(seed: u64, with_programs: bool) -> i64 {
    let (fixture, event) = random_store(seed);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let what = format!("seed {seed}");
    let ledger = assert_settled(service, caller, event.id, &what);
    let summary = service.get_event_summary(caller, event.id).expect("a summary");
    let entries =
        service.list_ledger_entries(caller, ListLedgerEntries::new().event(event.id).limit(100)).expect("a page");
    let request = |kind| Export::new(kind).event(event.id);
    let of_ledger = export(&fixture, request(ExportKind::Ledger));
    let totals: i64 = of_ledger.report.totals.iter().map(|total| total.amount.minor_units()).sum();
    assert_eq!((of_ledger.report.rows, totals), (entries.data.len() as u64, ledger), "{what}: the exported ledger");
    let of_attendees = export(&fixture, request(ExportKind::Attendees));
    let totals: i64 = of_attendees.report.totals.iter().map(|total| total.amount.minor_units()).sum();
    assert_eq!(totals, summary.gross_revenue.minor_units(), "{what}: the prices of the tickets");
    if with_programs {
        let by_python = of_ledger.by_python();
        assert_eq!(by_python.cents("amount"), ledger, "{what}: as Python reads it");
        let path = of_ledger.path("csv");
        let by_duckdb = &read(&["duckdb-sum", "amount"], &path)[0][0];
        assert_eq!(by_duckdb, &Value::from(eur(ledger).to_string()), "{what}: as DuckDB reads it");
        let workbook = export(&fixture, request(ExportKind::Ledger).format(ExportFormat::Xlsx)).by_openpyxl();
        assert_eq!(workbook.cents("amount"), ledger, "{what}: as openpyxl reads it");
        assert_eq!(workbook.texts("entryId"), by_python.texts("entryId"), "{what}");
        let settled = export(&fixture, request(ExportKind::Settlement).format(ExportFormat::Xlsx)).by_openpyxl();
        let balance = settled.rows.iter().find(|row| row[0] == "Balance").expect("a balance");
        assert_eq!(balance[3].as_f64(), serde_json::to_value(eur(ledger)).expect("a number").as_f64(), "{what}");
        let attendees = export(&fixture, request(ExportKind::Attendees).format(ExportFormat::Xlsx)).by_openpyxl();
        assert_eq!(attendees.cents("pricePaid"), summary.gross_revenue.minor_units(), "{what}");
        let orders = export(&fixture, request(ExportKind::Orders)).by_python();
        let completed = orders.texts("completedAt").into_iter().zip(orders.column("finalAmount"));
        let sold: i64 = completed.filter(|(at, _)| !at.is_empty()).map(|(_, amount)| cents(amount)).sum();
        assert_eq!(sold, summary.gross_revenue.minor_units(), "{what}: the completed orders");
    }
    ledger
}

#[test]
fn the_summary_the_settlement_the_ledger_and_the_exports_of_random_stores_have_the_same_sums() {
    let seeds = first_seed()..first_seed() + repetitions("TICKETING_EXPORTED_STORES", 24);
    let balances: Vec<_> = seeds.map(|seed| compare(seed, false)).collect();
    assert!(balances.iter().filter(|balance| **balance != 0).count() * 2 > balances.len(), "{balances:?}");
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn python_duckdb_and_openpyxl_read_the_same_sums() {
    if !has_python() {
        return;
    }
    for seed in 0..repetitions("TICKETING_READ_STORES", 4) {
        compare(1000 + first_seed() + seed, true);
    }
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn libreoffice_reads_the_same_sum_in_both_formats() {
    if !has_libreoffice() || !has_python() {
        return;
    }
    let (fixture, event) = random_store(5000 + first_seed());
    let balance = fixture.service.get_settlement(&fixture.caller, event.id).expect("a settlement");
    let balance = balance.amount(SettlementSection::Balance).minor_units();
    for format in [ExportFormat::Csv, ExportFormat::Xlsx] {
        let file = export(&fixture, Export::new(ExportKind::Ledger).event(event.id).format(format));
        assert_eq!(by_libreoffice(&file.path(format.as_str())).cents("amount"), balance, "{format}");
    }
}
