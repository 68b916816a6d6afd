//! Copies of the store, made while it is used.

use std::path::Path;

use super::TicketingService;
use crate::error::Result;
use crate::model::backup::BackupProgress;

impl TicketingService {
    /// Copies the store to a new file at `path`, while this and other processes go on writing. The copy is one state of the
    /// store, that of the moment at which it began, and a database like any other: a service can open it. It takes no
    /// caller: whoever can open the file may copy it.
    ///
    /// `progress` is told about every MiB, and when the last page is copied. The answer is how large the copy is.
    ///
    /// The copy grows under a temporary name in the folder of `path`, which ends in `.partial`. It gets its own name when
    /// all of it is on the disk: under that name there is never half a copy, whatever happens. What is at `path` is never
    /// overwritten. Only who may read the store may read the copy.
    ///
    /// What is written meanwhile stays in the write-ahead log of the store, which grows by it, and is moved into the
    /// database at the end. Whenever the log has grown past 96 MiB by another half, whoever writes waits for a fifth of
    /// a second. The copy goes to the disk in pieces, so that commits are not held up by much of it at once.
    ///
    /// # Errors
    /// A validation error names `path` where something is there already, or where the store itself or its log would be.
    /// [`Error::Store`](crate::Error::Store) says that the disk is full or the copy cannot be written; nothing is left of
    /// it then.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let copy = folder.path().join("copy.db");
    /// let done = service.backup(&copy, |progress| println!("{} of {}", progress.bytes, progress.total_bytes))?;
    /// assert_eq!(done.bytes, std::fs::metadata(&copy)?.len());
    /// assert!(TicketingService::open(&copy)?.check()?.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, path: impl AsRef<Path>, progress: impl FnMut(BackupProgress)) -> Result<BackupProgress> {
        self.store().backup(path.as_ref(), progress)
    }
}
