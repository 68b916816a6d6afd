//! Read-only connections to PostgreSQL that read one snapshot after another.

use std::sync::Arc;
use std::time::Duration;

use super::connections::pool::Connector;
use super::connections::standby::Standby;
use super::statements::postgres_connection::PostgresConnection;
use crate::environment::Environment;
use crate::error::{Error, Result, Unavailable};
use crate::store::engine::readers::ReadConnection;
use crate::store::engine::snapshots::{SnapshotReader, Snapshots};
use crate::store::engine::transaction::Transaction;

/// The longest time to wait for the answer to a statement, which may read a large part of the database.
const MAX_STEP_TIME: Duration = Duration::from_mins(30);

/// Opens read-only connections: to the standby if it answers, else to the primary.
pub(in crate::store) struct PostgresSnapshots {
    primary: Connector,
    /// `None` if no standby is configured.
    standby: Option<Arc<Standby>>,
    environment: Environment,
}

/// A read-only connection to the standby or to the primary.
struct PostgresSnapshotReader {
    connection: PostgresConnection,
    /// Opens a connection to the primary if the standby cancels a read.
    primary: Connector,
    /// How long a read may take.
    max_time: Option<Duration>,
    environment: Environment,
}

impl PostgresSnapshots {
    pub(super) fn new(primary: Connector, standby: Option<Arc<Standby>>, environment: Environment) -> Self {
        Self { primary, standby, environment }
    }

    fn open_reader(&self) -> Result<PostgresSnapshotReader> {
        let connection = match self.standby.as_ref().and_then(|standby| standby.open()) {
            Some(connection) => connection,
            None => self.primary.open()?,
        };
        connection.set_max_time(Some(MAX_STEP_TIME));
        Ok(PostgresSnapshotReader {
            connection,
            primary: self.primary.clone(),
            max_time: None,
            environment: self.environment.clone(),
        })
    }
}

impl Snapshots for PostgresSnapshots {
    fn is_file(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Box<dyn SnapshotReader>> {
        Ok(Box::new(self.open_reader()?))
    }

    #[cfg(feature = "exports")]
    fn open_for_export(&self, max_time: Duration) -> Result<Box<dyn SnapshotReader>> {
        Ok(Box::new(PostgresSnapshotReader { max_time: Some(max_time), ..self.open_reader()? }))
    }
}

impl PostgresSnapshotReader {
    /// Runs `work` on one snapshot of the database.
    fn try_read(&self, work: impl FnOnce(&Transaction<'_>) -> Result<()>) -> Result<()> {
        if let Some(max_time) = self.max_time {
            self.connection.set_deadline(max_time, &self.environment.clock)?;
        }
        self.connection.begin_snapshot()?;
        let result = work(&Transaction::new(&self.connection, self.environment.now(), &self.environment));
        self.connection.end();
        result
    }
}

impl SnapshotReader for PostgresSnapshotReader {
    fn read(&self, work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>) -> Result<()> {
        match self.try_read(&mut *work) {
            // Between two statements, the standby ends the connection. Run the work again on the primary, from the
            // beginning.
            Err(error) if error == Error::Unavailable(Unavailable::SearchCancelled) || self.connection.is_lost() => {
                let primary = PostgresSnapshots::new(self.primary.clone(), None, self.environment.clone());
                PostgresSnapshotReader { max_time: self.max_time, ..primary.open_reader()? }.try_read(work)
            }
            result => result,
        }
    }
}
