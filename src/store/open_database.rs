//! An open database: where the transactions of all operations begin.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "exports")]
use std::time::Duration;

use super::check;
use super::commits::commit_notifier::CommitListener;
use super::commits::counters::Counters;
use super::engine::{
    self, AfterCommit, ClosingResult, Engine, EngineOptions, EventKey, Isolation, JobEvent, Location, LockedEvent,
    ReaderOptions, SqliteEngine, Tables, Transaction,
};
#[cfg(feature = "postgres")]
use super::engine::{PostgresEngine, PostgresOptions, copy_to_postgres, sqlite};
use super::link_urls;
use super::newest_id;
use super::sale::events;
use super::tenants::organizations;
use crate::environment::Environment;
use crate::error::{Result, StoreError, StoreErrorKind};
#[cfg(feature = "exports")]
use crate::fair::Permit;
use crate::fair::Tenant;
use crate::model::operation::backup::BackupProgress;
#[cfg(feature = "postgres")]
use crate::model::operation::backup::CopyProgress;
use crate::model::operation::check::{CheckProgress, CheckReport};
use crate::model::operation::statistics::Statistics;
use crate::model::values::id::{OrganizationId, WebhookId};

pub(crate) struct Store {
    engine: Box<dyn Engine>,
    environment: Environment,
    after_commit: AfterCommit,
}

impl Store {
    /// Opens the database, and creates or migrates its schema.
    pub(crate) fn open(options: &EngineOptions, readers: ReaderOptions, environment: &Environment) -> Result<Self> {
        let after_commit = AfterCommit::default();
        let tables = Tables {
            newest_id: newest_id::newest_id,
            open_links: link_urls::open_links,
            any_row: organizations::any,
            event_owner: events::owner_of,
        };
        let reports = after_commit.clone();
        let engine: Box<dyn Engine> = match options {
            EngineOptions::Sqlite { location, migration } => {
                Box::new(SqliteEngine::open(location, readers, *migration, environment, reports, tables)?)
            }
            #[cfg(feature = "postgres")]
            EngineOptions::Postgres(options) => {
                Box::new(PostgresEngine::open(options, readers, environment, reports, tables)?)
            }
        };
        Ok(Self { engine, after_commit, environment: environment.clone() })
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. If `work` fails, nothing is
    /// changed.
    ///
    /// The changes of organizations take turns; `None` is the program itself.
    ///
    /// An engine may have to run a transaction again, for example after a deadlock, so `work` must be repeatable: it
    /// clones the values that it would consume, and has no effect outside the transaction.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        organization: impl Into<Option<OrganizationId>>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.submit(organization.into(), None, work)
    }

    /// Like [`write`](Self::write), for a job that changes the sale of this event, which is locked first. An engine
    /// without a single writer runs the jobs that wait for an event in one transaction.
    pub(crate) fn write_event<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: EventKey,
        work: impl Fn(&LockedEvent<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.submit(Some(organization), Some(event), move |tx| work(&tx.lock_event(event)?))
    }

