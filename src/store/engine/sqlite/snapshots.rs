//! Connections that read one snapshot after another, for work that reads large parts of the database in steps.

use super::database::Database;
use super::location::Location;
use crate::environment::Environment;
use crate::error::Result;
use crate::store::engine::ids::IdSource;
use crate::store::engine::transaction::Transaction;

/// Opens connections that only read. They are not opened read-only, because SQLite would then not verify the CHECK
/// constraints.
#[derive(Clone)]
pub(in crate::store) struct Snapshots {
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

/// A connection that only reads.
pub(in crate::store) struct SnapshotReader {
    database: Database,
    environment: Environment,
    ids: IdSource,
}

impl Snapshots {
    pub(in crate::store) fn new(location: Location, access: Access, environment: Environment) -> Self {
        Self { location, access, environment }
    }

    pub(in crate::store) fn open(&self) -> Result<SnapshotReader> {
        let database = match self.access {
            Access::Existing => self.location.open_existing()?,
            Access::Unchanged => self.location.open_unchanged()?,
        };
        // More pages than usual, because whole tables are read together with what their rows refer to.
        database.batch("PRAGMA query_only = ON; PRAGMA cache_size = -65536")?;
        Ok(SnapshotReader { database, environment: self.environment.clone(), ids: IdSource::default() })
    }
}

impl SnapshotReader {
    /// Runs `work` on one snapshot of the database.
    pub(in crate::store) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.database.with_snapshot(|| work(&self.database.transaction(&self.environment, &self.ids)))
    }
}
