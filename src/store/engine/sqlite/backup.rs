//! Backups: a copy of the database file, made while others write to the database.
//!
//! The copy is written under a temporary name. It is renamed when it is complete and synced, so that a crash never
//! leaves an incomplete copy under its final name. Existing files are never overwritten.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::location::Location;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::model::backup::BackupProgress;
use crate::model::id::crockford;

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
        mut progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        check_target(self.path(), target)?;
        let source = self.open_existing()?;
        let permissions = std::fs::metadata(self.path()).map_err(|error| failed(target, error))?.permissions();
        let partial = PartialCopy::create(target, permissions, environment)?;
        let mut synced = 0;
        let size = source.copy_to(&self.on_same_vfs(partial.path.clone()), |copied| {
            if copied.bytes - synced >= BYTES_PER_SYNC {
                partial.file.sync_data().map_err(|error| failed(target, error))?;
                synced = copied.bytes;
            }
            match progress(copied) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(StoreErrorKind::BackupStopped.into()),
            }
        })?;
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

fn target_exists(target: &Path) -> Error {
    let target = target.display();
    Error::field("path", format!("must be a new file: {target} exists, and a backup overwrites nothing"))
}

/// An unfinished copy. If it is dropped unfinished, its file is deleted.
struct PartialCopy {
    path: PathBuf,
    file: File,
}

impl PartialCopy {
    /// Creates an empty file in the folder of `target`. From the first moment, only those that can read the store can
    /// read the file.
    fn create(target: &Path, permissions: Permissions, environment: &Environment) -> Result<Self> {
        let random = environment.random_text(crockford::ALPHABET, 8);
        let path = with_suffix(target, &format!(".{random}.partial"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(target, error))?;
        let partial = Self { path, file };
        partial.file.set_permissions(permissions).map_err(|error| failed(target, error))?;
        Ok(partial)
    }

    /// Syncs the complete copy and renames it to `target`.
    fn finish(self, target: &Path) -> Result<()> {
        let finished = self.file.sync_all().and_then(|()| self.rename_to(target)).and_then(|()| sync_folder(target));
        finished.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => target_exists(target),
            _ => failed(target, error),
        })
    }

    /// Links the file to its second name, which fails if that exists; the first name is deleted with `self`. On a file
    /// system without links, the file is renamed after another check that nothing is overwritten.
    fn rename_to(&self, target: &Path) -> io::Result<()> {
        match std::fs::hard_link(&self.path, target) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if target.symlink_metadata().is_ok() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                std::fs::rename(&self.path, target)
            }
            linked => linked,
        }
    }
}

impl Drop for PartialCopy {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(
                    target: "ticketing::store",
                    %error,
                    "the temporary file of a backup could not be deleted"
                );
            }
            _ => {}
        }
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| *folder != OsStr::new("")).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Syncs the folder of a file, so that the file's new name survives a crash.
fn sync_folder(target: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(target))?.sync_all() } else { Ok(()) }
}

fn failed(target: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::CannotCopy(format!("{} ({error})", target.display())),
    };
    StoreError::new(kind, error).into()
}
