//! The errors of the database.

use std::fmt;
use std::sync::Arc;

/// An error of the database: its [kind](StoreError::kind), and what SQLite or the operating system reported.
///
/// The message is for the operator of the program. It has the text of the [source](std::error::Error::source) too, if
/// that says more than the kind. The source is an [`std::io::Error`] if the operating system reported the error itself;
/// otherwise its type can change in any version of this crate. Errors are equal if they are of the same kind.
///
/// A database that is only busy is an [`Error::Unavailable`](super::Error::Unavailable).
///
/// ```
/// use std::error::Error as _;
/// use ticketing::error::StoreErrorKind;
/// use ticketing::{Error, TicketingService};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("letter.txt");
/// std::fs::write(&path, "Dear Ada, ...")?;
/// let error = TicketingService::open(&path).err().ok_or("a letter is no database")?;
/// let Error::Store(error) = error else { return Err(error.into()) };
/// assert!(matches!(error.kind(), StoreErrorKind::NotADatabase(_)));
/// assert!(error.source().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StoreError(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: StoreErrorKind,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The kind of a [`StoreError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The disk is full. Nothing was written.
    #[error("the disk is full: nothing was written")]
    Full,
    /// The disk could not store what was written to the database file: a sync failed, here or in another process. What
    /// was acknowledged is in the write-ahead log. Nothing more is written until every program that has the file open
    /// has ended; the next one to open it recovers everything.
    #[error("the disk failed to sync the database: writes are refused until all programs that use it are restarted")]
    SyncFailed,
    /// The database file was removed or replaced while the program had it open. Nothing more is written until the
    /// program is restarted: it would be lost.
    #[error("the database file was removed or replaced: {0}; writes are refused until the program is restarted")]
    FileReplaced(String),
    /// The file, or its folder, cannot be written to, or a PostgreSQL server accepts no writes.
    #[error("the database cannot be written to: {0}")]
    ReadOnly(String),
    /// The file cannot be opened.
    #[error("the database cannot be opened: {0}")]
    CannotOpen(String),
    /// The program has stopped a backup. The incomplete copy was removed.
    #[error("the backup was stopped")]
    BackupStopped,
    /// The program has stopped a copy to another database. Nothing was copied.
    #[error("the copy was stopped")]
    CopyStopped,
    /// The program has stopped an export.
    #[error("the export was stopped")]
    ExportStopped,
    /// The program has stopped a check.
    #[error("the check was stopped")]
    CheckStopped,
    /// The program has stopped a reconciliation. What it has recorded until then stays.
    #[error("the reconciliation was stopped")]
    ReconciliationStopped,
    /// A backup, or a copy to another database, cannot be made. The incomplete copy was removed.
    #[error("the database cannot be copied: {0}")]
    CannotCopy(String),
    /// A program has the database open, so it is not replaced.
    #[error("the database is in use: {0}; stop all programs that have it open")]
    InUse(String),
    /// A database is not replaced by a backup in which a check has found problems.
    #[error("{path} has problems, which check lists: {invariants}")]
    Unsound {
        /// The path of the backup.
        path: String,
        /// The names of the invariants that do not hold.
        invariants: String,
    },
    /// A backup cannot be restored. The database is as it was.
    #[error("{backup} cannot be restored to {database}: {problem}")]
    CannotRestore {
        /// The path of the backup.
        backup: String,
        /// The path of the database.
        database: String,
        /// What the problem is.
        problem: String,
    },
    /// The write-ahead log next to the database belongs to another file: a backup was copied over a database whose
    /// program had been killed. Together they would be damaged, so nothing was changed.
    #[error("{0} has the write-ahead log of another file next to it: restore the backup with the command restore")]
    ForeignLog(String),
    /// The file is not an SQLite database.
    #[error("the file is not a database: {0}")]
    NotADatabase(String),
    /// The database file is damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A stored value is invalid.
    #[error("corrupt data in table {table}, column {column}, row {row}: {problem}")]
    CorruptRow {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row's key.
        row: String,
        /// What is wrong with the value. Never contains the value itself, which may be personal data.
        problem: String,
    },
    /// Stored values are so large that their sum exceeds 64 bits.
    #[error("the sum of the values exceeds 64 bits")]
    SumTooLarge,
    /// The database was written by a newer version of this crate. If a newer program migrates it while it is open,
    /// nothing more is written.
    #[error(
        "the database has schema version {found}, but this program supports only versions up to {known}: start a newer version"
    )]
    SchemaTooNew {
        /// The schema version of the file.
        found: i64,
        /// The newest schema that this version of the crate supports.
        known: i64,
    },
    /// The database file is [out of use](crate::TicketingService::mark_as_moved), because its content was moved to
    /// another database. If it is marked while it is open, nothing more is written.
    #[error(
        "the database file is out of use, because its content was moved to another database: open that one, or take the \
         move back with TicketingService::undo_move (ticketing copy --undo)"
    )]
    Moved,
    /// The database has an older schema, and the [builder](crate::Builder::migrate) does not permit to migrate it.
    #[error("the database has schema version {found}, older than {known}: start the server to migrate it")]
    SchemaTooOld {
        /// The schema version of the file.
        found: i64,
        /// The schema that this version of the crate needs.
        known: i64,
    },
    /// The database is not migrated, because no copy of it from before can be made. It is as it was.
    #[error("the database is not migrated from schema version {found} to {known}: the copy {copy} fails: {problem}")]
    NoCopyBeforeMigration {
        /// The schema version of the file.
        found: i64,
        /// The schema that this version of the crate needs.
        known: i64,
        /// The path of the copy.
        copy: String,
        /// What the problem is.
        problem: String,
    },
    /// The database belongs to another program, with this `application_id` in its header.
    #[error("the database belongs to another program (application id {0})")]
    ForeignDatabase(i64),
    /// The SQLite library is too old.
    #[error("SQLite {found} is too old: {required} or newer is required")]
    SqliteTooOld {
        /// The version of the library.
        found: String,
        /// The oldest version that works.
        required: &'static str,
    },
    /// Another row has the same value in a unique column. Values that callers set are reported as a
    /// [`Conflict`](super::Conflict) instead.
    #[error("another row has the same value: {0}")]
    Taken(String),
    /// The operating system could not read or write the file, or a file next to it.
    #[error("reading or writing the database failed: {0}")]
    Io(String),
    /// A thread cannot be started.
    #[error("a thread could not be started: {0}")]
    NoThread(String),
    /// Anything else that SQLite reported.
    #[error("the database failed: {0}")]
    Failed(String),
}

