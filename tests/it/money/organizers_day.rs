//! A day of an organizer: a sale, a guest list, the tickets of another seller, an evening at the entrance with two phones
//! without a connection, and an event that does not take place.
//!
//! `TICKETING_DAY_PERCENT` is its size, by default 10 percent of 300 paid orders, 40 guests, 2,000 imported codes and 500 refunds.
#![cfg(all(feature = "exports", feature = "program", unix))]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use ticketing::allocation::CreateAllocation;
use ticketing::event::{CancelEventOrders, CancellationRunState, EventStatus};
use ticketing::exports::{Export, ExportKind};
use ticketing::page;
use ticketing::ticket::{IssuedTicket, ListTickets};

use crate::common::door::decided;
use crate::common::long_runs::repetitions;
use crate::common::program::{finish, program, text};
use crate::common::*;
use crate::exports::readers::export;
use crate::money::book::number;
use crate::money::shop::Shop;

#[test]
fn tickets_of_all_kinds_come_in_and_the_ledger_is_the_statement_of_stripe() {
    let percent = usize::try_from(repetitions("TICKETING_DAY_PERCENT", 10)).expect("a number");
    let [paid, guests, imported, refunds] = [300, 40, 2000, 500].map(|number| number * percent / 100);
    let mut shop = Shop::open();
    let seats = shop.ticket_type(1250);
    for _ in 0..paid {
        shop.sale(&seats, 1);
    }

    // A guest list with labels.
    let caller = shop.fixture.caller.clone();
    let labels = (1..=guests).map(|guest| format!("Guest {guest}"));
    let request = CreateAllocation::of_labels("Guest list", labels);
    let list = shop.service().create_allocation(&caller, seats.id, request).expect("an allocation").id;
    shop.service().run_maintenance().expect("a run");

    // The codes of another seller, from a file.
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = "Ticket,Place\n".to_owned();
    for code in 0..imported {
        writeln!(lines, "{:013},Block {}", 4_006_381_000_000_u64 + code as u64 * 11, code % 20).expect("a line");
    }
    std::fs::write(folder.path().join("partner.csv"), lines).expect("written");
    let (file, event, ticket_type) =
        (database::option(shop.fixture.path()), seats.event_id.to_string(), seats.id.to_string());
    let import = ["--database", &file, "import-tickets", &event, "partner.csv", "--type", &ticket_type];
    let columns = ["--code-column", "Ticket", "--label-column", "Place"];
    let output = finish(&mut program(folder.path(), &[&import[..], &columns].concat()));
    let printed: Value =
        serde_json::from_str(text(&output.stdout)).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&printed["imported"], &printed["refused"]), (&imported.into(), &0.into()));

    // The evening: three of four holders come. Every tenth is scanned by both phones, which know nothing of each other.
    let of_event = ListTickets::new().event(seats.event_id);
    let tickets = page::all(|page| shop.service().list_tickets(&caller, of_event.clone().page(page)));
    let tickets: Vec<IssuedTicket> = tickets.collect::<Result<_, _>>().expect("tickets");
    assert_eq!(tickets.len(), paid + guests + imported);
    let event = shop.service().get_event(&caller, seats.event_id).expect("the event");
    let gate = shop.fixture.gate(&event);
    let coming: Vec<_> =
        tickets.iter().enumerate().filter(|(index, _)| index % 4 != 3).map(|(_, ticket)| ticket).collect();
    let scanned_at = shop.now();
    let mut scanned = 0;
    let mut twice = BTreeSet::new();
    for (phone, first) in [("Phone 1", 0), ("Phone 2", 1)] {
        let of_phone = coming.iter().enumerate().filter(|(index, _)| index % 2 == first || index % 10 == 0);
        let scans: Vec<_> = of_phone
            .map(|(_, ticket)| {
                scanned += 1;
                let kind = ticketing::door::ScanKind::In;
                decided(scanned, kind, &ticket.code, scanned_at, ticketing::door::Verdict::Admitted)
            })
            .collect();
        for part in scans.chunks(100) {
            let results = shop.fixture.report(&gate, phone, part.to_vec());
            for result in results.iter().filter(|result| result.outcome.as_str() == "ADMITTED_TWICE") {
                twice.insert(result.ticket.as_ref().expect("a ticket").ticket_id);
            }
        }
    }
    assert_eq!(twice.len(), coming.len().div_ceil(10), "the staff learns of each");

    // The attendance adds up.
    let file = export(&shop.fixture, Export::new(ExportKind::Attendees).event(seats.event_id));
    let mut reader = csv::Reader::from_reader(file.text().as_bytes());
    let headers = reader.headers().expect("headers").clone();
    let column = |name: &str| headers.iter().position(|header| header == name).expect(name);
    let mut counts: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut labels = BTreeSet::new();
    for row in reader.records() {
        let row = row.expect("a row");
        let key = ["status", "allocation", "imported"].map(|name| row[column(name)].to_owned());
        *counts.entry(key.into()).or_default() += 1;
        labels.insert(row[column("ticketLabel")].to_owned());
    }
    let of = |index: usize, value: &str| {
        let has = |key: &(String, String, String)| [&key.0, &key.1, &key.2][index] == value;
        counts.iter().filter(|(key, _)| has(key)).map(|(_, count)| count).sum::<usize>()
    };
    assert_eq!(of(0, "CHECKED_IN"), coming.len());
    assert_eq!((of(1, "Guest list"), of(1, "partner"), of(1, "")), (guests, imported, paid));
    assert_eq!(of(2, "true"), imported);
    assert!(labels.contains("Guest 1") && labels.contains("Block 3"), "{labels:?}");
    let summary = shop.summary(seats.event_id);
    assert_eq!(usize::try_from(summary.tickets_checked_in), Ok(coming.len()));
    let of_type = &summary.ticket_types[0];
    let without_order = [of_type.issued_without_order, of_type.imported].map(usize::try_from);
    assert_eq!(without_order, [Ok(guests), Ok(imported)]);
    assert_eq!(summary.gross_revenue, eur(1250 * i64::try_from(paid).expect("a number")));
    let list = shop.service().get_allocation(&caller, list).expect("the list");
    let inside = coming.iter().filter(|ticket| ticket.internal_allocation_id == Some(list.id)).count();
    assert_eq!(usize::try_from(list.checked_in), Ok(inside));

    // The next day does not take place.
    let tomorrow = shop.ticket_type(2000);
    for _ in 0..refunds {
        shop.sale(&tomorrow, 1);
    }
    shop.fixture.set_event_status(tomorrow.event_id, EventStatus::Cancelled).expect("cancelled");
    let request = CancelEventOrders::default().reason("Storm");
    shop.service().cancel_event_orders(&caller, tomorrow.event_id, request).expect("a run");
    shop.become_quiet();
    let run = shop.service().get_cancellation_run(&caller, tomorrow.event_id).expect("the run");
    assert_eq!((run.state, usize::try_from(run.refunds_done)), (CancellationRunState::Done, Ok(refunds)));
    let ledger: i64 = shop.ledger().iter().map(|entry| entry.amount.minor_units()).sum();
    let statement: i64 = shop.fake.all("balance_transaction").iter().map(|line| number(line, "amount")).sum();
    assert_eq!((ledger, statement), (1250 * i64::try_from(paid).expect("a number"), ledger));
    shop.assert_books_are_right("at the end of the day");
}
