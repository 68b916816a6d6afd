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
//! - If it changes the sale of an event, call [`Transaction::debug_assert_event_locked`] before it runs.
//! - If it is a list or runs often, add an entry to `engine/sqlite/query_plan_tests.rs` with the index that it uses.
//!
//! To add a table or a column, add a migration (see `migrations`) and the statements, and add the
//! invariants of the stored data to `check`.

pub(crate) mod api_keys;
pub(crate) mod attempt_results;
pub(crate) mod attempts;
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
pub(crate) mod handler_queue;
pub(crate) mod idempotency_records;
mod link_urls;
mod lists;
mod lists_of_orders;
pub(crate) mod maintenance_clock;
mod migrations;
mod newest_id;
pub(crate) mod order_details;
pub(crate) mod order_items;
pub(crate) mod order_lists;
pub(crate) mod order_refunds;
pub(crate) mod order_status;
pub(crate) mod orders;
pub(crate) mod organization_usage;
pub(crate) mod organizations;
pub(crate) mod outbox;
pub(crate) mod outbox_backlog;
mod outbox_rows;
mod page_ids;
mod pages;
pub(crate) mod payment_references;
#[cfg(feature = "documents")]
pub(crate) mod printed_tickets;
pub(crate) mod refund_checks;
pub(crate) mod refunds;
pub(crate) mod refused_refunds;
pub(crate) mod sales_figures;
pub(crate) mod scans;
pub(crate) mod seat_counts;
mod subscribed_endpoints;
mod subscriptions;
pub(crate) mod summary;
pub(crate) mod ticket_lists;
pub(crate) mod ticket_types;
pub(crate) mod tickets;
pub(crate) mod webhook_removals;
pub(crate) mod webhook_retention;
pub(crate) mod webhooks;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::{Result, StoreError, StoreErrorKind};
use crate::model::backup::BackupProgress;
use crate::model::check::{CheckProgress, CheckReport};
use crate::model::id::{OrganizationId, WebhookId};
use crate::model::statistics::Statistics;
pub(crate) use commit_notifier::CommitListener;
use commit_notifier::CommitNotifier;
pub(crate) use counters::CommitEvent;
use counters::Counters;
use engine::ids::IdSource;
use engine::sqlite::{Access, Checkpointer, Isolation, Readers, SchemaVersion, Snapshots, rewrite_header};
use engine::{AfterCommit, ClosingResult, Writer};
pub(crate) use engine::{Bind, EventKey, Location, Row, Savepoint, Transaction};
use engine::{Constraint, on_violation};
pub(crate) use subscriptions::Subscription;
use subscriptions::Subscriptions;

/// The connections that only read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReaderOptions {
    /// How many connections there are for look-ups.
    pub(crate) connections: usize,
    /// How long a read may take that looks at many rows.
    pub(crate) scan_budget: Duration,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { connections: 8, scan_budget: Duration::from_secs(2) }
    }
}

/// What is done with an older schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MigrationOptions {
    /// Whether it is migrated, or refused.
    pub(crate) migrate: bool,
    /// Whether a copy from before is kept.
    pub(crate) keep_copy: bool,
}

impl Default for MigrationOptions {
    fn default() -> Self {
        Self { migrate: true, keep_copy: true }
    }
}

/// How many pages are written to find out whether the disk accepts writes again. An order of ten tickets writes fewer.
const PROBE_WRITES: usize = 64;

/// An open database.
pub(crate) struct Store {
    // Dropped first, so that no reader blocks the writer's last checkpoint.
    readers: Readers,
    writer: Writer,
    environment: Environment,
    ids: Arc<IdSource>,
    counters: Arc<Counters>,
    commit_notifier: Arc<CommitNotifier>,
    subscriptions: Arc<Subscriptions>,
    location: Location,
}

impl Store {
    /// Opens the database. Creates it if it does not exist, and migrates an older schema.
    pub(crate) fn open(
        location: &Location,
        readers: ReaderOptions,
        migration: MigrationOptions,
        environment: Environment,
    ) -> Result<Self> {
        location.recover_from_failed_sync()?;
        location.check_wal()?;
        let database = location.open()?;
        let schema = database.migrate(migrations::ALL, |schema| match schema {
            SchemaVersion { migrated_from: 0, .. } => Ok(()),
            SchemaVersion { version: known, migrated_from: found } if !migration.migrate => {
                Err(StoreErrorKind::SchemaTooOld { found, known }.into())
            }
            schema if migration.keep_copy => location.copy_before_migration(schema, &environment),
            _ => Ok(()),
        })?;
        let ids = Arc::new(IdSource::default());
        // A damaged table must not keep the others from being used.
        if let Ok(Some(newest)) = newest_id::newest_id(&database.transaction(&environment, &ids)) {
            ids.continue_after(newest, environment.now());
        }
        let checkpointer = Checkpointer::start(location)?;
        let readers = location.readers(readers.connections, readers.scan_budget, environment.clone())?;
        let counters = Arc::new(Counters::default());
        let commit_notifier = Arc::new(CommitNotifier::default());
        let subscriptions = Arc::new(Subscriptions::default());
        let after_commit = AfterCommit {
            checkpointer,
            counters: Arc::clone(&counters),
            commit_notifier: Arc::clone(&commit_notifier),
            subscriptions: Arc::clone(&subscriptions),
        };
        let writer = Writer::start(database, environment.clone(), Arc::clone(&ids), after_commit)?;
        tracing::info!(
            target: "ticketing::store",
            file = %location.path().display(),
            schema_version = schema.version,
            migrated_from = (schema.migrated_from < schema.version).then_some(schema.migrated_from),
            "database opened"
        );
        let location = location.clone();
        Ok(Self { readers, writer, environment, ids, counters, commit_notifier, subscriptions, location })
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. If `work` fails, nothing is
    /// changed.
    ///
    /// An engine may have to run a transaction again, for example after a deadlock, so `work` must be repeatable: it
    /// clones the values that it would consume, and has no effect outside the transaction.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(None, work)
    }

