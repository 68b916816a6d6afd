//! Copies of a database that are written under a temporary name.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::model::values::id::crockford;

/// An unfinished copy. If it is dropped unfinished, its file is deleted.
pub(in crate::store::engine::sqlite) struct PartialCopy {
    pub(in crate::store::engine::sqlite) path: PathBuf,
    pub(in crate::store::engine::sqlite) file: File,
}

impl PartialCopy {
    /// Creates an empty file in the folder of `target`, which only its owner can read.
    pub(in crate::store::engine::sqlite) fn create(target: &Path, environment: &Environment) -> Result<Self> {
        let random = environment.random_text(crockford::ALPHABET, 8);
        let path = with_suffix(target, &format!(".{random}.partial"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(target, error))?;
        Ok(Self { path, file })
    }

    /// Syncs the complete copy and renames it to `target`, which must not exist. If this fails, there is no copy.
    pub(in crate::store::engine::sqlite) fn finish(self, target: &Path) -> Result<()> {
        // Without a sync of its folder, the copy may be gone after a power failure.
        let sync_name = || sync_folder(target).inspect_err(|_| drop(std::fs::remove_file(target)));
        let finished = self.file.sync_all().and_then(|()| self.link_to(target)).and_then(|()| sync_name());
        finished.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => target_exists(target),
            _ => failed(target, error),
        })
    }

    /// Renames the copy to `target`, which it replaces. The folder is not synced.
    pub(in crate::store::engine::sqlite) fn replace(self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)
    }

    /// Links the file to its second name, which fails if that exists; the first name is deleted with `self`. On a file
    /// system without links, the file is renamed after another check that nothing is overwritten.
    fn link_to(&self, target: &Path) -> io::Result<()> {
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
        if let Err(error) = remove(&self.path) {
            tracing::warn!(target: "ticketing::store", %error, "the temporary file of a copy could not be deleted");
        }
    }
}

pub(in crate::store::engine::sqlite) fn target_exists(target: &Path) -> Error {
    let target = target.display();
    Error::field("path", format!("must be a new file: {target} exists, and a backup overwrites nothing"))
}

pub(in crate::store::engine::sqlite) fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| *folder != OsStr::new("")).unwrap_or(Path::new("."))
}

pub(in crate::store::engine::sqlite) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Removes a file, if there is one.
pub(in crate::store::engine::sqlite) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the folder of a file, so that the file's new name survives a crash.
pub(in crate::store::engine::sqlite) fn sync_folder(target: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(target))?.sync_all() } else { Ok(()) }
}

pub(in crate::store::engine::sqlite) fn failed(target: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::CannotCopy(format!("{} ({error})", target.display())),
    };
    StoreError::new(kind, error).into()
}
