//! Connections to a file that read one snapshot after another.

use std::time::Duration;

use super::database::Database;
use super::files::location::Location;
use crate::environment::Environment;
use crate::error::Result;
use crate::store::engine::readers::with_deadline;
use crate::store::engine::snapshots::{SnapshotReader, Snapshots};
use crate::store::engine::transaction::Transaction;

/// Opens connections that only read. They are not opened read-only, because SQLite would then not verify the CHECK
/// constraints.
#[derive(Clone)]
pub(in crate::store) struct SqliteSnapshots {
    location: Location,
    access: Access,
    environment: Environment,
}

/// How a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Access {
    /// The connection makes checkpoints between its snapshots.
    Existing,
    /// The connection changes nothing in the file and its WAL.
    Unchanged,
}

struct SqliteSnapshotReader {
    database: Database,
    /// How long a read may take.
    max_time: Option<Duration>,
    environment: Environment,
}

impl SqliteSnapshots {
    pub(in crate::store) fn new(location: Location, access: Access, environment: Environment) -> Self {
        Self { location, access, environment }
    }

    /// Opens a connection with a cache of this size.
    fn open_with(&self, cache_kib: u32, max_time: Option<Duration>) -> Result<Box<dyn SnapshotReader>> {
        let database = match self.access {
            Access::Existing => self.location.open_existing()?,
            Access::Unchanged => self.location.open_unchanged()?,
        };
        database.batch(&format!("PRAGMA query_only = ON; PRAGMA cache_size = -{cache_kib}"))?;
        Ok(Box::new(SqliteSnapshotReader { database, max_time, environment: self.environment.clone() }))
    }
}

impl Snapshots for SqliteSnapshots {
    fn is_file(&self) -> bool {
        true
    }

    fn open(&self) -> Result<Box<dyn SnapshotReader>> {
        // More pages than usual, because whole tables are read together with what their rows refer to.
        self.open_with(65536, None)
    }

    #[cfg(feature = "exports")]
    fn open_for_export(&self, max_time: Duration) -> Result<Box<dyn SnapshotReader>> {
        self.open_with(4096, Some(max_time))
    }
}

impl SnapshotReader for SqliteSnapshotReader {
    fn read(&self, work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>) -> Result<()> {
        self.database.with_snapshot(|| {
            let mut work = || work(&self.database.transaction(&self.environment));
            match self.max_time {
                None => work(),
                Some(max_time) => with_deadline(&self.database.connection, max_time, &self.environment, work),
            }
        })
    }
}
