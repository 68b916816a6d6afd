//! The steps of a check. Each reads one snapshot.

use super::damage::report_damage;
use super::invariant::{Invariant, RowInvariants};
use super::values::{self, RowRule};
use super::{allocations, checkouts, mails, money, order_rows, sales, scans, summary, tickets, webhooks};
use crate::error::Result;
use crate::model::operation::check::{CheckReport, Finding};
use crate::store::engine::snapshots::Snapshots;
use crate::store::engine::sqlite::tables;
use crate::store::{Savepoint, Transaction};

pub(super) const INVARIANTS: &[&[Invariant]] = &[
    sales::INVARIANTS,
    scans::INVARIANTS,
    summary::INVARIANTS,
    money::INVARIANTS,
    checkouts::INVARIANTS,
    webhooks::INVARIANTS,
    mails::INVARIANTS,
    allocations::INVARIANTS,
];

pub(super) const ROWS: &[RowInvariants] =
    &[tickets::TICKETS, scans::SCANS, order_rows::ORDERS, order_rows::SUMS, order_rows::ITEMS];

/// The names of the checks of the file itself.
pub(super) const INTEGRITY: &str = "integrity";
pub(super) const FOREIGN_KEYS: &str = "foreign-keys";

pub(super) enum Step {
    /// The pages of the file, also those that belong to no table, and the types and CHECK constraints of all columns.
    Pages,
    Indexes(String),
    /// The foreign keys of a table.
    References(String),
    Rows(&'static RowInvariants),
    Invariant(&'static Invariant),
    Rule(&'static RowRule),
    /// The bodies of notifications.
    Notifications,
    /// How many rows the tables have, which says what the other steps have looked at.
    Count,
}

/// The tables whose rows are counted, and what they are called.
const COUNTED: [(&str, &str); 10] = [
    ("events", "events"),
    ("ticket_types", "ticketTypes"),
    ("customers", "customers"),
    ("orders", "orders"),
    ("tickets", "tickets"),
    ("scans", "scans"),
    ("payments", "payments"),
    ("refunds", "refunds"),
    ("webhook_endpoints", "webhookEndpoints"),
    ("webhook_outbox", "notifications"),
];

/// The steps that check the file itself, those of the largest tables first. There are none if the database is no file.
pub(super) fn file_steps(database: &dyn Snapshots) -> Result<Vec<Step>> {
    if !database.is_file() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    let read = database.open()?.read(&mut |tx| {
        names = tables(tx)?;
        Ok(())
    });
    // If even the list of tables cannot be read, the check of the pages says so.
    drop(read);
    names.sort_by_key(|table| !matches!(table.as_str(), "tickets" | "orders" | "order_items" | "webhook_outbox"));
    let references: Vec<_> = names.iter().cloned().map(Step::References).collect();
    let indexes = names.into_iter().map(Step::Indexes);
    Ok(std::iter::once(Step::Pages).chain(indexes).chain(references).collect())
}

/// The steps that check the data in the current schema.
pub(super) fn data_steps() -> Vec<Step> {
    let rows = ROWS.iter().map(Step::Rows);
    let invariants = INVARIANTS.iter().copied().flatten().map(Step::Invariant);
    rows.chain(invariants)
        .chain(values::RULES.iter().map(Step::Rule))
        .chain([Step::Notifications, Step::Count])
        .collect()
}

impl Step {
    /// Whether the step mostly looks up rows, instead of reading tables and indexes in their order.
    pub(super) fn looks_up_rows(&self) -> bool {
        match self {
            Self::Pages | Self::Indexes(_) | Self::Rule(_) | Self::Count => false,
            Self::References(_) | Self::Rows(_) | Self::Invariant(_) | Self::Notifications => true,
        }
    }

    /// Runs the step on the snapshot that `tx` reads.
    pub(super) fn run(&self, tx: &Transaction<'_>) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        match self {
            Self::Pages => {
                let checked = tx.check_pages(CheckReport::LISTED, |problem| report.add(damaged(problem)));
                report_damage(checked, |problem| report.add(damaged(problem)))?;
            }
            Self::Indexes(table) => {
                let checked = tx.check_indexes(table, |problem| report.add(damaged(problem)));
                report_damage(checked, |problem| report.add(damaged(problem)))?;
            }
            Self::References(table) => check_references(tx, table, &mut report)?,
            Self::Rows(invariants) => check_rows(tx, invariants, &mut report)?,
            Self::Invariant(Invariant { name, table, sentence, violations }) => {
                check_query(tx, name, table, sentence, violations, &mut report)?;
            }
            Self::Rule(rule) => values::check_rule(tx, rule, &mut report)?,
            Self::Notifications => webhooks::check(tx, &mut report)?,
            Self::Count => count_rows(tx, &mut report)?,
        }
        Ok(report)
    }
}

pub(super) fn damaged(sentence: String) -> Finding {
    Finding { invariant: INTEGRITY.into(), table: String::new(), row: None, sentence }
}

fn check_references(tx: &Transaction<'_>, table: &str, report: &mut CheckReport) -> Result<()> {
    let checked = tx.check_references(table, |reference| {
        let table = reference.referenced_table;
        let sentence = format!("the row must refer to an existing row of {table}");
        let row = reference.row.map(|key| key.to_string());
        report.add(Finding { invariant: FOREIGN_KEYS.into(), table: reference.table, row, sentence });
    });
    report_damage(checked, |problem| report.add(damaged(problem)))
}

/// Counts the rows of the tables. One that cannot be read is left out: other steps report that.
fn count_rows(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    for (table, name) in COUNTED {
        let counted = tx.savepoint(|tx| {
            tx.query_opt(&format!("SELECT COUNT(*) AS number FROM {table}"), &[], |row| row.get::<i64>("number"))
        });
        if let Savepoint::Released(Some(number)) = counted? {
            report.checked.insert(name.to_owned(), u64::try_from(number).unwrap_or_default());
        }
    }
    Ok(())
}

/// Checks rules about the rows of one table.
fn check_rows(tx: &Transaction<'_>, invariants: &RowInvariants, report: &mut CheckReport) -> Result<()> {
    // Mostly, no row breaks any rule. If one does, or cannot be read, each rule is checked by itself.
    if let Savepoint::Released(false) = tx.savepoint(|tx| tx.exists(&invariants.any_violation(), &[]))? {
        return Ok(());
    }
    for rule in invariants.rules {
        check_query(tx, rule.name, invariants.table, rule.sentence, &invariants.violations(rule), report)?;
    }
    Ok(())
}

/// Reports each row that a query returns. It runs in a savepoint: on PostgreSQL, a query that fails, because of a sum
/// that is too large for example, would keep the transaction from further ones.
fn check_query(
    tx: &Transaction<'_>,
    name: &str,
    table: &str,
    sentence: &str,
    violations: &str,
    report: &mut CheckReport,
) -> Result<()> {
    let finding = |row, sentence| Finding { invariant: name.into(), table: table.to_owned(), row, sentence };
    let queried = tx.savepoint(|tx| {
        tx.query_each(violations, &[], |row| {
            let key = row.get("id").ok().map(|key: i64| key.to_string());
            report.add(finding(key, sentence.to_owned()));
            Ok(())
        })
    });
    let checked = match queried? {
        Savepoint::Released(()) => Ok(()),
        Savepoint::RolledBack(error) => Err(error),
    };
    report_damage(checked, |problem| report.add(finding(None, problem)))
}