impl StoreErrorKind {
    /// What is for a database file was asked of a PostgreSQL database.
    pub(crate) fn not_a_file() -> Self {
        Self::CannotCopy("a PostgreSQL database is copied with pg_dump".to_owned())
    }
}

impl StoreError {
    /// Creates an error with the error that caused it.
    pub(crate) fn new(kind: StoreErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { kind, source: Some(Arc::new(source)) }))
    }

    /// Changes the kind, and keeps the source.
    pub(crate) fn map_kind(self, change: impl FnOnce(StoreErrorKind) -> StoreErrorKind) -> Self {
        let Inner { kind, source } = Arc::unwrap_or_clone(self.0);
        Self(Arc::new(Inner { kind: change(kind), source }))
    }

    /// Creates an error about a thread that cannot be started.
    pub(crate) fn no_thread(error: std::io::Error) -> Self {
        Self::new(StoreErrorKind::NoThread(error.to_string()), error)
    }

    /// Whether the request may succeed when the disk has room again, the database accepts writes again, or the program
    /// was restarted, perhaps with another database.
    pub(crate) fn is_temporary(&self) -> bool {
        use StoreErrorKind::{FileReplaced, Full, Moved, ReadOnly, SchemaTooNew, SyncFailed};
        matches!(self.kind(), Full | ReadOnly(_) | SyncFailed | FileReplaced(_) | SchemaTooNew { .. } | Moved)
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> &StoreErrorKind {
        &self.0.kind
    }
}

impl From<StoreErrorKind> for StoreError {
    /// Creates an error that no other error has caused.
    fn from(kind: StoreErrorKind) -> Self {
        Self(Arc::new(Inner { kind, source: None }))
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreError").field("kind", &self.0.kind).field("source", &self.0.source).finish()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)
    }
}

impl PartialEq for StoreError {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind == other.0.kind
    }
}

impl Eq for StoreError {}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
