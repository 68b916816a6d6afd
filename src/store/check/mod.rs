//! Checks a store: the database file itself, and every invariant of the data in it. A check reads one snapshot and
//! writes nothing.
//!
//! - An [`Invariant`] is a rule whose violations SQL can find. There is a list for each area: `sales`, `summary`,
//!   `orders`, `payments`, `tickets`, `webhooks`.
//! - A [`RowRule`](values::RowRule) is a rule about the values of one row that SQL cannot express, such as the form of
//!   a slug.
//! - Notifications are parsed one by one and compared with the orders and tickets that they report (`webhooks`).
//!
//! To add a rule, add an entry to one of these lists, and a test that breaks it in `tests/storage/check.rs`.

mod damage;
mod invariant;
mod orders;
mod payments;
mod sales;
mod summary;
mod tickets;
mod values;
mod webhooks;

use super::{Location, Transaction, migrations};
use crate::environment::Environment;
use crate::error::Result;
use crate::model::check::{CheckReport, Finding};
use damage::report_damage;
use invariant::Invariant;

const INVARIANTS: &[&[Invariant]] = &[
    sales::INVARIANTS,
    summary::INVARIANTS,
    orders::INVARIANTS,
    payments::INVARIANTS,
    tickets::INVARIANTS,
    webhooks::INVARIANTS,
];

/// The names of the checks of the file itself.
const INTEGRITY: &str = "integrity";
const FOREIGN_KEYS: &str = "foreign-keys";

/// Checks everything in the snapshot that `tx` reads.
pub(crate) fn run(tx: &Transaction<'_>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    check_integrity(tx, &mut report)?;
    check_invariants(tx, &mut report)?;
    Ok(report)
}

fn check_invariants(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    for invariant in INVARIANTS.iter().copied().flatten() {
        check_invariant(tx, invariant, report)?;
    }
    values::check(tx, report)?;
    webhooks::check(tx, report)
}

/// Checks the database at `location` without changing it.
pub(crate) fn check_file(location: &Location, environment: &Environment) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let checked = location.inspect(migrations::ALL).and_then(|database| {
        // Damaged data cannot be migrated.
        database.read(environment, |tx| check_integrity(tx, &mut report))?;
        let is_current = database.is_current(migrations::ALL);
        if !report.is_clean() && !is_current {
            return Ok(());
        }
        database.migrated(migrations::ALL)?.read(environment, |tx| check_invariants(tx, &mut report))
    });
    report_damage(checked, |problem| report.add(damaged(problem)))?;
    Ok(report)
}

fn damaged(sentence: String) -> Finding {
    Finding { invariant: INTEGRITY.into(), table: String::new(), row: None, sentence }
}

/// Checks the pages, the indexes, the CHECK constraints and the foreign keys of the file.
fn check_integrity(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    let checked = tx.check_integrity(CheckReport::LISTED, |problem| report.add(damaged(problem)));
    report_damage(checked, |problem| report.add(damaged(problem)))?;

    let checked = tx.check_references(|reference| {
        let table = reference.referenced_table;
        let sentence = format!("the row must refer to an existing row of {table}");
        let row = reference.row.map(|key| key.to_string());
        report.add(Finding { invariant: FOREIGN_KEYS.into(), table: reference.table, row, sentence });
    });
    report_damage(checked, |problem| report.add(damaged(problem)))
}

fn check_invariant(tx: &Transaction<'_>, invariant: &Invariant, report: &mut CheckReport) -> Result<()> {
    let finding =
        |row, sentence| Finding { invariant: invariant.name.into(), table: invariant.table.to_owned(), row, sentence };
    let checked = tx.query_each(invariant.violations, &[], |row| {
        let key = row.get("id").ok().map(|key: i64| key.to_string());
        report.add(finding(key, invariant.sentence.to_owned()));
        Ok(())
    });
    report_damage(checked, |problem| report.add(finding(None, problem)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use std::sync::Arc;

    use super::*;
    use crate::environment::{ManualClock, SeededEntropy};
    use crate::model::timestamp::Timestamp;
    use crate::store::{MigrationOptions, ReaderOptions, Store};

    #[test]
    fn every_query_returns_the_key_as_id() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let environment = Environment { clock, entropy: Arc::new(SeededEntropy::new(1)) };
        let store = Store::open(
            &Location::new(folder.path().join("ticketing.db"), None),
            ReaderOptions::default(),
            MigrationOptions::default(),
            environment,
        )
        .unwrap();
        let violations = INVARIANTS.iter().copied().flatten().map(|invariant| invariant.violations);
        for sql in violations.chain(values::queries()) {
            let ids =
                store.read(|tx| tx.query_all(&format!("SELECT rows.id FROM ({sql}) rows"), &[], |row| row.get("id")));
            assert_eq!(ids, Ok(Vec::<i64>::new()), "{sql}");
        }
    }

    #[test]
    fn each_name_is_given_once_and_written_in_words_with_hyphens() {
        let names = INVARIANTS.iter().copied().flatten().map(|invariant| invariant.name);
        let names: Vec<_> =
            names.chain(values::names()).chain(webhooks::names()).chain([INTEGRITY, FOREIGN_KEYS]).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
    }
}
