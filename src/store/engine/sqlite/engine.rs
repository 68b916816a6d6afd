//! An open database file: the writer and the readers.

use super::checkpoint::Checkpointer;
use super::connection_pool::ConnectionPool;
use super::files::location::Location;
use super::inspection::integrity::rewrite_header;
use super::sqlite_snapshots::{Access, SqliteSnapshots};
use super::writer::Writer;
use crate::environment::Environment;
use crate::error::{Result, StoreErrorKind};
use crate::fair::Tenant;
use crate::model::values::id::OrganizationId;
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::engine_options::{MigrationOptions, ReaderOptions};
use crate::store::engine::lock::EventKey;
use crate::store::engine::readers::{Isolation, Readers};
use crate::store::engine::tables::Tables;
use crate::store::engine::transaction::Transaction;
use crate::store::migrations;

/// How many pages are written to find out whether the disk accepts writes again. An order of ten tickets writes fewer.
const PROBE_WRITES: usize = 64;

/// An open database file.
pub(in crate::store) struct SqliteEngine {
    // Dropped first, so that no reader blocks the writer's last checkpoint.
    pub(in crate::store) readers: Readers<ConnectionPool>,
    pub(in crate::store) writer: Writer,
    pub(in crate::store) environment: Environment,
    pub(in crate::store) location: Location,
    tables: Tables,
}

impl SqliteEngine {
    /// Opens the database. Creates it if it does not exist, and migrates an older schema.
    pub(in crate::store) fn open(
        location: &Location,
        readers: ReaderOptions,
        migration: MigrationOptions,
        environment: &Environment,
        after_commit: AfterCommit,
        tables: Tables,
    ) -> Result<Self> {
        location.recover_from_failed_sync()?;
        location.check_wal()?;
        let database = location.open()?;
        let known = migrations::SQLITE.known();
        let migrated_from = database.migrate(|found| match found {
            0 => Ok(()),
            found if !migration.migrate => Err(StoreErrorKind::SchemaTooOld { found, known }.into()),
            found if migration.keep_copy => location.copy_before_migration(found, environment),
            _ => Ok(()),
        })?;
        // A damaged table must not keep the others from being used.
        if let Ok(Some(newest)) = (tables.newest_id)(&database.transaction(environment)) {
            environment.ids.continue_after(newest, environment.now());
        }
        let environment = (tables.open_links)(&database.transaction(environment))?;
        let checkpointer = Checkpointer::start(location)?;
        let readers = location.readers(readers.connections, readers.max_scan_time, environment.clone())?;
        let writer = Writer::start(database, environment.clone(), checkpointer, after_commit)?;
        tracing::info!(
            target: "ticketing::store",
            file = %location.path().display(),
            schema_version = known,
            migrated_from = (migrated_from < known).then_some(migrated_from),
            "database opened"
        );
        Ok(Self { readers, writer, environment, location: location.clone(), tables })
    }

    /// Runs `work` in a transaction and returns its result when the transaction is durable. See
    /// [`Store::write`](crate::store::Store::write).
    pub(in crate::store) fn write<T: Send + 'static>(
        &self,
        organization: Option<OrganizationId>,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(organization, work)
    }

    /// Like [`write`](Self::write): all writes share transactions.
    pub(in crate::store) fn write_event<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        _: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(Some(organization), work)
    }

    /// Like [`write`](Self::write): no event is locked by itself.
    pub(in crate::store) fn write_unless_locked<T: Send + 'static>(
        &self,
        tenant: Tenant,
        _: EventKey,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        self.writer.write(tenant, work).map(Some)
    }

    /// Fails if the store has stopped, if it cannot be read, or if the last attempt to write failed and another one
    /// fails too.
    pub(in crate::store) fn ready(&self) -> Result<()> {
        self.writer.check_file()?;
        if self.writer.last_write_failed() {
            // One page alone may fit into what the failed transaction left behind at the end of the WAL.
            for _ in 0..PROBE_WRITES {
                self.write(None, rewrite_header)?;
            }
        }
        self.readers.look_up(Isolation::Statement, self.tables.any_row).map(drop)
    }

    /// Opens connections that read large parts of the database in steps.
    pub(in crate::store) fn snapshots(&self) -> SqliteSnapshots {
        SqliteSnapshots::new(self.location.clone(), Access::Existing, self.environment.clone())
    }
}
