//! Moving from a database file to a PostgreSQL database.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::model::operation::backup::CopyProgress;
use crate::service::TicketingService;
use crate::service::opening::postgres_database::PostgresDatabase;

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
