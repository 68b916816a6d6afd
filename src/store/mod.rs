//! The store: all SQL, and the way in which it is committed. A file for each resource holds its statements beside what
//! decodes their rows.

pub(crate) mod api_keys;
pub(crate) mod attempts;
mod backup;
mod bell;
pub(crate) mod check;
pub(crate) mod checkouts;
mod checkpoint;
mod counters;
pub(crate) mod customers;
pub(crate) mod deliveries;
mod discount_uses;
pub(crate) mod discounts;
pub(crate) mod door;
pub(crate) mod events;
pub(crate) mod idempotency;
mod ids;
mod lists;
mod migrations;
mod order_items;
pub(crate) mod orders;
pub(crate) mod organizations;
pub(crate) mod outbox;
pub(crate) mod placement;
pub(crate) mod places;
#[cfg(test)]
mod plans;
pub(crate) mod refunds;
pub(crate) mod settlement;
mod sqlite;
pub(crate) mod summary;
pub(crate) mod ticket_types;
pub(crate) mod tickets;
pub(crate) mod webhook_retention;
pub(crate) mod webhooks;
mod writer;

use std::sync::Arc;

use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};
use crate::model::id::WebhookId;
use crate::model::statistics::Statistics;
use bell::Bell;
pub(crate) use bell::Listener;
use checkpoint::Checkpointer;
use counters::{Counted, Counters};
use ids::IdSource;
use sqlite::Readers;
pub(crate) use sqlite::{Bind, Location, Row, Transaction};
use writer::{AfterCommit, Writer};

/// An open database.
pub(crate) struct Store {
    // Dropped first: the writer's last checkpoint wants no readers in its way.
    readers: Readers,
    writer: Writer,
    environment: Environment,
    ids: Arc<IdSource>,
    counters: Arc<Counters>,
    bell: Arc<Bell>,
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
        let bell = Arc::new(Bell::default());
        let after_commit = AfterCommit { checkpointer, counters: Arc::clone(&counters), bell: Arc::clone(&bell) };
        let writer = Writer::start(database, environment.clone(), Arc::clone(&ids), after_commit)?;
        Ok(Self { readers, writer, environment, ids, counters, bell, location: location.clone() })
    }

    /// Runs `work` in a transaction of its own and returns when it is durable. Where `work` fails, it changed nothing.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
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

    /// From now on `listener` hears of endpoints for which this store queued something.
    pub(crate) fn attach(&self, listener: &Arc<dyn Listener>) {
        self.bell.attach(listener);
    }

    /// A number that is another one as soon as a webhook endpoint was changed through this store.
    pub(crate) fn endpoint_changes(&self, endpoint: WebhookId) -> u64 {
        self.bell.changes(endpoint)
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
    pub(crate) fn survey<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let database = self.location.open_existing()?;
        database.only_read()?;
        database.on_one_state(|| work(&database.transaction(&self.environment, &self.ids)))
    }

    /// Runs `work`, in which everything that this thread reads comes from one state of the database: also what `work`
    /// itself writes meanwhile is not in it.
    pub(crate) fn share_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.readers.share_snapshot(&self.environment, work)
    }
}

/// Turns "another row has the same value" in `column` (`table.column`) into the domain's word for it.
pub(crate) fn if_taken<T>(result: Result<T>, column: &str, refusal: impl FnOnce() -> Error) -> Result<T> {
    match result {
        Err(Error::Store(StoreError::Taken(columns))) if columns.contains(column) => Err(refusal()),
        other => other,
    }
}
