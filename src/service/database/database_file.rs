//! Work on a database file that need not be open: restoring a backup, looking at a file without changing it, and
//! putting it out of use.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::environment::{Environment, SystemClock, SystemEntropy};
use crate::error::{Result, StoreErrorKind};
use crate::model::operation::backup::BackupProgress;
use crate::model::operation::check::{CheckProgress, CheckReport};
use crate::service::TicketingService;
use crate::store::{Location, check};

/// # Database files
///
/// These functions work on a file that no service need have open.
impl TicketingService {
    /// Replaces the database at `database` by a copy of the backup at `backup`. Creates the database if there is none.
    ///
    /// No program may have the database open. The backup is copied to a temporary file in the folder of the database,
    /// [checked](Self::check_file), and synced to disk before it takes the place of the old file. The write-ahead log
    /// of the old file is removed: with another file, SQLite would combine the two and damage it. If this fails or is
    /// interrupted, the old database is as it was, or the new one is complete.
    ///
    /// The new file can be read by its owner only. A backup with an older schema is migrated when a service opens it.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) if `backup` is the database itself.
    /// - [`Error::Store`](crate::Error::Store) with one of these [kinds](StoreErrorKind):
    ///   [`InUse`](StoreErrorKind::InUse) if a program has the database open;
    ///   [`Unsound`](StoreErrorKind::Unsound) if the check of the backup finds a problem;
    ///   [`CannotRestore`](StoreErrorKind::CannotRestore) if the backup or the folder cannot be used, or the schema of
    ///   the backup is newer than this version of the crate;
    ///   [`ForeignDatabase`](StoreErrorKind::ForeignDatabase) if `database` belongs to another program;
    ///   [`Full`](StoreErrorKind::Full) if the disk is full.
    ///
    /// ```
    /// use ticketing::organization::ListOrganizations;
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let database = folder.path().join("hall.db");
    /// # let service = TicketingService::open(&database)?;
    /// let backup = folder.path().join("backup.db");
    /// service.backup(&backup, |_| ControlFlow::Continue(()))?;
    /// service.create_organization(CreateOrganization::default())?;
    /// service.close(std::time::Duration::from_secs(5))?;
    ///
    /// TicketingService::restore(&backup, &database)?;
    /// let service = TicketingService::open(&database)?;
    /// assert!(service.list_organizations(ListOrganizations::default())?.data.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(backup: impl AsRef<Path>, database: impl AsRef<Path>) -> Result<()> {
        let (location, backup) = (location(database.as_ref()), location(backup.as_ref()));
        let environment = environment();
        location.replace_by(&backup, &environment, |copy| {
            let report = check::check_file(copy, &environment, &mut |_| ControlFlow::Continue(()))?;
            require_clean(backup.path(), report)
        })
    }

    /// Checks a database file like [`check`](Self::check), without changing it. The file and its folder may be
    /// read-only, and a service may have the file open.
    ///
    /// A file with an older schema, or one that cannot be written, is copied to the system's temporary folder, and the
    /// copy is migrated and checked.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the file cannot be looked at: it does not exist, is not a database of
    ///   this crate, or has a [newer schema](StoreErrorKind::SchemaTooNew). Damage in it is a finding, not an error.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let backup = folder.path().join("backup.db");
    /// service.backup(&backup, |_| ControlFlow::Continue(()))?;
    /// assert!(TicketingService::check_file(&backup)?.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_file(database: impl AsRef<Path>) -> Result<CheckReport> {
        Self::check_file_with_progress(database, |_| ControlFlow::Continue(()))
    }

    /// Checks a database file like [`check_file`](Self::check_file), and calls `progress` after each step. If it
    /// returns [`ControlFlow::Break`], the check ends after the steps that are running.
    ///
    /// # Errors
    /// As of [`check_file`](Self::check_file), and [`Error::Store`](crate::Error::Store) if `progress` returns `Break`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let backup = folder.path().join("backup.db");
    /// service.backup(&backup, |_| ControlFlow::Continue(()))?;
    /// let report = TicketingService::check_file_with_progress(&backup, |progress| {
    ///     println!("{} of {}", progress.steps, progress.total_steps);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(report.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_file_with_progress(
        database: impl AsRef<Path>,
        mut progress: impl FnMut(CheckProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        check::check_file(&location(database.as_ref()), &environment(), &mut progress)
    }

    /// Copies a database file like [`backup`](Self::backup), without migrating it: the copy has the schema of the
    /// file. A service may have the file open, also one of another version of the crate.
    ///
    /// # Errors
    /// As of [`backup`](Self::backup).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let database = folder.path().join("hall.db");
    /// # drop(TicketingService::open(&database)?);
    /// let copy = folder.path().join("before-the-upgrade.db");
    /// TicketingService::backup_file(&database, &copy, |_| ControlFlow::Continue(()))?;
    /// assert!(TicketingService::check_file(&copy)?.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_file(
        database: impl AsRef<Path>,
        path: impl AsRef<Path>,
        progress: impl FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        location(database.as_ref()).back_up_file_to(path.as_ref(), &environment(), progress)
    }

    /// Puts a database file out of use after [its content was copied](crate::guide::several_machines) to another
    /// database, so that a program which is started with it by mistake sells nothing twice. Programs of all versions
    /// refuse to open it, and one that has it open [stops](Self::stopped) writing. Nothing else in the file changes.
    /// Check both databases before.
    ///
    /// [`undo_move`](Self::undo_move) is the way back.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the file does not exist, is not a database of this crate, or cannot
    ///   be written.
    ///
    /// ```
    /// use ticketing::Error;
    /// use ticketing::error::StoreErrorKind;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let database = folder.path().join("hall.db");
    /// # drop(TicketingService::open(&database)?);
    /// TicketingService::mark_as_moved(&database)?;
    /// let refused = TicketingService::open(&database);
    /// assert!(matches!(refused, Err(Error::Store(error)) if *error.kind() == StoreErrorKind::Moved));
    /// TicketingService::undo_move(&database)?;
    /// TicketingService::open(&database)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_as_moved(database: impl AsRef<Path>) -> Result<()> {
        location(database.as_ref()).set_moved(true)
    }

    /// Puts a database file into use again that was [marked as moved](Self::mark_as_moved). Does nothing if it was not.
    ///
    /// What was sold in the other database is not in the file: take the other one out of use first. End all programs
    /// that have the file open.
    ///
    /// # Errors
    /// As of [`mark_as_moved`](Self::mark_as_moved).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let database = folder.path().join("hall.db");
    /// # drop(TicketingService::open(&database)?);
    /// TicketingService::mark_as_moved(&database)?;
    /// TicketingService::undo_move(&database)?;
    /// TicketingService::open(&database)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo_move(database: impl AsRef<Path>) -> Result<()> {
        location(database.as_ref()).set_moved(false)
    }
}

/// Fails if the check of the file at `path` has found a problem.
pub(in crate::service) fn require_clean(path: &Path, report: CheckReport) -> Result<()> {
    if report.is_clean() {
        return Ok(());
    }
    let invariants = report.counts.into_keys().collect::<Vec<_>>().join(", ");
    Err(StoreErrorKind::Unsound { path: path.display().to_string(), invariants }.into())
}

fn location(path: &Path) -> Location {
    Location::new(path.to_owned(), None)
}

fn environment() -> Environment {
    Environment::new(Arc::new(SystemClock), Arc::new(SystemEntropy))
}
