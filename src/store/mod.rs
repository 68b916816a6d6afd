//! The store: all SQL, and the way in which it is committed. A file for each resource holds its statements beside what
//! decodes their rows.

pub(crate) mod api_keys;
pub(crate) mod attempts;
pub(crate) mod check;
pub(crate) mod checkouts;
mod commit_notifier;
mod counters;
pub(crate) mod customers;
pub(crate) mod deliveries;
pub(crate) mod discount_uses;
pub(crate) mod discounts;
mod engine;
pub(crate) mod events;
pub(crate) mod idempotency;
mod lists;
mod migrations;
pub(crate) mod order_items;
pub(crate) mod order_status;
pub(crate) mod orders;
pub(crate) mod organizations;
pub(crate) mod outbox;
pub(crate) mod refunds;
pub(crate) mod scans;
pub(crate) mod seat_counts;
pub(crate) mod summary;
pub(crate) mod ticket_types;
pub(crate) mod tickets;
pub(crate) mod webhook_retention;
pub(crate) mod webhooks;

use std::path::Path;
use std::sync::Arc;

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::model::backup::BackupProgress;
use crate::model::id::WebhookId;
use crate::model::statistics::Statistics;
pub(crate) use commit_notifier::CommitListener;
use commit_notifier::CommitNotifier;
pub(crate) use counters::CommitEvent;
use counters::Counters;
use engine::ids::IdSource;
use engine::sqlite::{Checkpointer, Readers};
use engine::{AfterCommit, Writer};
pub(crate) use engine::{Bind, Location, Row, Transaction};
use engine::{Constraint, StatementError, Violation};

/// An open database.
pub(crate) struct Store {
    // Dropped first: the writer's last checkpoint wants no readers in its way.
    readers: Readers,
    writer: Writer,
    environment: Environment,
    ids: Arc<IdSource>,
    counters: Arc<Counters>,
    commit_notifier: Arc<CommitNotifier>,
    location: Location,
}

impl Store {
    /// Opens the database, makes it where there is none, and brings its schema up to date.
    pub(crate) fn open(location: &Location, readers: u32, environment: Environment) -> Result<Self> {
        let database = location.open()?;
        database.migrate(migrations::ALL)?;
        let ids = Arc::new(IdSource::default());
        let checkpointer = Checkpointer::start(location)?;
        let readers = location.readers(readers)?;
        let counters = Arc::new(Counters::default());
        let commit_notifier = Arc::new(CommitNotifier::default());
        let after_commit = AfterCommit {
            checkpointer,
            counters: Arc::clone(&counters),
            commit_notifier: Arc::clone(&commit_notifier),
        };
        let writer = Writer::start(database, environment.clone(), Arc::clone(&ids), after_commit)?;
        Ok(Self { readers, writer, environment, ids, counters, commit_notifier, location: location.clone() })
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. If `work` fails, nothing is
    /// changed.
    ///
    /// An engine may have to run a transaction again, for example after a deadlock, so `work` must be repeatable: it
    /// clones what it uses up, and has no effect outside the transaction.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(work)
    }

    /// What was counted so far.
    pub(crate) fn statistics(&self) -> Statistics {
        self.counters.get(self.writer.jobs_waiting())
    }

    /// For what never reaches a commit.
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

    /// Copies one state of the database to a new file at `target`, and passes the progress to `progress`.
    pub(crate) fn backup(&self, target: &Path, progress: impl FnMut(BackupProgress)) -> Result<BackupProgress> {
        self.location.back_up_to(target, &self.environment, progress)
    }

    /// The size of the write-ahead log in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.location.wal_bytes()
    }

    /// Runs `work` on one state of the database, beside whoever writes.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.readers.read(&self.environment, &self.ids, true, work)
    }

    /// Runs `work` of one statement, which sees one state of the database by itself: the transaction around it would cost
    /// a third of a look-up.
    pub(crate) fn read_one<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.readers.read(&self.environment, &self.ids, false, work)
    }

    /// Runs `work` on one state of the database over a connection of its own: for what reads everything. On a connection that
    /// was opened for reading alone, SQLite would know nothing of the CHECKs of the schema.
    pub(crate) fn read_on_dedicated_connection<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let database = self.location.open_existing()?;
        database.only_read()?;
        database.on_one_state(|| work(&database.transaction(&self.environment, &self.ids)))
    }

    /// Runs `work`, in which everything that this thread reads comes from one state of the database: also what `work`
    /// itself writes meanwhile is not in it.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.readers.with_snapshot(&self.environment, work)
    }
}

/// Replaces a violation of `constraint` by the `refusal` that the operation documents.
fn on_violation<T>(
    result: Result<T, StatementError>,
    constraint: Constraint,
    refusal: impl FnOnce() -> Error,
) -> Result<T> {
    match result {
        Err(StatementError::Violation(Violation { constraint: Some(violated), .. })) if violated == constraint => {
            Err(refusal())
        }
        other => Ok(other?),
    }
}
