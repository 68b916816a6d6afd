//! Recovery from a failed sync of the database file (see [`sync_failure`](super::sync_failure)).

use rusqlite::OpenFlags;

use super::location::Location;
use super::sync_failure::SyncFailureMarker;
use crate::error::{Error, Result, StoreErrorKind};
use crate::store::engine::sqlite::database::Database;
use crate::store::engine::sqlite::settings::wait_while_busy;

impl Location {
    /// If a sync of the file has failed, copies the whole WAL into the file. Waits about five seconds for other
    /// processes to close the file.
    pub(in crate::store) fn recover_from_failed_sync(&self) -> Result<()> {
        let marker = SyncFailureMarker::next_to(self.path());
        for attempt in 0.. {
            if !marker.exists() {
                break;
            }
            match self.recover(&marker) {
                Err(Error::Unavailable(_)) if wait_while_busy(attempt) => {}
                Err(Error::Unavailable(_)) => return Err(StoreErrorKind::SyncFailed.into()),
                recovered => return recovered,
            }
        }
        Ok(())
    }

    fn recover(&self, marker: &SyncFailureMarker) -> Result<()> {
        if !self.path().exists() {
            return marker.remove();
        }
        let database = Database::open_exclusively(self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?, self.path())?;
        database.copy_whole_wal()?;
        // While the file is locked: another process that waits for the lock looks for the marker again.
        marker.remove()?;
        tracing::warn!(
            target: "ticketing::store",
            file = %self.path().display(),
            "a sync of the database had failed: its whole write-ahead log was copied again"
        );
        Ok(())
    }
}
