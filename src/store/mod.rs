//! Persistence: the statements of every table, and the transactions in which they run.
//!
//! There is a file for each table or resource. It holds the statements next to the functions that run them and decode
//! their rows. `engine` runs transactions, `migrations` defines the schema, and `check` looks for violated invariants.
//! The store makes no business decisions: `sales` and `rules` do.
//!
//! To add a statement, write its text as a `const` in the file of its table:
//! - Use only SQL that both SQLite and PostgreSQL accept; `tests/portable_sql.rs` checks this.
//! - Write parameters as `?1`, `?2`, …
//! - Give every selected column a unique name, because rows are read by column name. Use `AS` for expressions and for
//!   the second of two columns with the same name.
//! - If it inserts a row under a new id, end it with `ON CONFLICT (id) DO NOTHING`, and run it with
//!   [`Transaction::insert`].
//! - If it changes the sale of an event, its function takes the [`LockedEvent`] in place of the [`Transaction`].
//! - If it is a list or runs often, add an entry to `engine/sqlite/query_plan_tests.rs` with the index that it uses.
//!
//! To add a table or a column, add a migration (see `migrations`) and the statements, and add the
//! invariants of the stored data to `check`.

pub(crate) mod api_keys;
pub(crate) mod attempt_results;
pub(crate) mod attempts;
pub(crate) mod change_context;
pub(crate) mod check;
pub(crate) mod checkout_attempts;
pub(crate) mod checkout_parameters;
pub(crate) mod checkout_renewals;
pub(crate) mod checkouts;
mod columns;
mod commit_notifier;
mod counters;
mod currency;
pub(crate) mod customer_limit;
pub(crate) mod customers;
mod database;
pub(crate) mod deliveries;
pub(crate) mod discount_uses;
pub(crate) mod discounts;
pub(crate) mod disputes;
#[cfg(feature = "documents")]
pub(crate) mod document_links;
mod engine;
pub(crate) mod event_cancellations;
pub(crate) mod event_lists;
pub(crate) mod events;
pub(crate) mod fan_outs;
mod gateway_columns;
pub(crate) mod gateway_identity;
pub(crate) mod handler_queue;
pub(crate) mod idempotency_records;
pub(crate) mod ledger;
mod link_urls;
#[cfg(feature = "documents")]
pub(crate) mod link_versions;
mod lists;
mod lists_of_money;
mod lists_of_orders;
pub(crate) mod maintenance_clock;
mod migrations;
mod newest_id;
pub(crate) mod order_details;
pub(crate) mod order_items;
pub(crate) mod order_lists;
pub(crate) mod order_status;
pub(crate) mod orders;
pub(crate) mod organization_usage;
pub(crate) mod organizations;
pub(crate) mod outbox;
pub(crate) mod outbox_backlog;
mod outbox_rows;
mod page_ids;
mod pages;
pub(crate) mod payments;
#[cfg(feature = "documents")]
pub(crate) mod printed_tickets;
pub(crate) mod reconciliation;
pub(crate) mod refunds;
pub(crate) mod sales_figures;
pub(crate) mod scans;
pub(crate) mod seat_counts;
mod subscribed_endpoints;
mod subscriptions;
pub(crate) mod summary;
pub(crate) mod ticket_lists;
pub(crate) mod ticket_types;
pub(crate) mod tickets;
mod webhook_notifications;
pub(crate) mod webhook_removals;
pub(crate) mod webhook_retention;
pub(crate) mod webhooks;

pub(crate) use commit_notifier::CommitListener;
pub(crate) use counters::CommitEvent;
pub(crate) use database::Store;
pub(crate) use engine::{
    Bind, EngineOptions, EventKey, Location, LockedEvent, MigrationOptions, ReaderOptions, Row, Savepoint, Transaction,
};
use engine::{Constraint, RowLength, RowLock, on_violation};
#[cfg(feature = "postgres")]
pub(crate) use engine::{PostgresOptions, ServerClock};
pub(crate) use subscriptions::Subscription;
