//! Connections to PostgreSQL that read one snapshot after another.

use super::connection::PostgresConnection;
use super::pool::Connector;
use crate::environment::Environment;
use crate::error::Result;
use crate::store::engine::ids::IdSource;
use crate::store::engine::readers::ReadConnection;
use crate::store::engine::snapshots::{SnapshotReader, Snapshots};
use crate::store::engine::transaction::Transaction;

/// Opens connections that only read.
pub(in crate::store) struct PostgresSnapshots {
    connector: Connector,
    environment: Environment,
}

/// A connection that only reads.
pub(super) struct PostgresSnapshotReader {
    connection: PostgresConnection,
    environment: Environment,
    ids: IdSource,
}

impl PostgresSnapshots {
    pub(super) fn new(connector: Connector, environment: Environment) -> Self {
        Self { connector, environment }
    }

    pub(super) fn open_reader(&self) -> Result<PostgresSnapshotReader> {
        let (environment, ids) = (self.environment.clone(), IdSource::default());
        Ok(PostgresSnapshotReader { connection: self.connector.open()?, environment, ids })
    }
}

impl Snapshots for PostgresSnapshots {
    fn is_file(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Box<dyn SnapshotReader>> {
        Ok(Box::new(self.open_reader()?))
    }
}

impl PostgresSnapshotReader {
    /// Runs `work` on one snapshot of the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.connection.begin_snapshot()?;
        let result = work(&Transaction::new(&self.connection, self.environment.now(), &self.environment, &self.ids));
        self.connection.end();
        result
    }
}

impl SnapshotReader for PostgresSnapshotReader {
    fn read(&self, work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>) -> Result<()> {
        self.read(work)
    }
}
