//! A copy of a database, made while others write to it.

use std::ffi::c_int;

use rusqlite::backup::{Backup, StepResult};

use super::database::Database;
use super::errors::convert;
use super::location::Location;
use crate::error::{Error, Result};
use crate::model::backup::BackupProgress;

/// Pages that are copied between two looks at the progress: 1 MiB.
const STEP: c_int = 256;

impl Database {
    /// Copies the present state into the empty file at `target`, which is not synced. `copied` is told after each piece.
    ///
    /// SQLite starts a copy anew when its source was changed by another connection. It does so when it begins to read
    /// again; the transaction that is held here reads one state from the first page to the last.
    pub(crate) fn copy_to(
        &self,
        target: &Location,
        copied: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupProgress> {
        self.on_one_state(|| self.copy_held_state(target, copied))
    }

    fn copy_held_state(
        &self,
        target: &Location,
        mut copied: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupProgress> {
        let page_size = u64::try_from(self.number("PRAGMA page_size")?).unwrap_or(0);
        let mut target = target.open_empty()?;
        // What is not finished is thrown away as a whole.
        let careless = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF";
        target.execute_batch(careless).map_err(|error| convert(&error))?;
        let backup = Backup::new(&self.connection, &mut target).map_err(|error| convert(&error))?;
        loop {
            let step = backup.step(STEP).map_err(|error| convert(&error))?;
            let (total, left) = (backup.progress().pagecount, backup.progress().remaining);
            let pages = |number: c_int| u64::try_from(number).unwrap_or(0);
            let progress = BackupProgress {
                pages: pages(total - left),
                total_pages: pages(total),
                bytes: pages(total - left) * page_size,
                total_bytes: pages(total) * page_size,
            };
            match step {
                StepResult::Done => return copied(progress).map(|()| progress),
                StepResult::More => copied(progress)?,
                _ => return Err(Error::Unavailable("the store is busy")),
            }
        }
    }
}
