//! Checks a store: the database file itself, and every invariant of the data in it. A check writes nothing.
//!
//! A check consists of [steps](steps). Each step reads its own snapshot. A change between two steps is no finding,
//! because every snapshot obeys every invariant. Between the steps, the write-ahead log can be emptied.
//!
//! - An [`Invariant`] is a rule whose violations SQL can find, and a [`RowInvariant`](invariant::RowInvariant) one
//!   whose violations an expression finds in a single row. There are lists for each area: `sales`, `summary`,
//!   `order_rows`, `money`, `checkouts`, `tickets`, `webhooks`.
//! - A [`RowRule`](values::RowRule) is a rule about the values of one row that SQL cannot express, such as the form of
//!   a slug.
//! - Notifications are parsed one by one and compared with the orders and tickets that they report (`webhooks`).
//!
//! To add a rule, add an entry to one of these lists, and a test that breaks it in `tests/it/storage/check.rs`.

mod allocations;
mod checkouts;
mod damage;
mod invariant;
mod mails;
mod money;
mod order_rows;
mod runner;
mod sales;
mod scans;
mod steps;
mod summary;
mod tickets;
mod values;
mod webhooks;

use super::Location;
use super::engine::snapshots::Snapshots;
use crate::environment::Environment;
use crate::error::Result;
use crate::model::operation::check::CheckReport;
use damage::report_damage;
use runner::{Progress, Runner};
use steps::{damaged, data_steps, file_steps};

/// Checks a database with the current schema.
pub(in crate::store) fn run(database: &dyn Snapshots, progress: Progress<'_>) -> Result<CheckReport> {
    let steps: Vec<_> = file_steps(database)?.into_iter().chain(data_steps()).collect();
    Runner::new(steps.len(), progress).run(database, &steps)
}

/// Checks the database at `location` without changing it.
pub(crate) fn check_file(
    location: &Location,
    environment: &Environment,
    progress: Progress<'_>,
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let checked = inspect(location, environment, progress, &mut report);
    report_damage(checked, |problem| report.add(damaged(problem)))?;
    Ok(report)
}

fn inspect(
    location: &Location,
    environment: &Environment,
    progress: Progress<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let database = location.inspect()?;
    let snapshots = database.snapshots(environment);
    if database.is_current {
        report.append(run(&snapshots, progress)?);
        return Ok(());
    }
    let (file, data) = (file_steps(&snapshots)?, data_steps());
    let mut runner = Runner::new(file.len() + data.len(), progress);
    report.append(runner.run(&snapshots, &file)?);
    // Damaged data cannot be migrated.
    if report.is_clean() {
        let database = database.migrated()?;
        report.append(runner.run(&database.snapshots(environment), &data)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::steps::{FOREIGN_KEYS, INTEGRITY, INVARIANTS, ROWS};
    use super::{values, webhooks};
    use crate::store::Store;

    #[test]
    fn every_query_returns_the_key_as_id() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        let violations = INVARIANTS.iter().copied().flatten().map(|invariant| invariant.violations);
        let mut queries: Vec<_> =
            violations.chain(values::RULES.iter().map(|rule| rule.rows)).map(str::to_owned).collect();
        for rows in ROWS {
            queries.push(rows.any_violation());
            queries.extend(rows.rules.iter().map(|rule| rows.violations(rule)));
        }
        for sql in queries {
            let ids =
                store.read(|tx| tx.query_all(&format!("SELECT rows.id FROM ({sql}) rows"), &[], |row| row.get("id")));
            assert_eq!(ids, Ok(Vec::<i64>::new()), "{sql}");
        }
    }

    #[test]
    fn each_name_is_given_once_and_written_in_words_with_hyphens() {
        let names = INVARIANTS.iter().copied().flatten().map(|invariant| invariant.name);
        let of_rows = ROWS.iter().flat_map(|rows| rows.rules).map(|rule| rule.name);
        let names: Vec<_> = names
            .chain(of_rows)
            .chain(values::RULES.iter().map(|rule| rule.name))
            .chain(webhooks::names())
            .chain([INTEGRITY, FOREIGN_KEYS])
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
    }
}
