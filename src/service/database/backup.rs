//! Copies of a database that is in use.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Result;
use crate::model::operation::backup::BackupProgress;
use crate::service::TicketingService;

/// # Backups
impl TicketingService {
    /// Copies the database to a new file at `path` while this and other processes use it. The copy has the state of the
    /// moment at which the backup started; it is a complete database that a service can open.
    ///
    /// Calls `progress` about every MiB and after the last page. If it returns [`ControlFlow::Break`], for example
    /// because the program is to end, the backup stops, and there is no copy. Returns the final progress, with the size
    /// of the copy. This method takes no caller: a program that can open the database may copy it.
    ///
    /// The copy is written under a temporary name in the folder of `path`, with the suffix `.partial`. It gets its name
    /// after it is complete and synced to disk, so that a file at `path` is always a complete copy. An existing file is
    /// never overwritten. The copy has the same permissions as the database.
    ///
    /// Until the backup ends, changes stay in the write-ahead log of the database, which grows. Whenever the log has
    /// grown by half beyond 96 MiB, a writer waits for 0.2 seconds. The copy is synced to disk every 16 MiB, so that it
    /// delays commits as little as possible.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `path` if a file exists there, or it is the database
    ///   itself or one of SQLite's files for it.
    /// - [`Error::Store`](crate::Error::Store) if `progress` returns `Break`, the disk is full, or the copy cannot be
    ///   written. Its [kind](crate::error::StoreErrorKind) tells which. The partial copy is removed.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let copy = folder.path().join("copy.db");
    /// let done = service.backup(&copy, |progress| {
    ///     println!("{} of {}", progress.bytes, progress.total_bytes);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(done.bytes, std::fs::metadata(&copy)?.len());
    /// assert!(TicketingService::open(&copy)?.check()?.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(
        &self,
        path: impl AsRef<Path>,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        self.store()?.backup(path.as_ref(), progress)
    }
}
