//! Persistence: the statements of every table, and the transactions in which they run.
//!
//! There is a file for each table or resource, in the folder of its subject: `tenants`, `sale`, `tickets`, `order`,
//! `money`, `webhooks`. It holds the statements next to the functions that run them and decode their rows. `lists` has the
//! filtered lists, and `commits` what is reported when a transaction is durable. `engine` runs transactions,
//! `migrations` defines the schema, and `check` looks for violated invariants. The store makes no business decisions:
//! `sales` and `rules` do.
//!
//! To add a statement, write its text as a `const` in the file of its table:
//! - Use only SQL that both SQLite and PostgreSQL accept; `tests/it/source/portable_sql.rs` checks this.
//! - Write parameters as `?1`, `?2`, …
//! - Give every selected column a unique name, because rows are read by column name. Use `AS` for expressions and for
//!   the second of two columns with the same name.
//! - If it finds a row by its id, keep its other conditions out of the indexes of all rows in a state: write
//!   `status || '' = 'PENDING'` and `+due_at <= ?2`. With statistics of a time when nothing was pending, PostgreSQL
//!   would look for the row among all that are pending now.
//! - If it inserts a row under a new id, end it with `ON CONFLICT (id) DO NOTHING`, and run it with
//!   [`Transaction::insert`].
//! - If it changes the sale of an event, its function takes the [`LockedEvent`] in place of the [`Transaction`].
//! - If it is a list or runs often, add an entry to `engine/sqlite/query_plan_tests.rs` with the index that it uses.
//!
//! To add a table or a column, add a migration (see `migrations`) and the statements, and add the
//! invariants of the stored data to `check`.

pub(crate) mod check;
mod columns;
mod commits;
mod engine;
mod link_urls;
pub(crate) mod lists;
pub(crate) mod maintenance_clock;
mod migrations;
pub(crate) mod money;
mod newest_id;
mod open_database;
pub(crate) mod order;
pub(crate) mod sale;
pub(crate) mod tenants;
pub(crate) mod tickets;
pub(crate) mod webhooks;
pub(crate) mod work;

pub(crate) use commits::commit_notifier::{CommitListener, CommittedWork};
pub(crate) use commits::counters::CommitEvent;
pub(crate) use engine::{
    Bind, EngineOptions, EventKey, Location, Lock, LockedEvent, MigrationOptions, ReaderOptions, Row, Savepoint,
    Transaction,
};
use engine::{
    Constraint, EventOwner, FromValue, Query, RowLength, RowLock, StatementError, Value, event_statement, from_json,
    on_violation,
};
#[cfg(feature = "postgres")]
pub(crate) use engine::{PostgresOptions, ServerClock};
pub(crate) use open_database::Store;
