//! Where a database is, and how its connections are opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::database::Database;
use super::errors::convert;
use super::readers::Readers;
use super::settings::{STATEMENTS, stable_plans, wait_while_busy};
use crate::error::{Error, Result, StoreError};

/// 3.51.3 mends a race of the WAL reset that could lose commits.
const OLDEST_SQLITE: (i32, &str) = (3_051_003, "3.51.3");

/// Where a database is and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    path: PathBuf,
    vfs: Option<String>,
}

impl Location {
    /// The file at `path`, on SQLite's default VFS where none is given.
    pub(crate) fn new(path: PathBuf, vfs: Option<String>) -> Self {
        // SQLite reads a name that begins with `file:` as a URI; a path is always a path.
        let path =
            if path.as_os_str().as_encoded_bytes().starts_with(b"file:") { Path::new(".").join(path) } else { path };
        Self { path, vfs }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Another file on the same VFS.
    pub(super) fn on_same_vfs(&self, path: PathBuf) -> Self {
        Self::new(path, self.vfs.clone())
    }

    /// A connection that writes. It creates the file where there is none.
    pub(crate) fn open(&self) -> Result<Database> {
        self.open_database(OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// A connection that writes to a file that is there.
    pub(crate) fn open_existing(&self) -> Result<Database> {
        self.open_database(OpenFlags::empty())
    }

    fn open_database(&self, flags: OpenFlags) -> Result<Database> {
        check_version(rusqlite::version_number(), rusqlite::version())?;
        let connection = self.connect(flags)?;
        Database::prepare(connection).map_err(|error| self.named(error))
    }

    /// A connection to a file that is there and empty.
    pub(super) fn open_empty(&self) -> Result<Connection> {
        self.connect(OpenFlags::empty())
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
            None => Connection::open_with_flags(&self.path, flags),
        };
        connection.map_err(|error| self.opening(&error))
    }

    /// A pool of connections that only read.
    pub(crate) fn readers(&self, size: u32) -> Result<Readers> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let manager = match &self.vfs {
            // Only a URI can name the VFS to the pool.
            Some(vfs) => {
                flags |= OpenFlags::SQLITE_OPEN_URI;
                let (path, vfs) = (percent_encoded(&self.path), percent_encoded(vfs.as_ref()));
                r2d2_sqlite::SqliteConnectionManager::file(format!("file:{path}?vfs={vfs}"))
            }
            None => r2d2_sqlite::SqliteConnectionManager::file(&self.path),
        };
        let manager = manager.with_flags(flags).with_init(|connection| {
            connection.busy_handler(Some(wait_while_busy))?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            stable_plans(connection)
        });
        let pool = r2d2::Pool::builder()
            .max_size(size)
            // All of them now, and for good: one that were opened late, on a thread of the pool, could outlive the writer,
            // and a log that a reader closes last stays behind.
            .max_lifetime(None)
            .idle_timeout(None)
            .test_on_check_out(false)
            .connection_timeout(Duration::from_secs(5))
            .error_handler(Box::new(LogFailures))
            .build(manager)
            .map_err(|error| self.named(StoreError::CannotOpen(error.to_string()).into()))?;
        Ok(Readers::new(pool))
    }

    /// The size of the write-ahead log in bytes; 0 where there is none, or none to be seen from here.
    pub(crate) fn wal_bytes(&self) -> u64 {
        // It lies beside the file itself, and not beside a link to it.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let mut path = path.into_os_string();
        path.push("-wal");
        std::fs::metadata(path).map_or(0, |file| file.len())
    }

    fn opening(&self, error: &rusqlite::Error) -> Error {
        self.named(match convert(error) {
            Error::Store(StoreError::Failed(text)) => StoreError::CannotOpen(text).into(),
            other => other,
        })
    }

    /// Says which file it was, where that is the news.
    fn named(&self, error: Error) -> Error {
        let path = self.path.display().to_string();
        match error {
            Error::Store(StoreError::NotADatabase(_)) => StoreError::NotADatabase(path).into(),
            Error::Store(StoreError::ReadOnly(_)) => StoreError::ReadOnly(path).into(),
            Error::Store(StoreError::CannotOpen(text)) => StoreError::CannotOpen(format!("{path} ({text})")).into(),
            other => other,
        }
    }
}

/// Writes down why the pool could not make a connection: whoever waits for one only hears that there was none.
#[derive(Debug)]
struct LogFailures;

impl r2d2::HandleError<rusqlite::Error> for LogFailures {
    fn handle_error(&self, error: rusqlite::Error) {
        tracing::warn!(%error, "a reader could not be opened");
    }
}

fn check_version(number: i32, text: &str) -> Result<()> {
    let (oldest, required) = OLDEST_SQLITE;
    if number >= oldest {
        return Ok(());
    }
    Err(StoreError::SqliteTooOld { found: text.to_owned(), required }.into())
}

fn percent_encoded(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let encode = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_encoded_bytes().iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_older_than_the_one_relied_on_is_refused() {
        assert!(check_version(3_051_003, "3.51.3").is_ok());
        let refused = check_version(3_051_002, "3.51.2").expect_err("too old");
        assert_eq!(refused.to_string(), "SQLite 3.51.2 is too old: 3.51.3 or newer is required");
    }

    #[test]
    fn a_path_in_a_uri_is_percent_encoded() {
        assert_eq!(percent_encoded(Path::new("/a b/c?d#e%f.db")), "/a%20b/c%3Fd%23e%25f.db");
    }
}
