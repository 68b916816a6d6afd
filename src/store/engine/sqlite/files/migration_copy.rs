//! The copy of a database from before a migration.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::location::Location;
use super::partial_copy::{folder_of, remove, with_suffix};
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::store::migrations;

impl Location {
    /// Copies the database to a new file next to it, which has the old version of the schema in its name. Nobody else
    /// can write meanwhile: the transaction of the migration is open, and has written nothing yet.
    pub(in crate::store) fn copy_before_migration(&self, found: i64, environment: &Environment) -> Result<()> {
        let path = self.path().canonicalize().unwrap_or_else(|_| self.path().to_owned());
        delete_unfinished(&path);
        let target = unused_name(&path, found);
        let copied = self.back_up_to(&target, environment, |_| ControlFlow::Continue(()));
        let copied = copied.map_err(|error| refuse_migration(error, found, &target))?;
        tracing::info!(
            target: "ticketing::store",
            file = %self.path().display(),
            copy = %target.display(),
            bytes = copied.bytes,
            schema_version = found,
            "database copied before its migration"
        );
        Ok(())
    }
}

/// Deletes copies that killed programs have left unfinished. No other program makes one now.
fn delete_unfinished(database: &Path) {
    let Some(start) = database.file_name().map(|name| format!("{}.schema-", name.display())) else { return };
    for entry in folder_of(database).read_dir().into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&start) && name.ends_with(".partial")) {
            let _ = remove(&entry.path());
        }
    }
}

/// The database may have been migrated before, and then restored.
fn unused_name(database: &Path, version: i64) -> PathBuf {
    let mut name = with_suffix(database, &format!(".schema-{version}"));
    for number in 2.. {
        if name.symlink_metadata().is_err() {
            break;
        }
        name = with_suffix(database, &format!(".schema-{version}-{number}"));
    }
    name
}

fn refuse_migration(error: Error, found: i64, copy: &Path) -> Error {
    let known = migrations::SQLITE.known();
    let problem = error.to_string();
    let copy = copy.display().to_string();
    StoreError::new(StoreErrorKind::NoCopyBeforeMigration { found, known, copy, problem }, error).into()
}
