//! Copies a database while others write to it.

use std::ffi::c_int;

use rusqlite::backup::{Backup, StepResult};

use super::location::Location;
use crate::error::{Error, Result, Unavailable};
use crate::model::operation::backup::BackupProgress;
use crate::store::engine::sqlite::database::Database;
use crate::store::engine::sqlite::errors::convert;

/// How many pages are copied between two reports of the progress: 1 MiB.
const PAGES_PER_STEP: c_int = 256;

impl Database {
    /// Copies the present state to the empty file at `target`, and passes the progress to `copied` after each step. The
    /// file is not synced.
    ///
    /// SQLite restarts a copy when another connection has changed the source and the copy reads on in a new
    /// transaction. Here one read transaction is open from the first page to the last, so the copy is never restarted.
    pub(crate) fn copy_to(
        &self,
        target: &Location,
        copied: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupProgress> {
        self.with_snapshot(|| self.copy_snapshot(target, copied))
    }

    fn copy_snapshot(
        &self,
        target: &Location,
        mut copied: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupProgress> {
        let page_size = u64::try_from(self.number("PRAGMA page_size")?).unwrap_or(0);
        let mut target = target.open_empty()?;
        // Without a journal and syncs: an unfinished copy is deleted as a whole.
        let pragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF";
        target.execute_batch(pragmas).map_err(convert)?;
        let backup = Backup::new(self.raw(), &mut target).map_err(convert)?;
        loop {
            let step = backup.step(PAGES_PER_STEP).map_err(convert)?;
            let progress = progress_of(&backup, page_size);
            match step {
                StepResult::Done => {
                    copied(progress)?;
                    return Ok(progress);
                }
                StepResult::More => copied(progress)?,
                _ => return Err(Error::Unavailable(Unavailable::Busy)),
            }
        }
    }
}

fn progress_of(backup: &Backup<'_, '_>, page_size: u64) -> BackupProgress {
    let number = |pages: c_int| u64::try_from(pages).unwrap_or(0);
    let total_pages = number(backup.progress().pagecount);
    let pages = total_pages - number(backup.progress().remaining);
    BackupProgress { pages, total_pages, bytes: pages * page_size, total_bytes: total_pages * page_size }
}
