//! Work on a database that is in use: backup, consistency check, copy to PostgreSQL.

use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Result;
use crate::model::operation::backup::BackupProgress;
#[cfg(feature = "postgres")]
use crate::model::operation::backup::CopyProgress;
use crate::model::operation::check::{CheckProgress, CheckReport};
use crate::service::TicketingService;
#[cfg(feature = "postgres")]
use crate::service::opening::postgres_database::PostgresDatabase;

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

/// # Checking the database
impl TicketingService {
    /// Checks the consistency of the whole database: the file and its indexes, and every invariant of orders, seats,
    /// tickets, payments, discounts and webhooks.
    ///
    /// The report lists a finding for each violation and for everything that cannot be read. It names tables, rows and
    /// invariants, but no personal data. This method takes no caller: a program that can open the database may check
    /// it.
    ///
    /// The check consists of steps. Each step reads a snapshot of the database while others write, so that the
    /// write-ahead log grows less than during a [backup](Self::backup). The longest one compares the tickets with their
    /// orders. Up to four steps run at a time, each on its own thread, but only one of those that mostly look up rows.
    /// On two processors, a million tickets take about 10 seconds, and a million stored notifications about 25. The
    /// time grows in proportion. A check that finds something may take several times as long.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the database cannot be read at all.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let report = service.check()?;
    /// assert!(report.is_clean(), "{:?}", report.findings);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        self.check_with_progress(|_| ControlFlow::Continue(()))
    }

    /// Checks the database like [`check`](Self::check), and calls `progress` after each step. If it returns
    /// [`ControlFlow::Break`], the check ends after the steps that are running.
    ///
    /// # Errors
    /// As of [`check`](Self::check), and [`Error::Store`](crate::Error::Store) if `progress` returns `Break`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let report = service.check_with_progress(|progress| {
    ///     println!("{} of {}", progress.steps, progress.total_steps);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(report.is_clean(), "{:?}", report.findings);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_with_progress(
        &self,
        mut progress: impl FnMut(CheckProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        self.store()?.check(&mut progress)
    }
}

#[cfg(feature = "postgres")]
/// # Moving to PostgreSQL
impl TicketingService {
    /// Copies everything in the database file to a PostgreSQL database: the state of the moment at which the copy
    /// started. Ids, codes, keys and secrets stay the same, so that a service on the target goes on where this one
    /// stopped.
    ///
    /// Stop selling first: what this or another process writes after the start is not in the copy. `target` must have
    /// no tables of this crate, or empty ones. The copy is one transaction: if it fails or is interrupted, the target
    /// is as it was.
    ///
    /// Calls `progress` every 1000 rows and at the end. If it returns [`ControlFlow::Break`], nothing is copied.
    /// Returns the final progress. 100,000 tickets of 25,000 orders keep a processor of PostgreSQL busy for 4 seconds.
    /// Until the copy ends, changes of the file stay in its write-ahead log.
    ///
    /// This method takes no caller: a program that can open the database may copy it. Afterwards,
    /// [check](Self::check) both, and put the file out of use with [`mark_as_moved`](Self::mark_as_moved).
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `url` if the file with certificates that it names cannot
    ///   be read.
    /// - [`Error::Store`](crate::Error::Store) with one of these [kinds](crate::error::StoreErrorKind): `CannotCopy` if
    ///   the target is not empty, PostgreSQL refuses a row of a damaged file, or this database is not a file;
    ///   `CopyStopped` if `progress` returns `Break`; `CannotOpen` if the target cannot be reached; `SchemaTooOld` or
    ///   `SchemaTooNew` if it has tables of another version.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use ticketing::{PostgresDatabase, TicketingService};
    /// let service = TicketingService::open("ticketing.db")?;
    /// let target = PostgresDatabase::new("postgres://ticketing@127.0.0.1/ticketing")?;
    /// let copied = service.copy_to(target.clone(), |_| ControlFlow::Continue(()))?;
    /// println!("{} rows", copied.rows);
    /// assert!(TicketingService::postgres(target).open()?.check()?.is_clean());
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    pub fn copy_to(
        &self,
        target: PostgresDatabase,
        mut progress: impl FnMut(CopyProgress) -> ControlFlow<()>,
    ) -> Result<CopyProgress> {
        self.store()?.copy_to(&target.0.prepare()?, &mut progress)
    }
}
