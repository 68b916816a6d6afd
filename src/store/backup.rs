//! A backup as a file: refused where it would overwrite something, made under another name, and given its own when it is
//! whole and on the disk.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Store;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};
use crate::model::backup::BackupProgress;
use crate::model::id::crockford;

/// How much may wait for its way to the disk, 16 MiB: the commits of others would have to wait for all of it.
const UNSYNCED: u64 = 16 << 20;

/// What SQLite puts behind the name of a database for the files beside it.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

impl Store {
    /// Copies the present state into a new file at `target`.
    pub(crate) fn backup(&self, target: &Path, mut progress: impl FnMut(BackupProgress)) -> Result<BackupProgress> {
        check_target(self.location.path(), target)?;
        let source = self.location.open_existing()?;
        let private = std::fs::metadata(self.location.path()).map_err(|error| failed(target, &error))?.permissions();
        let partial = Partial::create(target, private, &self.environment)?;
        let mut synced = 0;
        let copied = source.copy_to(&self.location.beside(partial.path.clone()), |copied| {
            if copied.bytes - synced >= UNSYNCED {
                partial.file.sync_data().map_err(|error| failed(target, &error))?;
                synced = copied.bytes;
            }
            progress(copied);
            Ok(())
        })?;
        partial.name(target)?;
        Ok(copied)
    }
}

/// Refuses a target at which the copy, or something else, would come to harm.
fn check_target(source: &Path, target: &Path) -> Result<()> {
    let refuse = |why: &str| Err(Error::field("path", why));
    let names_a_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Some(name) = target.file_name().filter(|_| !names_a_folder) else { return refuse("must name a file") };
    if let (Ok(source), Ok(folder)) = (source.canonicalize(), folder_of(target).canonicalize()) {
        let target = folder.join(name);
        if target.canonicalize().is_ok_and(|target| target == source) {
            return refuse("is the store itself");
        }
        if BESIDE.iter().any(|suffix| with_suffix(&source, suffix) == target) {
            return refuse("is the name of a file that belongs to the store itself");
        }
    }
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if is_there(target) {
        return refuse(TAKEN);
    }
    if BESIDE.iter().any(|suffix| is_there(&with_suffix(target, suffix))) {
        return refuse("has the log of another database beside it, which would be taken for its own");
    }
    Ok(())
}

const TAKEN: &str = "must not be there yet: nothing is overwritten";

/// A copy that is not whole yet. Where it goes unnamed, its file goes with it.
struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    /// An empty file in the folder of `target`. Nobody else can read it at any moment who cannot read the store.
    fn create(target: &Path, permissions: Permissions, environment: &Environment) -> Result<Self> {
        let random = environment.random_text(crockford::ALPHABET, 8);
        let path = with_suffix(target, &format!(".{random}.partial"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(target, &error))?;
        let partial = Self { path, file };
        partial.file.set_permissions(permissions).map_err(|error| failed(target, &error))?;
        Ok(partial)
    }

    /// Gives the file its name, once all of it is on the disk.
    fn name(self, target: &Path) -> Result<()> {
        let named = self.file.sync_all().and_then(|()| self.link(target)).and_then(|()| sync_folder(target));
        named.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::field("path", TAKEN),
            _ => failed(target, &error),
        })
    }

    /// A second name, under which nothing is overwritten; the first one goes when `self` does. Some file systems give a file
    /// only one name: there it is moved, after another look.
    fn link(&self, target: &Path) -> io::Result<()> {
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

impl Drop for Partial {
    fn drop(&mut self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, "what is left of a backup could not be removed");
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

/// Makes a new name in a folder last.
fn sync_folder(target: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(target))?.sync_all() } else { Ok(()) }
}

fn failed(target: &Path, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full.into(),
        _ => StoreError::CannotCopy(format!("{} ({error})", target.display())).into(),
    }
}
