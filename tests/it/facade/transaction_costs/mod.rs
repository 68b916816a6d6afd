//! What the longest transaction of each operation costs with the largest request that is allowed, in a store with many
//! rows: other writes wait for it.
//!
//! The numbers are those of SQLite, which are the same on every machine: statements, changed rows, and instructions of
//! its virtual machine. The bounds are an estimate of what an optimized build does in 50 ms.

mod operations;
mod store;

use std::fmt::Write as _;

use operations::{OPERATIONS, READS};
use store::Store;

use super::operations::OPERATIONS as TABLE;
use crate::common::long_runs::repetitions;
use crate::common::sources::{files_under, is_of_optional_feature};
use crate::common::transactions::{Cost, measured};
use crate::common::{Fixture, database, skipped};

/// The bounds of one transaction.
const MOST: Cost = Cost { statements: 3_000, rows: 3_000, steps: 1_000_000, time: std::time::Duration::MAX };

/// More rows than that: each imported ticket has its own, its holder, and its notification with what delivers it.
const MORE_ROWS: (&str, u64) = ("import_tickets", 4_100);

/// Rows of each kind in the smaller store: more than a batch of any background work.
const FEW: i64 = 1_050;

/// Rows of each kind in the larger store.
fn many() -> i64 {
    i64::try_from(repetitions("TICKETING_TRANSACTION_ROWS", 2_100)).expect("a number of rows")
}

/// The cost of an operation: its longest transaction by each number.
struct Row {
    operation: &'static str,
    transactions: usize,
    longest: Cost,
}

/// The method in the name of a row, before what it is about.
fn name_of(row: &'static str) -> &'static str {
    row.split(':').next().expect("a name")
}

fn costs(size: i64) -> Vec<Row> {
    let store = Store::new(size);
    let cost = |operation, call: Box<dyn FnOnce() + '_>| {
        let costs = measured(call);
        store.next_second();
        let longest = costs.iter().copied().fold(Cost::default(), Cost::max);
        Row { operation, transactions: costs.len(), longest }
    };
    let Fixture { service, caller, .. } = &store.fixture;
    let is_listed = |name| READS.contains(&name) || OPERATIONS.iter().any(|(listed, _)| name_of(listed) == name);
    let examples = TABLE.iter().filter(|operation| operation.changes() && !is_listed(operation.name));
    let examples = examples.map(|operation| {
        let call = || drop((operation.call)(service, caller, &store.ids).expect(operation.name));
        cost(operation.name, Box::new(call))
    });
    let largest = OPERATIONS.iter().map(|(operation, prepare)| cost(operation, prepare(&store)));
    examples.chain(largest).collect()
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:<48} {:>12} {:>10} {:>6} {:>9} {:>6}\n",
        "operation", "transactions", "statements", "rows", "steps", "ms"
    );
    for Row { operation, transactions, longest: Cost { statements, rows, steps, time } } in rows {
        let time = time.as_millis();
        writeln!(table, "{operation:<48} {transactions:>12} {statements:>10} {rows:>6} {steps:>9} {time:>6}").unwrap();
    }
    table
}

/// What is beyond the bounds, or greater in the larger store.
fn excesses(few: &[Row], many: &[Row]) -> Vec<String> {
    let mut excesses = Vec::new();
    for (few, many) in few.iter().zip(many) {
        let (operation, at_few, at_many) = (many.operation, few.longest, many.longest);
        assert!(many.transactions > 0, "{operation} was not measured");
        let most_rows = if operation == MORE_ROWS.0 { MORE_ROWS.1 } else { MOST.rows };
        for (what, at_few, at_many, most) in [
            ("statements", at_few.statements, at_many.statements, MOST.statements),
            ("rows", at_few.rows, at_many.rows, most_rows),
            ("steps", at_few.steps, at_many.steps, MOST.steps),
        ] {
            // A tree of twice as many rows may be a level deeper, which adds some steps to each search.
            if at_many > most || at_many > at_few + at_few / 10 + 20 {
                excesses.push(format!("{operation}: {at_few} and {at_many} {what}"));
            }
        }
    }
    excesses
}

#[test]
fn the_longest_transaction_of_every_operation_is_bounded_in_a_store_of_any_size() {
    if !database::is_file() {
        return skipped("transactions are measured by instructions of SQLite");
    }
    let [few, many] = [FEW, many()].map(|size| {
        let rows = costs(size);
        println!("{size} rows of each kind\n{}", table(&rows));
        rows
    });
    assert_eq!(excesses(&few, &many), [""; 0]);
}

#[test]
fn control_a_statement_that_reads_or_changes_all_rows_is_beyond_the_bounds() {
    if !database::is_file() {
        return skipped("transactions are measured by instructions of SQLite");
    }
    let cost_of_page_view = |trigger: &str, customers: i64| {
        let fixture = Fixture::new();
        let event = fixture.default_event().id;
        fixture.order(fixture.default_ticket_type(), 1);
        let database = fixture.database();
        let numbered = [("email", "'c' || n.i || '@example.com'"), ("email_key", "'c' || n.i || '@example.com'")];
        store::copies(&database, "customers", database.value("SELECT id FROM customers"), customers, &numbered);
        database.run(&format!("CREATE TRIGGER more AFTER UPDATE OF page_views ON events BEGIN {trigger}; END"));
        fixture.service.record_page_view(&fixture.caller, event).expect("counted");
        let costs = measured(|| assert_eq!(fixture.service.run_maintenance().expect("a run").skipped_rows, 0));
        let longest = costs.iter().copied().fold(Cost::default(), Cost::max);
        [Row { operation: "page views", transactions: costs.len(), longest }]
    };
    let excesses_with = |trigger, sizes: [i64; 2]| {
        let [few, many] = sizes.map(|customers| cost_of_page_view(trigger, customers));
        excesses(&few, &many)
    };
    assert_eq!(excesses_with("SELECT 1", [1000, 2000]), [""; 0]);
    let reads = excesses_with("SELECT COUNT(*) FROM customers WHERE created_at < 0", [1000, 2000]);
    assert!(reads.len() == 1 && reads[0].ends_with(" steps"), "{reads:?}");
    let changes = excesses_with("UPDATE customers SET metadata = NULL", [1000, 2000]);
    // One page view, one customer of the order, and the copies.
    assert_eq!(changes[0], "page views: 1002 and 2002 rows");
    // The same number in both stores, but too many.
    assert_eq!(
        excesses_with("UPDATE customers SET metadata = NULL", [3000, 3000])[0],
        "page views: 3002 and 3002 rows"
    );
}

#[test]
fn every_operation_that_writes_is_measured() {
    let mut found = Vec::new();
    for file in files_under("src/service").iter().filter(|file| !is_of_optional_feature(file)) {
        let text = std::fs::read_to_string(file).expect("text");
        for part in text.split("    pub fn ").skip(1) {
            let (signature, _) = part.split_once('{').expect("a body");
            let (name, parameters) = signature.split_once(['(', '<']).expect("parameters");
            if parameters.contains("&self") {
                found.push(name.to_owned());
            }
        }
    }
    let named = OPERATIONS.iter().map(|(operation, _)| name_of(operation)).chain(READS.iter().copied());
    let mut named: Vec<_> = named.chain(TABLE.iter().map(|operation| operation.name)).map(str::to_owned).collect();
    named.sort_unstable();
    named.dedup();
    found.sort_unstable();
    found.dedup();
    let missing: Vec<_> = found.iter().filter(|name| !named.contains(name)).collect();
    let gone: Vec<_> = named.iter().filter(|name| !found.contains(name)).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not listed: {missing:?}; listed, and no method: {gone:?}");
}
