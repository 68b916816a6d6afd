//! Connections to PostgreSQL that read one snapshot after another.

use std::sync::Arc;
use std::time::Duration;

use super::net::pool::Connector;
use super::net::standby::Standby;
use super::statements::errors::is_cancelled_by_standby;
use super::statements::postgres_connection::PostgresConnection;
use crate::environment::Environment;
use crate::error::Result;
use crate::store::engine::ids::IdSource;
use crate::store::engine::readers::ReadConnection;
use crate::store::engine::snapshots::{SnapshotReader, Snapshots};
use crate::store::engine::transaction::Transaction;

/// How long a statement may take that reads a large part of the database.
const MAX_STEP_TIME: Duration = Duration::from_mins(30);

/// Opens connections that only read.
pub(in crate::store) struct PostgresSnapshots {
    connector: Connector,
    /// Read instead of the primary, if there is one and it answers.
    standby: Option<Arc<Standby>>,
    environment: Environment,
}

/// A connection that only reads.
pub(super) struct PostgresSnapshotReader {
    connection: PostgresConnection,
    /// Opens connections to the primary.
    primary: Connector,
    environment: Environment,
    ids: IdSource,
}

impl PostgresSnapshots {
    pub(super) fn new(connector: Connector, standby: Option<Arc<Standby>>, environment: Environment) -> Self {
        Self { connector, standby, environment }
    }

    pub(super) fn open_reader(&self) -> Result<PostgresSnapshotReader> {
        let (environment, ids) = (self.environment.clone(), IdSource::default());
        let connection = match self.standby.as_ref().and_then(|standby| standby.open()) {
            Some(connection) => connection,
            None => self.connector.open()?,
        };
        connection.set_max_time(Some(MAX_STEP_TIME));
        Ok(PostgresSnapshotReader { connection, primary: self.connector.clone(), environment, ids })
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
    pub(super) fn connection(&self) -> &PostgresConnection {
        &self.connection
    }

    pub(super) fn into_connection(self) -> PostgresConnection {
        self.connection.set_max_time(None);
        self.connection
    }

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
        match self.read(&mut *work) {
            Err(error) if is_cancelled_by_standby(&error) => {
                let primary = PostgresSnapshots::new(self.primary.clone(), None, self.environment.clone());
                primary.open_reader()?.read(work)
            }
            read => read,
        }
    }
}