    /// Like [`write`](Self::write), for a change of an organization. The organizations take turns.
    pub(crate) fn write_for<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(Some(organization), work)
    }

    /// Fails if the store has stopped, if it cannot be read, or if the last attempt to write failed and another one fails
    /// too.
    pub(crate) fn ready(&self) -> Result<()> {
        self.writer.check_file()?;
        if self.writer.last_write_failed() {
            // One page alone may fit into what the failed transaction left behind at the end of the WAL.
            for _ in 0..PROBE_WRITES {
                self.write(rewrite_header)?;
            }
        }
        self.read_one(organizations::any).map(drop)
    }

    /// Why the store has stopped to write: it writes again when it is opened anew.
    pub(crate) fn stopped(&self) -> Option<&StoreError> {
        self.writer.stopped()
    }

    /// Whether the store has not stopped, and the last attempt to write did not fail.
    #[cfg(feature = "http")]
    pub(crate) fn is_writable(&self) -> bool {
        self.stopped().is_none() && !self.writer.last_write_failed()
    }

    /// How the last checkpoint ended: filled when the store is dropped.
    pub(crate) fn closing_result(&self) -> ClosingResult {
        self.writer.closing_result()
    }

    /// Returns the current statistics.
    pub(crate) fn statistics(&self) -> Statistics {
        self.counters.get(self.writer.jobs_waiting())
    }

    /// The counters, for events that no commit reports.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds a listener for commits that concern webhook endpoints. It is removed when it is dropped.
    pub(crate) fn add_commit_listener(&self, listener: &Arc<dyn CommitListener>) {
        self.commit_notifier.add_listener(listener);
    }

    /// Returns a number that changes whenever a change of the webhook endpoint is committed through this store.
    pub(crate) fn endpoint_changes(&self, endpoint: WebhookId) -> u64 {
        self.commit_notifier.endpoint_changes(endpoint)
    }

    /// Subscribes to the notifications of the commits of this store. The subscription ends when it is dropped.
    pub(crate) fn subscribe(&self, capacity: usize) -> Arc<Subscription> {
        self.subscriptions.add(capacity)
    }

    /// Ends all subscriptions, because the store is being closed.
    pub(crate) fn end_subscriptions(&self) {
        self.subscriptions.end();
    }

    /// Copies one snapshot of the database to a new file at `target`, and passes the progress to `progress`.
    pub(crate) fn backup(
        &self,
        target: &Path,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        self.location.back_up_to(target, &self.environment, progress)
    }

    /// Checks the database, and passes the progress to `progress`.
    pub(crate) fn check(&self, progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>) -> Result<CheckReport> {
        let snapshots = Snapshots::new(self.location.clone(), Access::Existing, self.environment.clone());
        check::run(&snapshots, progress)
    }

    /// Copies a database that is not open to a new file at `target`. Its schema may be older.
    pub(crate) fn backup_file(
        location: &Location,
        target: &Path,
        environment: &Environment,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        location.back_up_file_to(target, environment, progress)
    }

    /// Replaces the database at `location` by a copy of `backup`, for which `check` must succeed.
    pub(crate) fn restore(
        location: &Location,
        backup: &Location,
        environment: &Environment,
        check: impl FnOnce(&Location) -> Result<()>,
    ) -> Result<()> {
        location.replace_by(backup, environment, check)
    }

    /// The size of the write-ahead log in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.location.wal_bytes()
    }

    /// Runs `work`, which looks up a few rows by an index, on one snapshot of the database.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.readers.look_up(&self.ids, Isolation::Snapshot, work)
    }

    /// Runs `work`, which must be a single statement that looks up a few rows, without a transaction around it. A
    /// single statement is consistent anyway, and a transaction would add a third to the cost of a look-up.
    pub(crate) fn read_one<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.readers.look_up(&self.ids, Isolation::Statement, work)
    }

    /// Runs `work`, which may look at many rows, on one snapshot of the database. Only a part of the connections for
    /// this serves one organization. Look-ups do not wait for it. `None` is the program itself.
    ///
    /// Fails with [`Error::Unavailable`](crate::Error::Unavailable) if it takes longer than the budget of a scan, or if
    /// the current [`CancellationToken`](crate::model::cancellation::CancellationToken) is cancelled.
    pub(crate) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.readers.scan(&self.ids, organization, work)
    }

    /// Runs `work` on one snapshot of the database, on a new connection. For work that reads large parts of the
    /// database. The connection is not opened read-only, because SQLite would then not verify the CHECK constraints.
    pub(crate) fn read_on_dedicated_connection<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let database = self.location.open_existing()?;
        database.only_read()?;
        database.with_snapshot(|| work(&database.transaction(&self.environment, &self.ids)))
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot, which does not include what `work` writes.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.readers.with_snapshot(work)
    }

    /// Like [`with_snapshot`](Self::with_snapshot), for work that only looks up rows. The snapshot is that of the first
    /// look-up.
    #[cfg(feature = "http")]
    pub(crate) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.readers.with_look_ups(work)
    }
}
