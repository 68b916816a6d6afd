//! Connections that read one snapshot after another, for work that reads large parts of the database in steps.

use super::transaction::Transaction;
use crate::error::Result;

/// Opens connections that only read.
pub(in crate::store) trait Snapshots: Sync {
    /// Whether the database is a file, which can be damaged apart from what is in it.
    fn is_file(&self) -> bool;

    /// Opens a connection.
    fn open(&self) -> Result<Box<dyn SnapshotReader>>;
}

/// A connection that only reads.
pub(in crate::store) trait SnapshotReader {
    /// Runs `work` on one snapshot of the database; again from the beginning, on another one, if a standby cancels it.
    fn read(&self, work: &mut dyn FnMut(&Transaction<'_>) -> Result<()>) -> Result<()>;
}
