//! Looks whether a store is as it must be: the file, and every invariant of the domain. It reads one state and writes
//! nothing.
//!
//! What SQL can state is a row of a table of [`Invariant`]s, whose query finds the rows that break it. What it cannot, such
//! as the folding of a text, is a row of the table of [`values::Value`]s. What notifications say is read one by one.

mod orders;
mod payments;
mod sales;
mod tickets;
mod values;
mod webhooks;

use super::Transaction;
use crate::error::{Error, Result, StoreError};
use crate::model::check::{CheckReport, Finding};

/// Something that holds of every store at every instant.
struct Invariant {
    /// Its name, for good: programs look for it.
    name: &'static str,
    /// Whose rows break it.
    table: &'static str,
    /// What must hold, for a person.
    sentence: &'static str,
    /// Finds the rows that break it, and gives their keys.
    broken: &'static str,
}

const INVARIANTS: &[&[Invariant]] =
    &[sales::INVARIANTS, orders::INVARIANTS, payments::INVARIANTS, tickets::INVARIANTS, webhooks::INVARIANTS];

/// What the file itself is checked for.
const INTEGRITY: &str = "integrity";
const FOREIGN_KEYS: &str = "foreign-keys";

/// Checks everything on the state that `tx` reads.
pub(crate) fn run(tx: &Transaction<'_>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    check_file(tx, &mut report)?;
    for invariant in INVARIANTS.iter().copied().flatten() {
        let finding = |row| Finding {
            invariant: invariant.name,
            table: invariant.table.to_owned(),
            row,
            sentence: invariant.sentence.to_owned(),
        };
        let looked = tx.query_each(invariant.broken, &[], |row| {
            report.add(finding(row.get("id").ok().map(|key: i64| key.to_string())));
            Ok(())
        });
        unless_damaged(looked, |problem| report.add(Finding { sentence: problem, ..finding(None) }))?;
    }
    values::check(tx, &mut report)?;
    webhooks::check(tx, &mut report)?;
    Ok(report)
}

/// Whether the pages, the indexes and the CHECKs of the schema are sound, and every reference leads somewhere.
fn check_file(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    let damaged = |sentence| Finding { invariant: INTEGRITY, table: String::new(), row: None, sentence };
    let looked = tx.check_integrity(CheckReport::LISTED, |problem| report.add(damaged(problem)));
    unless_damaged(looked, |problem| report.add(damaged(problem)))?;
    let looked = tx.check_references(|table, row, other| {
        let sentence = format!("what a row refers to is there: here, its row of {other} is missing");
        report.add(Finding { invariant: FOREIGN_KEYS, table, row: row.map(|key| key.to_string()), sentence });
    });
    unless_damaged(looked, |problem| report.add(damaged(problem)))
}

/// Takes note of what cannot be read because it is damaged. That is what a check is for, and it goes on.
fn unless_damaged(looked: Result<()>, note: impl FnOnce(String)) -> Result<()> {
    match looked {
        Err(Error::Store(error @ (StoreError::Damaged(_) | StoreError::CorruptRow { .. }))) => {
            note(error.to_string());
            Ok(())
        }
        // Numbers so large that they cannot be added up.
        Err(Error::Store(StoreError::Failed(text))) if text.contains("integer overflow") => {
            note("the numbers are too large to be added up".to_owned());
            Ok(())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use std::sync::Arc;

    use super::*;
    use crate::environment::{Environment, ManualClock, SeededEntropy};
    use crate::model::timestamp::Timestamp;
    use crate::store::{Location, Store};

    #[test]
    fn every_query_returns_the_key_as_id() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(0)));
        let environment = Environment { clock, entropy: Arc::new(SeededEntropy::new(1)) };
        let store = Store::open(&Location::new(folder.path().join("ticketing.db"), None), 1, environment).unwrap();
        let broken = INVARIANTS.iter().copied().flatten().map(|invariant| invariant.broken);
        for sql in broken.chain(values::queries()) {
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
