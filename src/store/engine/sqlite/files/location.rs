//! The location of a database file, and opening connections to it.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OpenFlags};
use scheduled_thread_pool::ScheduledThreadPool;

use super::moved::version_if;
use super::partial_copy::with_suffix;
use super::temporary_folder::TemporaryFolder;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError, StoreErrorKind};
use crate::store::engine::readers::Readers;
use crate::store::engine::sqlite::connection_pool::ConnectionPool;
use crate::store::engine::sqlite::database::Database;
use crate::store::engine::sqlite::errors::convert;
use crate::store::engine::sqlite::settings::{
    CACHED_STATEMENTS, never_checkpoint_on_close, use_stable_plans, wait_while_busy,
};

/// Version 3.51.3 fixes a race when the WAL is restarted, which could lose commits.
const OLDEST_VERSION: i32 = 3_051_003;
const OLDEST_VERSION_TEXT: &str = "3.51.3";

/// The path of a database file, and the VFS that accesses it.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    path: PathBuf,
    vfs: Option<String>,
    /// The folder of a temporary database. It is deleted with the last clone of its location.
    temporary_folder: Option<Arc<TemporaryFolder>>,
}

impl Location {
    /// The file at `path`. Without a `vfs`, SQLite's default is used.
    pub(crate) fn new(path: PathBuf, vfs: Option<String>) -> Self {
        // SQLite would read a path that begins with `file:` as a URI.
        let is_uri = path.as_os_str().as_encoded_bytes().starts_with(b"file:");
        let path = if is_uri { Path::new(".").join(path) } else { path };
        Self { path, vfs, temporary_folder: None }
    }

