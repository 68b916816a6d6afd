//! The schema, as a list of migrations.
//!
//! The header of a database has the number of migrations that were applied. When it is opened, the missing ones run in
//! one transaction, during which nobody else writes. A database with more migrations than [`SQLITE`] is refused: a
//! newer version has migrated it.
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

/// The same for both engines: after it, `engine/comparison_keys.rs` computes the keys by which texts are compared.
pub(in crate::store) const COMPARISON_KEYS: &str = include_str!("sqlite/0044_comparison_keys.sql");

#[cfg(feature = "postgres")]
pub(in crate::store) const POSTGRES: &[&str] = &[
    include_str!("postgres/0001_schema.sql"),
    include_str!("postgres/0002_notification_types.sql"),
    include_str!("postgres/0003_checkout_gateways.sql"),
    include_str!("postgres/0004_ledger.sql"),
    include_str!("postgres/0005_payments_in_ledger.sql"),
    include_str!("postgres/0006_payment_checks.sql"),
    include_str!("postgres/0007_webhook_notifications.sql"),
    include_str!("postgres/0008_scan_log.sql"),
    include_str!("postgres/0009_ticket_logos.sql"),
    include_str!("postgres/0010_event_days.sql"),
    include_str!("postgres/0011_idempotency_senders.sql"),
    include_str!("postgres/0012_scan_limits.sql"),
    include_str!("postgres/0013_comparison_keys.sql"),
    include_str!("postgres/0014_manual_payments.sql"),
    include_str!("postgres/0015_organization_pages.sql"),
];

/// The version of the schema of PostgreSQL that this program works with: how many migrations it knows.
#[cfg(feature = "postgres")]
pub(in crate::store) fn known_of_postgres() -> i64 {
    i64::try_from(POSTGRES.len()).unwrap_or(i64::MAX)
}

/// The version of the schema of a file that this program works with: how many migrations it knows.
pub(in crate::store) fn known_of_sqlite() -> i64 {
    i64::try_from(SQLITE.len()).unwrap_or(i64::MAX)
}

pub(in crate::store) const SQLITE: &[&str] = &[
    include_str!("sqlite/0001_main_job.sql"),
    include_str!("sqlite/0002_discounts.sql"),
    include_str!("sqlite/0003_idempotency.sql"),
    include_str!("sqlite/0004_refused_refunds.sql"),
    include_str!("sqlite/0005_webhooks.sql"),
    include_str!("sqlite/0006_tenants.sql"),
    include_str!("sqlite/0007_order_filters.sql"),
    include_str!("sqlite/0008_notification_handlers.sql"),
    include_str!("sqlite/0009_metadata.sql"),
    include_str!("sqlite/0010_payments_scope.sql"),
    include_str!("sqlite/0011_checkout_leases.sql"),
    include_str!("sqlite/0012_suspended_keys.sql"),
    include_str!("sqlite/0013_sales_figures.sql"),
    include_str!("sqlite/0014_event_cancellations.sql"),
    include_str!("sqlite/0015_list_filters.sql"),
    include_str!("sqlite/0016_maintenance_clock.sql"),
    include_str!("sqlite/0017_fan_outs.sql"),
    include_str!("sqlite/0018_customer_limit.sql"),
    include_str!("sqlite/0019_filter_ranges.sql"),
    include_str!("sqlite/0020_webhook_removals.sql"),
    include_str!("sqlite/0021_usable_keys.sql"),
    include_str!("sqlite/0022_handler_turns.sql"),
    include_str!("sqlite/0023_expired_holds.sql"),
    include_str!("sqlite/0024_several_refunds.sql"),
    include_str!("sqlite/0025_checkouts.sql"),
    include_str!("sqlite/0026_disputes.sql"),
    include_str!("sqlite/0027_settled_refunds.sql"),
    include_str!("sqlite/0028_renewed_checkouts.sql"),
    include_str!("sqlite/0029_payment_references.sql"),
    include_str!("sqlite/0030_document_links.sql"),
    include_str!("sqlite/0031_plain_checks.sql"),
    include_str!("sqlite/0032_ticket_locale.sql"),
    include_str!("sqlite/0033_notification_types.sql"),
    include_str!("sqlite/0034_checkout_gateways.sql"),
    include_str!("sqlite/0035_ledger.sql"),
    include_str!("sqlite/0036_payments_in_ledger.sql"),
    include_str!("sqlite/0037_payment_checks.sql"),
    include_str!("sqlite/0038_webhook_notifications.sql"),
    include_str!("sqlite/0039_scan_log.sql"),
    include_str!("sqlite/0040_ticket_logos.sql"),
    include_str!("sqlite/0041_event_days.sql"),
    include_str!("sqlite/0042_idempotency_senders.sql"),
    include_str!("sqlite/0043_scan_limits.sql"),
    COMPARISON_KEYS,
    include_str!("sqlite/0045_manual_payments.sql"),
    include_str!("sqlite/0046_organization_pages.sql"),
];
