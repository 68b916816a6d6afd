//! The schema, as a list of migrations: the schema of version 0.3.0, and what came after it.
//!
//! A database has the version of its schema: the number of its last migration. When it is opened, the missing ones run
//! in one transaction, during which nobody else writes. A database with a later version than that of [`SQLITE`] is
//! refused: a newer program has migrated it. A database of 0.1 or 0.2 is refused too: version 0.3 upgrades it.
//!
//! To add a migration, write a file with the next number in `sqlite/` and one in `postgres/`, and append them to
//! [`SQLITE`] and `POSTGRES`. Then:
//! - Never change or remove a migration that was released.
//! - Give a new column a default, or fill it in the migration.
//! - Keep it fast: a migration blocks all writers, and a database may have millions of rows.
//! - Use STRICT tables, CHECK constraints, and a FOREIGN KEY for every reference.
//! - In a CHECK of a frequently written table, compare a text with `a = 'X' OR a = 'Y' OR a = 'Z'`. For IN with more
//!   than two values, SQLite fills a temporary table for each row.
//! - Add a query for every new index to `engine/sqlite/query_plan_tests.rs`: a test finds those that are missing. If an
//!   operation reports a violation of a unique index as a conflict, add the index to `Constraint` in
//!   `engine/sql/violation.rs`.

use crate::error::{Result, StoreErrorKind};

/// The migrations of an engine.
pub(in crate::store) struct Migrations {
    /// The version of the schema of 0.3.0, which the first migration creates.
    first: i64,
    texts: &'static [&'static str],
}

impl Migrations {
    /// The version of the schema that this program works with.
    pub(in crate::store) fn known(&self) -> i64 {
        i64::try_from(self.texts.len()).map_or(i64::MAX, |number| self.first + number - 1)
    }

    /// The migrations that a database needs whose schema has the version `found`: all if it is 0. `None` if the version
    /// is later than the known one.
    pub(in crate::store) fn missing(&self, found: i64) -> Result<Option<&'static [&'static str]>> {
        if (1..self.first).contains(&found) {
            let problem =
                "its schema is that of version 0.2 or earlier: open it once with version 0.3, which upgrades it";
            return Err(StoreErrorKind::CannotOpen(problem.to_owned()).into());
        }
        let applied = if found == 0 { Some(0) } else { usize::try_from(found - self.first + 1).ok() };
        Ok(applied.and_then(|applied| self.texts.get(applied..)))
    }
}

/// The same for both engines: after it, `engine/comparison_keys.rs` computes the keys by which texts are compared.
pub(in crate::store) const COMPARISON_KEYS: &str = include_str!("sqlite/0044_comparison_keys.sql");

pub(in crate::store) const SQLITE: Migrations = Migrations {
    first: 39,
    texts: &[
        include_str!("sqlite/0039_schema.sql"),
        include_str!("sqlite/0040_ticket_logos.sql"),
        include_str!("sqlite/0041_event_days.sql"),
        include_str!("sqlite/0042_idempotency_senders.sql"),
        include_str!("sqlite/0043_scan_limits.sql"),
        COMPARISON_KEYS,
        include_str!("sqlite/0045_manual_payments.sql"),
        include_str!("sqlite/0046_organization_pages.sql"),
        include_str!("sqlite/0047_work.sql"),
        include_str!("sqlite/0048_payment_checks.sql"),
        include_str!("sqlite/0049_refunds.sql"),
        include_str!("sqlite/0050_checkouts.sql"),
        include_str!("sqlite/0051_row_changes.sql"),
        include_str!("sqlite/0052_expansion.sql"),
        include_str!("sqlite/0053_generations.sql"),
        include_str!("sqlite/0054_mails.sql"),
        include_str!("sqlite/0055_reports.sql"),
        include_str!("sqlite/0056_cancellation_runs.sql"),
        include_str!("sqlite/0057_cancelled_tickets.sql"),
        include_str!("sqlite/0058_sales_figures.sql"),
        include_str!("sqlite/0059_guest_lists.sql"),
    ],
};

#[cfg(feature = "postgres")]
pub(in crate::store) const POSTGRES: Migrations = Migrations {
    first: 8,
    texts: &[
        include_str!("postgres/0008_schema.sql"),
        include_str!("postgres/0009_ticket_logos.sql"),
        include_str!("postgres/0010_event_days.sql"),
        include_str!("postgres/0011_idempotency_senders.sql"),
        include_str!("postgres/0012_scan_limits.sql"),
        include_str!("postgres/0013_comparison_keys.sql"),
        include_str!("postgres/0014_manual_payments.sql"),
        include_str!("postgres/0015_organization_pages.sql"),
        include_str!("postgres/0016_work.sql"),
        include_str!("postgres/0017_payment_checks.sql"),
        include_str!("postgres/0018_refunds.sql"),
        include_str!("postgres/0019_checkouts.sql"),
        include_str!("postgres/0020_row_changes.sql"),
        include_str!("postgres/0021_expansion.sql"),
        include_str!("postgres/0022_generations.sql"),
        include_str!("postgres/0023_mails.sql"),
        include_str!("postgres/0024_reports.sql"),
        include_str!("postgres/0025_cancellation_runs.sql"),
        include_str!("postgres/0026_cancelled_tickets.sql"),
        include_str!("postgres/0027_sales_figures.sql"),
        include_str!("postgres/0028_guest_lists.sql"),
    ],
};