    /// Like [`write`](Self::write), for a job that changes the sale of an event or of none. The event is locked first.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        tenant: Tenant,
        event: Option<EventKey>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (job, answer) = engine::job(on_event(event, work));
        self.engine.submit(tenant, event.map(|key| JobEvent { key, waits_briefly: false }), job);
        answer.wait()
    }

    /// Like [`submit`](Self::submit), for a task: no thread waits if [`queues_writes`](Self::queues_writes). The job runs
    /// also if the returned future is dropped.
    #[cfg(feature = "server")]
    pub(crate) fn queue<T: Send + 'static>(
        &self,
        tenant: Tenant,
        event: Option<EventKey>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> engine::QueuedAnswer<T> {
        let (job, answer) = engine::queued_job(on_event(event, work));
        if let Some(job) = self.engine.queue(tenant, job) {
            self.engine.submit(tenant, event.map(|key| JobEvent { key, waits_briefly: false }), job);
        }
        answer
    }

    /// Whether a thread of the store runs the transactions.
    #[cfg(feature = "server")]
    pub(crate) fn queues_writes(&self) -> bool {
        self.is_file()
    }

    /// Like [`write`](Self::write), for work on rows of this event that may be done later. The event is locked first.
    /// Returns `None` if other transactions keep it, or other rows, locked for half a second. Do the work later then: to
    /// wait here would delay the rows of other events.
    pub(crate) fn write_unless_locked<T: Send + 'static>(
        &self,
        tenant: Tenant,
        event: EventKey,
        work: impl Fn(&LockedEvent<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let (job, answer) = engine::job(move |tx| work(&tx.lock_event(event)?));
        match self.engine.submit(tenant, Some(JobEvent { key: event, waits_briefly: true }), job) {
            true => Ok(None),
            false => answer.wait().map(Some),
        }
    }

    /// Whether a transaction locks the event whose sale it changes. If so, one changes the sale of one event only,
    /// because it would keep the first event locked while it waits for the second. If not, there is only one
    /// transaction at a time.
    pub(crate) fn locks_events(&self) -> bool {
        self.engine.locks_events()
    }

    /// Deletes some of what only the engine needs, and does not need any more.
    pub(crate) fn delete_expired(&self) -> Result<()> {
        self.engine.delete_expired()
    }

    /// Fails if the store has stopped, if it cannot be read, or if the last attempt to write failed and another one
    /// fails too.
    pub(crate) fn ready(&self) -> Result<()> {
        self.engine.ready()
    }

    /// Why the store has stopped writing. Opening it again starts it again.
    pub(crate) fn stopped(&self) -> Option<&StoreError> {
        self.engine.stopped()
    }

    /// Whether the store has not stopped, and the last attempt to write did not fail.
    pub(crate) fn is_writable(&self) -> bool {
        self.stopped().is_none() && !self.engine.last_write_failed()
    }

    /// How the last checkpoint of a database file ended: filled when the store is dropped.
    pub(crate) fn closing_result(&self) -> ClosingResult {
        self.engine.closing_result()
    }

    /// How many jobs wait for the writer now.
    pub(crate) fn writes_waiting(&self) -> usize {
        self.engine.waiting()
    }

    /// Opens a new database file in this folder, with a clock that stands still.
    #[cfg(test)]
    pub(crate) fn in_folder(folder: &tempfile::TempDir) -> Result<Arc<Self>> {
        use crate::environment::{ManualClock, SeededEntropy};
        use crate::model::values::timestamp::Timestamp;
        use crate::store::Location;

        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let environment = Environment::new(clock, Arc::new(SeededEntropy::new(1)));
        let location = Location::new(folder.path().join("ticketing.db"), None);
        Self::open(&EngineOptions::file(location), ReaderOptions::default(), &environment).map(Arc::new)
    }

    /// Like [`write`](Self::write), with another caller that waits for the transaction.
    #[cfg(test)]
    pub(crate) fn write_while_another_waits<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = Arc::clone(self);
        let (begins, has_begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                self.write(None, move |_| {
                    begins.send(()).expect("a receiver");
                    while store.writes_waiting() == 0 {
                        std::thread::yield_now();
                    }
                    Ok(())
                })
            });
            has_begun.recv().expect("the job of the other caller runs");
            let written = self.write(None, work);
            other.join().expect("no panic").and(written)
        })
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.after_commit.counters.get(self.writes_waiting())
    }

    /// The counters, for events that no commit reports.
    pub(crate) fn counters(&self) -> &Counters {
        &self.after_commit.counters
    }

    /// Adds a listener for commits that concern webhook endpoints. It is removed when it is dropped. On PostgreSQL, it
    /// hears of the commits of other processes too.
    pub(crate) fn add_commit_listener(&self, listener: &Arc<dyn CommitListener>) {
        self.after_commit.commit_notifier.add_listener(listener);
        self.engine.listen();
    }

    /// Returns a number that changes whenever a change of the webhook endpoint is committed through this store.
    pub(crate) fn endpoint_changes(&self, endpoint: WebhookId) -> u64 {
        self.after_commit.commit_notifier.endpoint_changes(endpoint)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.engine.file().is_some()
    }

    /// The open database file. Fails if this is a PostgreSQL database.
    fn file(&self) -> Result<&Location> {
        self.engine.file().ok_or_else(|| StoreErrorKind::not_a_file().into())
    }

    /// Copies one snapshot of the database to a new file at `target`, and passes the progress to `progress`.
    pub(crate) fn backup(
        &self,
        target: &Path,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        self.file()?.back_up_to(target, &self.environment, progress)
    }

    /// Checks the database, and passes the progress to `progress`.
    pub(crate) fn check(&self, progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>) -> Result<CheckReport> {
        check::run(&*self.engine.snapshots(), progress)
    }

    /// Copies one snapshot of a database file to an empty PostgreSQL database, and passes the progress to `progress`.
    /// Fails if this is a PostgreSQL database.
    #[cfg(feature = "postgres")]
    pub(crate) fn copy_to(
        &self,
        target: &PostgresOptions,
        progress: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
    ) -> Result<CopyProgress> {
        self.file()?;
        self.read_on_dedicated_connection(|tx| copy_to_postgres(tx, &sqlite::columns(tx)?, target, progress))
    }

    /// The size of the write-ahead log of a database file in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.engine.file().map_or(0, Location::wal_bytes)
    }

    /// Runs `work`, which looks up a few rows by an index, on one snapshot of the database.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.engine.readers().look_up(Isolation::Snapshot, work)
    }

    /// Runs `work`, which must be a single statement that looks up a few rows, without a transaction around it. A
    /// single statement is consistent anyway, and a transaction would add a third to the cost of a look-up.
    pub(crate) fn read_one<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.engine.readers().look_up(Isolation::Statement, work)
    }

    /// Runs `work`, which may look at many rows, on one snapshot of the database. Only a part of the connections for
    /// this serves one organization. Look-ups do not wait for it. `None` is the program itself. `work` runs again, from
    /// the beginning, if a standby cancels it.
    ///
    /// Fails with [`Error::Unavailable`](crate::Error::Unavailable) if it takes longer than a scan may take, or if
    /// the current [`CancellationToken`](crate::model::values::cancellation::CancellationToken) is cancelled.
    pub(crate) fn scan<T>(
        &self,
        organization: Option<OrganizationId>,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.engine.readers().scan(organization, work)
    }

    /// Reads a page of a list. A list without filters is a [look-up](Self::read): the page is a range of an index. With
    /// filters, it is a [scan](Self::scan).
    pub(crate) fn list<T>(
        &self,
        organization: OrganizationId,
        has_filters: bool,
        work: impl FnMut(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        match has_filters {
            true => self.scan(Some(organization), work),
            false => self.read(work),
        }
    }

    /// Runs `work` on one snapshot of the database, on a new connection. For work that reads large parts of the
    /// database. `work` runs again, from the beginning, if a standby cancels it.
    pub(crate) fn read_on_dedicated_connection<T>(&self, work: impl FnMut(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.engine.snapshots().read_once(work)
    }

    /// Waits for the permit of an export.
    #[cfg(feature = "exports")]
    pub(crate) fn export_permit(&self, organization: OrganizationId, has_few_rows: bool) -> Result<Permit> {
        self.engine.readers().export_permit(organization, has_few_rows)
    }

    /// Runs `work`, which reads the rows of an export, on one snapshot of the database. `work` runs again, from the
    /// beginning, if a standby cancels it. Fails like [`scan`](Self::scan) after `max_time`.
    #[cfg(feature = "exports")]
    pub(crate) fn export(
        &self,
        max_time: Duration,
        work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        let open = || self.engine.snapshots().open_for_export(max_time);
        self.engine.readers().export(max_time, open, work)
    }

    /// The folder of a database file; `None` for a PostgreSQL database.
    #[cfg(feature = "exports")]
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.engine.file()?.path().parent()
    }

    /// Runs `work`. All reads of this thread inside it see one snapshot, which does not include what `work` writes.
    pub(crate) fn with_snapshot<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.engine.readers().with_snapshot(work)
    }

    /// Like [`with_snapshot`](Self::with_snapshot), for work that only looks up rows. The snapshot is that of the first
    /// look-up.
    #[cfg(feature = "server")]
    pub(crate) fn with_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.engine.readers().with_look_ups(work)
    }

    /// Like [`with_look_ups`](Self::with_look_ups), if that takes microseconds; else it returns `None`.
    #[cfg(feature = "server")]
    pub(crate) fn with_idle_look_ups<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        self.engine.readers().with_idle_look_ups(work)
    }
}

/// Work that begins with the lock of this event.
fn on_event<T>(
    event: Option<EventKey>,
    work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
) -> impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static {
    move |tx| {
        event.map(|event| tx.lock_event(event)).transpose()?;
        work(tx)
    }
}