    /// A file in a new folder, which is deleted when the last clone of the location is dropped.
    pub(crate) fn temporary() -> Result<Self> {
        let folder = TemporaryFolder::create().map_err(|error| {
            StoreError::new(StoreErrorKind::CannotOpen(format!("a temporary folder ({error})")), error)
        })?;
        let path = folder.path().join("ticketing.db");
        Ok(Self { path, vfs: None, temporary_folder: Some(Arc::new(folder)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The location of another file on the same VFS.
    pub(in crate::store::engine::sqlite) fn on_same_vfs(&self, path: PathBuf) -> Self {
        Self::new(path, self.vfs.clone())
    }

    /// Opens a connection for writing. Creates the file if it does not exist.
    ///
    /// The file is readable for its owner only: it contains secrets and personal data. SQLite gives the WAL and the
    /// shared memory the same permissions.
    pub(crate) fn open(&self) -> Result<Database> {
        self.create_file();
        self.open_database(OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Creates the file if it does not exist.
    pub(in crate::store::engine::sqlite) fn create_file(&self) {
        // Another VFS may mean something else by the path.
        if self.vfs.is_none() {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            // An existing file keeps its permissions. If there is another problem, SQLite reports it.
            let _ = options.open(&self.path);
        }
    }

    /// Opens a connection for writing to an existing file.
    pub(crate) fn open_existing(&self) -> Result<Database> {
        self.open_database(OpenFlags::empty())
    }

    fn open_database(&self, flags: OpenFlags) -> Result<Database> {
        Self::check_sqlite()?;
        let connection = self.connect(flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let database = Database::prepare(connection, &self.path).map_err(|error| self.with_path(error))?;
        if self.temporary_folder.is_some() {
            // Nobody reads the file after a crash of the system.
            database.batch("PRAGMA synchronous = OFF")?;
        }
        Ok(database)
    }

    /// Puts the file [out of use](super::moved), or into use again. Does nothing if it is already.
    pub(crate) fn set_moved(&self, moved: bool) -> Result<()> {
        let database = self.open_existing()?;
        database.batch("BEGIN IMMEDIATE")?;
        let version = database.schema_version()?;
        if version == 0 {
            return Err(StoreErrorKind::NotADatabase(self.path.display().to_string()).into());
        }
        database.batch(&format!("PRAGMA user_version = {}; COMMIT", version_if(moved, version)))
    }

    /// Fails if the SQLite library is too old.
    pub(in crate::store::engine::sqlite) fn check_sqlite() -> Result<()> {
        check_version(rusqlite::version_number(), rusqlite::version())
    }

    /// Whether the path is that of a file of the operating system, and not of another VFS.
    pub(in crate::store::engine::sqlite) fn is_plain_file(&self) -> bool {
        self.vfs.is_none()
    }

    /// Opens a connection to an existing, empty file.
    pub(in crate::store::engine::sqlite) fn open_empty(&self) -> Result<Connection> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    pub(in crate::store::engine::sqlite) fn connect(&self, flags: OpenFlags) -> Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
            None => Connection::open_with_flags(&self.path, flags),
        };
        connection.map_err(|error| {
            let error = map_kind(convert(error), |kind| match kind {
                StoreErrorKind::Failed(text) | StoreErrorKind::Io(text) => StoreErrorKind::CannotOpen(text),
                other => other,
            });
            self.with_path(error)
        })
    }

    /// Opens `count` connections for look-ups, and half as many for scans, which may take `max_scan_time`.
    pub(in crate::store::engine::sqlite) fn readers(
        &self,
        count: usize,
        max_scan_time: Duration,
        environment: Environment,
    ) -> Result<Readers> {
        let scan_connections = (count / 2).max(1);
        let opening =
            Arc::new(ScheduledThreadPool::builder().num_threads(1).thread_name_pattern("ticketing-readers").build());
        let open = |count| ConnectionPool::open(self.reader(), count, &opening).map_err(|error| self.with_path(error));
        Ok(Readers::new(open(count)?, open(scan_connections)?, scan_connections, max_scan_time, environment))
    }

    /// Opens connections that only read.
    fn reader(&self) -> SqliteConnectionManager {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let manager = match &self.vfs {
            // In a URI, some characters of a path have another meaning.
            Some(vfs) => {
                let path = self.path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
                SqliteConnectionManager::file(format!("file:{path}?vfs={vfs}"))
                    .with_flags(flags | OpenFlags::SQLITE_OPEN_URI)
            }
            None => SqliteConnectionManager::file(&self.path).with_flags(flags),
        };
        manager.with_init(|connection| {
            connection.busy_handler(Some(wait_while_busy))?;
            connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
            never_checkpoint_on_close(connection)?;
            use_stable_plans(connection)
        })
    }

    /// The size of the WAL file in bytes; 0 if it does not exist or cannot be read.
    pub(crate) fn wal_bytes(&self) -> u64 {
        // The WAL is next to the file itself, and not next to a symbolic link to it.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        std::fs::metadata(with_suffix(&path, "-wal")).map_or(0, |file| file.len())
    }

    /// Adds the path to an error about the file as a whole.
    pub(in crate::store::engine::sqlite) fn with_path(&self, error: Error) -> Error {
        let path = self.path.display().to_string();
        map_kind(error, |kind| match kind {
            StoreErrorKind::NotADatabase(_) => StoreErrorKind::NotADatabase(path),
            StoreErrorKind::ReadOnly(_) => StoreErrorKind::ReadOnly(path),
            StoreErrorKind::CannotOpen(text) => StoreErrorKind::CannotOpen(format!("{path} ({text})")),
            other => other,
        })
    }
}

/// Changes the kind of an error of the database.
fn map_kind(error: Error, change: impl FnOnce(StoreErrorKind) -> StoreErrorKind) -> Error {
    match error {
        Error::Store(error) => error.map_kind(change).into(),
        other => other,
    }
}

fn check_version(number: i32, text: &str) -> Result<()> {
    if number >= OLDEST_VERSION {
        return Ok(());
    }
    Err(StoreErrorKind::SqliteTooOld { found: text.to_owned(), required: OLDEST_VERSION_TEXT }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_is_too_old_is_refused() {
        assert!(check_version(3_051_003, "3.51.3").is_ok());
        let refused = check_version(3_051_002, "3.51.2").expect_err("too old");
        assert_eq!(refused.to_string(), "SQLite 3.51.2 is too old: 3.51.3 or newer is required");
    }
}
