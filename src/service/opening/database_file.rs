//! A database file, and how it is opened.

use std::path::{Path, PathBuf};

/// A database file, and how it is opened: what [`TicketingService::builder`](crate::TicketingService::builder) takes. A
/// path is one with the default settings.
///
/// ```
/// use ticketing::{DatabaseFile, TicketingService};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ticketing.db");
/// let service = TicketingService::builder(DatabaseFile::new(path).copy_before_migration(false)).open()?;
/// # drop(service);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct DatabaseFile {
    pub(in crate::service) path: PathBuf,
    pub(in crate::service) vfs: Option<String>,
    /// Whether a copy from before a migration is kept.
    pub(in crate::service) keep_copy: bool,
}

impl DatabaseFile {
    /// The database at this path. It is created if there is none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), vfs: None, keep_copy: true }
    }

    /// Sets whether a copy of the database is kept when it is migrated to a newer schema. Default: true.
    ///
    /// The copy is next to the database, with the version of the old schema in its name, such as
    /// `ticketing.db.schema-5`. It is complete and on disk before the migration begins, and nothing is sold in between.
    /// If it cannot be made, for example because the disk is full, the database is not migrated and opening it fails
    /// with [`StoreErrorKind::NoCopyBeforeMigration`](crate::error::StoreErrorKind::NoCopyBeforeMigration).
    /// [`restore`](crate::TicketingService::restore) brings the copy back, for the older version of the program.
    ///
    /// A PostgreSQL database is migrated in one transaction. Copy it with `pg_dump` before.
    pub fn copy_before_migration(self, copy: bool) -> Self {
        Self { keep_copy: copy, ..self }
    }

    /// Sets the SQLite VFS by its name. Default: SQLite's default VFS.
    pub fn vfs(self, name: impl Into<String>) -> Self {
        Self { vfs: Some(name.into()), ..self }
    }
}

impl<P: AsRef<Path>> From<P> for DatabaseFile {
    fn from(path: P) -> Self {
        Self::new(path.as_ref())
    }
}
