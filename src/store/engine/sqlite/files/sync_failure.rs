//! The marker of a failed sync of the database file, for all processes that use the file.
//!
//! A checkpoint copies pages from the WAL into the database file, and syncs the file when it has copied the last one.
//! If this sync fails, the operating system may treat the pages as written although they never reach the disk. SQLite
//! does not copy them again: it counts those of earlier, incomplete checkpoints as done. So the next sync succeeds
//! without them, the WAL is overwritten, and a power failure, or the system's need for memory, then reveals a damaged
//! database.
//!
//! The WAL itself is intact, because every commit syncs it. Therefore after a failed sync nothing is checkpointed and
//! nothing is written, not even when the database is closed, until the whole WAL has been copied again. SQLite copies
//! it again when it reads it without the shared index in which the copied pages are counted. This needs that no other
//! connection is open.
//!
//! A marker file next to the database tells the other processes. It need not survive a power failure, so it is not
//! synced: after one, no shared index exists. If it cannot be created, for example because the folder is on the same
//! broken disk, its creation is tried again every second. On Linux, other processes that have the file open get the
//! same error at their next checkpoint, and stop by themselves. What remains is a process that opens the file meanwhile
//! and goes on after this one has ended.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::partial_copy::{remove, with_suffix};
use crate::error::{Result, StoreError, StoreErrorKind};

/// What follows the name of the database file in that of the marker.
const SUFFIX: &str = "-sync-failed";

const TEXT: &str = "A sync of the database file to the disk has failed: its log says when and why.
Programs that have the database open refuse to write. Stop them, and start one of them again:
it copies the whole write-ahead log into the database file and deletes this file.
";

/// The file next to a database that tells all processes about a failed sync.
pub(in crate::store::engine::sqlite) struct SyncFailureMarker {
    path: PathBuf,
}

impl SyncFailureMarker {
    pub(in crate::store::engine::sqlite) fn next_to(database: &Path) -> Self {
        // Where the WAL is: next to the file itself, and not next to a symbolic link to it.
        let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        Self { path: with_suffix(&database, SUFFIX) }
    }

    pub(in crate::store::engine::sqlite) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::store::engine::sqlite) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    pub(in crate::store::engine::sqlite) fn create(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        // The file exists, which is enough: the text is only for people, and the disk may be full.
        let _ = file.write_all(TEXT.as_bytes());
        Ok(())
    }

    pub(in crate::store::engine::sqlite) fn remove(&self) -> Result<()> {
        remove(&self.path).map_err(|error| {
            let problem = format!("{} cannot be deleted ({error})", self.path.display());
            StoreError::new(StoreErrorKind::CannotOpen(problem), error).into()
        })
    }
}
