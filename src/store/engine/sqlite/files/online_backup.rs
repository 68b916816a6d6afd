//! Backups: a copy of the database file, made while others write to the database.
//!
//! The copy is written under a temporary name. It is renamed when it is complete and synced, so that a crash never
//! leaves an incomplete copy under its final name. Existing files are never overwritten.

use std::ops::ControlFlow;
use std::path::Path;

use super::location::Location;
use super::partial_copy::{PartialCopy, failed, folder_of, target_exists, with_suffix};
use crate::environment::Environment;
use crate::error::{Error, Result, StoreErrorKind};
use crate::model::operation::backup::BackupProgress;
use crate::store::engine::sqlite::database::Database;

/// How many bytes are copied between two syncs: 16 MiB. Commits wait while the disk works on a sync, so each is kept
/// small.
const BYTES_PER_SYNC: u64 = 16 << 20;

/// The suffixes of the files that SQLite keeps next to a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

impl Location {
    /// Copies one snapshot of the database to a new file at `target`. Passes the progress to `progress` after each
    /// piece, and returns the size of the copy.
    pub(in crate::store) fn back_up_to(
        &self,
        target: &Path,
        environment: &Environment,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        check_target(self.path(), target)?;
        self.back_up(&self.open_existing()?, target, environment, progress)
    }

    /// Does the same for a database that this process need not have open. Its schema may be older.
    pub(crate) fn back_up_file_to(
        &self,
        target: &Path,
        environment: &Environment,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        check_target(self.path(), target)?;
        self.back_up(&self.open_unchanged()?, target, environment, progress)
    }

    fn back_up(
        &self,
        source: &Database,
        target: &Path,
        environment: &Environment,
        mut progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        let failed = |error| failed(target, error);
        let permissions = std::fs::metadata(self.path()).map_err(failed)?.permissions();
        let partial = PartialCopy::create(target, environment)?;
        partial.file.set_permissions(permissions).map_err(failed)?;
        let copy = self.on_same_vfs(partial.path.clone());
        let mut synced = 0;
        let size = source.copy_to(&copy, |copied| {
            if copied.bytes - synced >= BYTES_PER_SYNC {
                partial.file.sync_data().map_err(failed)?;
                synced = copied.bytes;
            }
            match progress(copied) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(StoreErrorKind::BackupStopped.into()),
            }
        })?;
        copy.number_copy(environment)?;
        partial.finish(target)?;
        Ok(size)
    }
}

/// Refuses a target that exists, that belongs to the store, or whose copy SQLite would combine with another database's
/// log.
fn check_target(source: &Path, target: &Path) -> Result<()> {
    let refuse = |why: &str| Err(Error::field("path", why));
    let is_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Some(name) = target.file_name().filter(|_| !is_folder) else { return refuse("must name a file") };

    if let (Ok(source), Ok(folder)) = (source.canonicalize(), folder_of(target).canonicalize()) {
        let target = folder.join(name);
        if target.canonicalize().is_ok_and(|target| target == source) {
            return refuse("must not be the store itself");
        }
        if COMPANIONS.iter().any(|suffix| with_suffix(&source, suffix) == target) {
            return refuse("must not be a file that belongs to the store");
        }
    }

    let exists = |path: &Path| path.symlink_metadata().is_ok();
    if exists(target) {
        return Err(target_exists(target));
    }
    if COMPANIONS.iter().any(|suffix| exists(&with_suffix(target, suffix))) {
        return refuse("must not have the log of another database next to it");
    }
    Ok(())
}
