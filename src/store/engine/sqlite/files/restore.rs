//! Replaces a database file by a copy of a backup.
//!
//! The old file stays complete until the new one, which is complete and synced, takes its name. So the old WAL is moved
//! into the old file and removed before: if it lay next to the new file, even after a crash, SQLite would combine them.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;

use super::location::Location;
use super::partial_copy::{PartialCopy, failed, remove, sync_folder, with_suffix};
use super::sync_failure::SyncFailureMarker;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::store::engine::sqlite::database::Database;

/// The suffixes of the files from which SQLite completes a database.
const LOGS: [&str; 2] = ["-wal", "-journal"];
/// What is appended to the name of a log that SQLite cannot read, until the database is replaced.
const ASIDE: &str = ".replaced";

impl Location {
    /// Replaces the file by a copy of `backup`, for which `check` must succeed. Creates the file if there is none.
    /// Fails if a connection to it is open; then, and after any other error, the file is as it was.
    pub(crate) fn replace_by(
        &self,
        backup: &Self,
        environment: &Environment,
        check: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<()> {
        // The file itself, and not a symbolic link to it.
        let path = self.path().canonicalize().unwrap_or_else(|_| self.path().to_owned());
        if backup.path().canonicalize().is_ok_and(|backup| backup == path) {
            return Err(Error::field("backup", "must not be the database itself"));
        }
        let name_paths = |error| name_paths(error, backup.path(), self.path());
        let database = self.on_same_vfs(path);
        let locked = database.lock_to_replace()?;
        let copy = database.copy_checked(backup, environment, check).map_err(name_paths)?;
        database.replace_file(locked.as_ref(), copy).map_err(name_paths)
    }

    /// Locks the existing file, so that nobody can open it. `None` if there is no file, or not one that a program could
    /// have open, because it is too damaged.
    fn lock_to_replace(&self) -> Result<Option<Database>> {
        if !self.path().exists() {
            return Ok(None);
        }
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let locked = Database::open_exclusively(connection, self.path())
            .and_then(|database| database.batch("BEGIN EXCLUSIVE; COMMIT").map(|()| database));
        match locked {
            Ok(database) => Ok(Some(database)),
            Err(Error::Unavailable(_)) => Err(StoreErrorKind::InUse(self.path().display().to_string()).into()),
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(self.with_path(error)),
        }
    }

    /// Copies `backup` to a file next to this one, checks it and syncs it.
    fn copy_checked(
        &self,
        backup: &Self,
        environment: &Environment,
        check: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<PartialCopy> {
        let source = backup.open_unchanged()?;
        let copy = PartialCopy::create(self.path(), environment)?;
        let location = self.on_same_vfs(copy.path.clone());
        source.copy_to(&location, |_| Ok(()))?;
        check(&location)?;
        location.number_copy(environment)?;
        copy.file.sync_all().map_err(|error| failed(self.path(), error))?;
        Ok(copy)
    }

    /// Gives the copy the name of the database.
    fn replace_file(&self, locked: Option<&Database>, copy: PartialCopy) -> Result<()> {
        let is_whole = match locked.map(Database::copy_whole_wal) {
            Some(Ok(())) => true,
            Some(Err(error)) if !is_damage(&error) => return Err(error),
            _ => false,
        };
        let failed = |error| failed(self.path(), error);
        let aside = if is_whole { Vec::new() } else { self.set_logs_aside().map_err(failed)? };
        let replaced =
            self.remove_logs().and_then(|()| sync_folder(self.path())).and_then(|()| copy.replace(self.path()));
        if let Err(error) = replaced {
            for log in aside {
                std::fs::rename(with_suffix(&log, ASIDE), &log).map_err(failed)?;
            }
            return Err(failed(error));
        }
        sync_folder(self.path()).map_err(failed)?;
        for log in aside {
            remove(&with_suffix(&log, ASIDE)).map_err(failed)?;
        }
        SyncFailureMarker::next_to(self.path()).remove()
    }

    /// Renames the logs, which cannot be moved into the old file. They are kept until it is replaced.
    fn set_logs_aside(&self) -> io::Result<Vec<PathBuf>> {
        let logs = LOGS.map(|suffix| with_suffix(self.path(), suffix));
        let mut aside = Vec::new();
        for log in logs.into_iter().filter(|log| log.exists()) {
            std::fs::rename(&log, with_suffix(&log, ASIDE))?;
            aside.push(log);
        }
        Ok(aside)
    }

    /// Removes the logs, which are empty or set aside, and the index of the WAL.
    fn remove_logs(&self) -> io::Result<()> {
        LOGS.iter().chain(&["-shm"]).try_for_each(|suffix| remove(&with_suffix(self.path(), suffix)))
    }
}

/// Whether SQLite cannot read the content of a file.
fn is_damage(error: &Error) -> bool {
    let Error::Store(error) = error else { return false };
    matches!(error.kind(), StoreErrorKind::NotADatabase(_) | StoreErrorKind::Damaged(_))
}

/// Adds both paths to an error about the backup.
fn name_paths(error: Error, backup: &Path, database: &Path) -> Error {
    let problem = error.to_string();
    match error {
        Error::Store(error) if matches!(error.kind(), StoreErrorKind::Full | StoreErrorKind::Unsound { .. }) => {
            error.into()
        }
        error @ (Error::Store(_) | Error::Unavailable(_)) => {
            let (backup, database) = (backup.display().to_string(), database.display().to_string());
            StoreError::new(StoreErrorKind::CannotRestore { backup, database, problem }, error).into()
        }
        other => other,
    }
}
