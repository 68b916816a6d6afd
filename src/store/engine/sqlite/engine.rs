//! An open database file: the writer and the readers.

use super::checkpoint::Checkpointer;
use super::files::location::Location;
use super::inspection::integrity::rewrite_header;
use super::sqlite_snapshots::{Access, SqliteSnapshots};
use super::writer::{ClosingResult, Writer};
use crate::environment::Environment;
use crate::error::{Result, StoreError, StoreErrorKind};
use crate::fair::Tenant;
use crate::store::engine::after_commit::AfterCommit;
use crate::store::engine::engine_options::{MigrationOptions, ReaderOptions};
use crate::store::engine::engines::{Engine, JobEvent};
use crate::store::engine::jobs::{self, Job};
use crate::store::engine::readers::{Isolation, Readers};
use crate::store::engine::snapshots::Snapshots;
use crate::store::engine::tables::Tables;
use crate::store::migrations;

/// How many pages are written to find out whether the disk accepts writes again. An order of ten tickets writes fewer.
const PROBE_WRITES: usize = 64;

/// An open database file.
pub(in crate::store) struct SqliteEngine {
    // Dropped first, so that no reader blocks the writer's last checkpoint.
    readers: Readers,
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
}

impl Engine for SqliteEngine {
    /// All writes share transactions, so that no event is locked by itself.
    fn submit(&self, tenant: Tenant, _: Option<JobEvent>, job: Box<dyn Job>) -> bool {
        self.writer.submit(tenant, job);
        false
    }

    #[cfg(feature = "server")]
    fn queue(&self, tenant: Tenant, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
        self.writer.queue(tenant, job);
        None
    }

    fn readers(&self) -> &Readers {
        &self.readers
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SqliteSnapshots::new(self.location.clone(), Access::Existing, self.environment.clone()))
    }

    fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    fn stopped(&self) -> Option<&StoreError> {
        self.writer.stopped()
    }

    fn last_write_failed(&self) -> bool {
        self.writer.last_write_failed()
    }

    fn ready(&self) -> Result<()> {
        self.writer.check_file()?;
        if self.writer.last_write_failed() {
            // One page alone may fit into what the failed transaction left behind at the end of the WAL.
            for _ in 0..PROBE_WRITES {
                let (job, answer) = jobs::job(rewrite_header);
                self.writer.submit(None, job);
                answer.wait()?;
            }
        }
        self.readers.look_up(Isolation::Statement, self.tables.any_row).map(drop)
    }

    fn file(&self) -> Option<&Location> {
        Some(&self.location)
    }

    fn closing_result(&self) -> ClosingResult {
        self.writer.closing_result()
    }
}
