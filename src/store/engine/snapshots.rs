//! Connections that read one snapshot after another, for work that reads large parts of the database in steps.

#[cfg(feature = "exports")]
use std::time::Duration;

use super::transaction::Transaction;
use crate::error::{Error, Result};

/// Opens connections that only read.
pub(in crate::store) trait Snapshots: Sync {
    /// Whether the database is a file, which can be damaged apart from what is in it.
    fn is_file(&self) -> bool;

    /// Opens a connection.
    fn open(&self) -> Result<Box<dyn SnapshotReader>>;

    /// Opens a connection whose reads each end after `max_time`, or when nobody waits for the result any more, and
    /// which keeps few pages in memory.
    #[cfg(feature = "exports")]
    fn open_for_export(&self, max_time: Duration) -> Result<Box<dyn SnapshotReader>>;
}

impl dyn Snapshots {
    /// Runs `work` on one snapshot, on a connection that is closed afterwards. See [`SnapshotReader::read`].
    pub(in crate::store) fn read_once<T>(&self, mut work: impl FnMut(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut result = None;
        self.open()?.read(&mut |tx| {
            result = Some(work(tx)?);
            Ok(())
        })?;
        result.ok_or_else(|| Error::Internal("a snapshot was not read".to_owned()))
    }
}

/// A connection that only reads.
pub(in crate::store) trait SnapshotReader {
    /// Runs `work` on one snapshot of the database; again from the beginning, on another one, if a standby cancels it
    /// or the connection is lost.
    fn read(&self, work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>) -> Result<()>;
}
