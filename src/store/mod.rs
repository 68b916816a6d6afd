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

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::environment::Environment;
use crate::error::{Result, StoreError};
use crate::model::backup::BackupProgress;
#[cfg(feature = "postgres")]
use crate::model::backup::CopyProgress;
use crate::model::check::{CheckProgress, CheckReport};
use crate::model::id::{OrganizationId, WebhookId};
use crate::model::statistics::Statistics;
pub(crate) use commit_notifier::CommitListener;
use commit_notifier::CommitNotifier;
pub(crate) use counters::CommitEvent;
use counters::Counters;
use engine::{AfterCommit, ClosingResult, Constraint, Engine, Isolation, RowLength, RowLock, on_violation};
pub(crate) use engine::{
    Bind, EngineOptions, EventKey, Location, MigrationOptions, ReaderOptions, Row, Savepoint, Transaction,
};
#[cfg(feature = "postgres")]
pub(crate) use engine::{PostgresOptions, ServerClock};
pub(crate) use subscriptions::Subscription;
use subscriptions::Subscriptions;

/// An open database.
pub(crate) struct Store {
    engine: Engine,
    counters: Arc<Counters>,
    commit_notifier: Arc<CommitNotifier>,
    subscriptions: Arc<Subscriptions>,
}

impl Store {
    /// Opens the database, and creates or migrates its schema.
    pub(crate) fn open(options: &EngineOptions, readers: ReaderOptions, environment: Environment) -> Result<Self> {
        let counters = Arc::new(Counters::default());
        let commit_notifier = Arc::new(CommitNotifier::default());
        let subscriptions = Arc::new(Subscriptions::default());
        let after_commit = AfterCommit {
            counters: Arc::clone(&counters),
            commit_notifier: Arc::clone(&commit_notifier),
            subscriptions: Arc::clone(&subscriptions),
        };
        let engine = Engine::open(options, readers, environment, after_commit)?;
        Ok(Self { engine, counters, commit_notifier, subscriptions })
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
        self.engine.write(None, work)
    }

    /// Like [`write`](Self::write), for a change of an organization. The organizations take turns.
    pub(crate) fn write_for<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.engine.write(Some(organization), work)
    }

    /// Like [`write_for`](Self::write_for), for a job that locks this event before any other, and names it in the same way.
    /// An engine without a single writer runs the jobs that wait for an event in one transaction.
    pub(crate) fn write_event<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.engine.write_event(organization, event, work)
    }

    /// Like [`write`](Self::write), for background work on rows of this event, which locks it before any other, and names it in
    /// the same way. Returns `None` if other transactions keep the event, or other rows, locked for half a second: the work
    /// is for later, so that it does not wait, and keep the rows of other events waiting.
    pub(crate) fn write_unless_locked<T: Send + 'static>(
        &self,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        self.engine.write_unless_locked(event, work)
    }

    /// Whether a transaction locks the event whose sale it changes. If so, one changes the sale of one event only, because
    /// it would keep the first event locked while it waits for the second. If not, there is only one transaction at a time.
    pub(crate) fn locks_events(&self) -> bool {
        self.engine.has_round_trips()
    }

    /// Like [`write_event`](Self::write_event), and returns what `read` finds after `work`. With SQLite it reads in the
    /// transaction: that connection has the pages at hand, and another one reads them from the file again. With PostgreSQL it
    /// reads after the transaction, which would otherwise keep the event locked for more round trips.
    pub(crate) fn write_event_and_read<T: Send + 'static, R: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
        read: impl Fn(&Transaction<'_>) -> Result<R> + Copy + Send + 'static,
    ) -> Result<(T, R)> {
        if self.engine.has_round_trips() {
            let written = self.write_event(organization, event, work)?;
            return Ok((written, self.read(read)?));
        }
        self.write_event(organization, event, move |tx| Ok((work(tx)?, read(tx)?)))
    }

    /// Deletes some of what only the engine needs, and does not need any more.
    pub(crate) fn tidy(&self) -> Result<()> {
        self.engine.tidy()
    }

    /// Fails if the store has stopped, if it cannot be read, or if the last attempt to write failed and another one fails
    /// too.
    pub(crate) fn ready(&self) -> Result<()> {
        self.engine.ready()
    }

    /// Why the store has stopped to write: it writes again when it is opened anew.
    pub(crate) fn stopped(&self) -> Option<&StoreError> {
        self.engine.stopped()
    }

    /// Whether the store has not stopped, and the last attempt to write did not fail.
    #[cfg(feature = "http")]
    pub(crate) fn is_writable(&self) -> bool {
        self.stopped().is_none() && !self.engine.last_write_failed()
    }

    /// How the last work of the engine ended: filled when the store is dropped.
    pub(crate) fn closing_result(&self) -> ClosingResult {
        self.engine.closing_result()
    }

    /// How many jobs wait for the writer now.
    pub(crate) fn writes_waiting(&self) -> usize {
        self.engine.writes_waiting()
    }

    /// Returns the current statistics.
    pub(crate) fn statistics(&self) -> Statistics {
        self.counters.get(self.writes_waiting())
    }

    /// The counters, for events that no commit reports.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds a listener for commits that concern webhook endpoints. It is removed when it is dropped. On PostgreSQL, it hears
    /// of the commits of other processes too.
    pub(crate) fn add_commit_listener(&self, listener: &Arc<dyn CommitListener>) {
        self.commit_notifier.add_listener(listener);
        self.engine.listen();
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
        self.engine.backup(target, progress)
    }

    /// Checks the database, and passes the progress to `progress`.
    pub(crate) fn check(&self, progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>) -> Result<CheckReport> {
        check::run(&*self.engine.snapshots(), progress)
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

    /// Copies one snapshot of a database file to an empty PostgreSQL database, and passes the progress to `progress`.
    #[cfg(feature = "postgres")]
    pub(crate) fn copy_to(
        &self,
        target: &PostgresOptions,
        progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
    ) -> Result<CopyProgress> {
        self.engine.copy_to(target, progress)
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

    /// The size of the write-ahead log of a database file in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.engine.wal_bytes()
    }

    /// Runs `work`, which looks up a few rows by an index, on one snapshot of the database.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.engine.look_up(Isolation::Snapshot, work)
    }

    /// Runs `work`, which must be a single statement that looks up a few rows, without a transaction around it. A
    /// single statement is consistent anyway, and a transaction would add a third to the cost of a look-up.
    pub(crate) fn read_one<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.engine.look_up(Isolation::Statement, work)
    }

    /// Runs `work`, which may look at many rows, on one snapshot of the database. Only a part of the connections for
    /// this serves one organization. Look-ups do not wait for it. `None` is the program itself. `work` runs again, from the
    /// beginning, if a standby cancels it.
    ///
    /// Fails with [`Error::Unavailable`](crate::Error::Unavailable) if it takes longer than the budget of a scan, or if
    /// the current [`CancellationToken`](crate::model::cancellation::CancellationToken) is cancelled.
    pub(crate) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.engine.scan(organization, work)
    }

    /// Runs `work` on one snapshot of the database, on a new connection. For work that reads large parts of the
    /// database.
    pub(crate) fn read_on_dedicated_connection<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.engine.read_on_dedicated_connection(work)
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot, which does not include what `work` writes.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.engine.with_snapshot(work)
    }

    /// Like [`with_snapshot`](Self::with_snapshot), for work that only looks up rows. The snapshot is that of the first
    /// look-up.
    #[cfg(feature = "http")]
    pub(crate) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.engine.with_look_ups(work)
    }
}
