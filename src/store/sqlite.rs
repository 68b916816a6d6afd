//! The one file that names rusqlite and r2d2: connections, statements, rows, and what SQLite's errors mean here. An
//! engine for another database would be a second file like this one.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::ids::IdSource;
use crate::environment::Environment;
use crate::error::{Error, Result, StoreError};
use crate::model::id::{Id, Kind};
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;

/// 3.51.3 mends a race of the WAL reset that could lose commits.
const OLDEST_SQLITE: (i32, &str) = (3_051_003, "3.51.3");

/// Marks a database as one of ours in its header: "TCKT".
const APPLICATION_ID: i64 = 0x5443_4b54;

/// Where a database is and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    /// The SQLite VFS; the default one where it is not given.
    pub(crate) vfs: Option<String>,
}

impl Location {
    /// A connection that writes. It creates the file where there is none.
    pub(crate) fn open(&self) -> Result<Database> {
        check_version(rusqlite::version_number(), rusqlite::version())?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
            None => Connection::open_with_flags(&self.path, flags),
        };
        let database = Database { connection: connection.map_err(|error| self.opening(&error))? };
        database.prepare().map_err(|error| self.named(error))?;
        Ok(database)
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
            .min_idle(Some(1))
            .test_on_check_out(false)
            .connection_timeout(Duration::from_secs(5))
            .error_handler(Box::new(LogFailures))
            .build(manager)
            .map_err(|error| self.named(StoreError::CannotOpen(error.to_string()).into()))?;
        Ok(Readers { pool })
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

/// How many prepared statements a connection keeps: more than there are.
const STATEMENTS: usize = 256;

/// The same plan for the same statement, whatever is bound: with STAT4 compiled in, SQLite otherwise plans anew when a
/// bound value changes.
fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Waits a little for the other process that writes, and gives up after about five seconds. Waiters that came together
/// part ways: each waits for another while.
fn wait_while_busy(attempt: i32) -> bool {
    let longest = 1_u64 << attempt.clamp(0, 5);
    let mut jitter = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&(std::thread::current().id(), std::process::id(), attempt), &mut jitter);
    let micros = longest * 500 + std::hash::Hasher::finish(&jitter) % (longest * 1000);
    std::thread::sleep(Duration::from_micros(micros));
    attempt < 160
}

/// Waits for readers, at most a fifth of a second.
fn wait_briefly(attempt: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    attempt < 200
}

/// A connection that writes.
pub(crate) struct Database {
    connection: Connection,
}

thread_local! {
    /// Pages in the WAL after the last commit of this thread.
    static WAL_PAGES: Cell<u32> = const { Cell::new(0) };
}

impl Database {
    fn prepare(&self) -> Result<()> {
        let connection = &self.connection;
        connection.busy_handler(Some(wait_while_busy)).map_err(|error| convert(&error))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // What another program has in its log is not to be moved when this connection closes.
        let checkpoint_on_close = |on: bool| {
            let set = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on);
            set.map(drop).map_err(|error| convert(&error))
        };
        checkpoint_on_close(false)?;
        self.check_owner()?;
        checkpoint_on_close(true)?;
        if connection.is_readonly(rusqlite::MAIN_DB).map_err(|error| convert(&error))? {
            return Err(StoreError::ReadOnly(String::new()).into());
        }
        self.switch_to_wal()?;
        let setup = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
                     PRAGMA trusted_schema = OFF; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 0;";
        connection.execute_batch(setup).and_then(|()| stable_plans(connection)).map_err(|error| convert(&error))?;
        connection.wal_hook(Some(|_, pages| {
            WAL_PAGES.set(u32::try_from(pages).unwrap_or(u32::MAX));
            Ok(())
        }));
        Ok(())
    }

    /// Refuses another program's database before anything of it is changed.
    fn check_owner(&self) -> Result<()> {
        // In this order: another process may make this very database ours in between.
        let version = self.number("PRAGMA user_version")?;
        let tables = self.number("SELECT COUNT(*) FROM sqlite_schema")?;
        match self.number("PRAGMA application_id")? {
            APPLICATION_ID => Ok(()),
            0 if tables == 0 && version == 0 => Ok(()),
            other => Err(StoreError::ForeignDatabase(other).into()),
        }
    }

    /// Several processes that open a fresh file at once can get SQLITE_BUSY here in spite of the busy handler.
    fn switch_to_wal(&self) -> Result<()> {
        let handler = |handler| self.connection.busy_handler(handler).map_err(|error| convert(&error));
        // Each attempt would wait as long as all of them together.
        handler(None)?;
        self.try_to_switch_to_wal()?;
        handler(Some(wait_while_busy))
    }

    fn try_to_switch_to_wal(&self) -> Result<()> {
        for attempt in 0.. {
            let mode = |sql| self.connection.query_row(sql, [], |row| row.get::<_, String>(0));
            let switched = mode("PRAGMA journal_mode")
                .and_then(|now| if now == "wal" { Ok(now) } else { mode("PRAGMA journal_mode = WAL") });
            match switched.map_err(|error| convert(&error)) {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => return Err(StoreError::CannotOpen(format!("no WAL is possible here (mode {mode})")).into()),
                Err(Error::Unavailable(_)) if wait_while_busy(attempt) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Brings the schema to the last of `migrations`, in one transaction.
    pub(crate) fn migrate(&self, migrations: &[&str]) -> Result<()> {
        let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
        let version = || self.number("PRAGMA user_version");
        if version()? == known {
            return Ok(());
        }
        self.batch("BEGIN IMMEDIATE")?;
        let upgrade = version().and_then(|found| {
            let missing = usize::try_from(found).ok().and_then(|done| migrations.get(done..));
            let missing = missing.ok_or(StoreError::SchemaTooNew { found, known })?;
            missing.iter().try_for_each(|sql| self.batch(sql))?;
            self.batch(&format!("PRAGMA user_version = {known}; PRAGMA application_id = {APPLICATION_ID}; COMMIT"))
        });
        upgrade.inspect_err(|_| drop(self.batch("ROLLBACK")))
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| convert(&error))
    }

    /// Runs a statement without parameters and rows; prepared once.
    pub(crate) fn command(&self, sql: &str) -> Result<()> {
        let run = || self.connection.prepare_cached(sql)?.execute([]);
        run().map(drop).map_err(|error| convert(&error))
    }

    fn number(&self, sql: &str) -> Result<i64> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|error| convert(&error))
    }

    /// Whether a transaction is open: an error of SQLite may have ended it.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Moves what no reader needs any more from the WAL into the database, without waiting for anybody.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.number("PRAGMA wal_checkpoint(PASSIVE)").map(drop)
    }

    /// Moves everything and has the next commit begin the WAL anew; says whether it could. It waits for who still reads
    /// an older state, but not for long: meanwhile nobody writes.
    pub(crate) fn restart_log(&self) -> Result<bool> {
        let handler = |handler| self.connection.busy_handler(handler).map_err(|error| convert(&error));
        handler(Some(wait_briefly))?;
        let busy = self.number("PRAGMA wal_checkpoint(RESTART)");
        handler(Some(wait_while_busy))?;
        busy.map(|busy| busy == 0)
    }

    /// Moves everything and empties the WAL, as far as other processes let it.
    pub(crate) fn final_checkpoint(&self) -> Result<()> {
        self.number("PRAGMA wal_checkpoint(TRUNCATE)").map(drop)
    }

    /// Pages in the WAL after the last commit on this thread.
    pub(crate) fn wal_pages() -> u32 {
        WAL_PAGES.get()
    }

    pub(crate) fn transaction<'c>(&'c self, environment: &'c Environment, ids: &'c IdSource) -> Transaction<'c> {
        Transaction { connection: &self.connection, now: environment.now(), environment, ids }
    }
}

/// The connections that only read.
pub(crate) struct Readers {
    pool: r2d2::Pool<r2d2_sqlite::SqliteConnectionManager>,
}

impl Readers {
    /// Runs `work` on one state of the database.
    pub(crate) fn snapshot<T>(
        &self,
        environment: &Environment,
        ids: &IdSource,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let connection = self.pool.get().map_err(|_| Error::Unavailable("every reader of the store is busy"))?;
        let transaction = Transaction { connection: &connection, now: environment.now(), environment, ids };
        transaction.execute("BEGIN", &[])?;
        let ended = EndOnDrop(&transaction);
        let result = work(&transaction);
        drop(ended);
        result
    }
}

/// Ends a reading transaction, even when the work panicked: the connection goes back into the pool.
struct EndOnDrop<'t, 'c>(&'t Transaction<'c>);

impl Drop for EndOnDrop<'_, '_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.execute("ROLLBACK", &[]) {
            tracing::warn!(%error, "a reading transaction did not end");
        }
    }
}

/// One transaction: what every query goes through. It has one instant.
pub(crate) struct Transaction<'c> {
    connection: &'c Connection,
    now: Timestamp,
    environment: &'c Environment,
    ids: &'c IdSource,
}

impl Transaction<'_> {
    /// The instant of this transaction.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn environment(&self) -> &Environment {
        self.environment
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, binds: &[Bind<'_>]) -> Result<usize> {
        let run = || self.connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(binds));
        run().map_err(|error| convert(&error))
    }

    /// Inserts a row under a new id, which is `?1`; the other parameters follow. An id that is taken is drawn again.
    pub(crate) fn insert<K: Kind>(&self, sql: &str, binds: &[Bind<'_>]) -> Result<Id<K>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        for _ in 0..16 {
            let id = self.ids.next(self.environment, self.now);
            let first = Bind::Int(id);
            match statement.execute(rusqlite::params_from_iter(std::iter::once(&first).chain(binds))) {
                Ok(_) => return Ok(Id::from_raw(id)),
                Err(error) if is_id_clash(&error) => {}
                Err(error) => return Err(convert(&error)),
            }
        }
        Err(Error::Unavailable("no free id was found"))
    }

    /// Runs `work` so that a conflict undoes it alone; says whether it stays. Any other error is passed on.
    pub(crate) fn attempt(&self, work: impl FnOnce(&Self) -> Result<()>) -> Result<bool> {
        self.execute("SAVEPOINT attempt", &[])?;
        let kept = match work(self) {
            Ok(()) => true,
            Err(Error::Conflict(_)) => {
                self.execute("ROLLBACK TO attempt", &[])?;
                false
            }
            Err(error) => return Err(error),
        };
        self.execute("RELEASE attempt", &[]).map(|_| kept)
    }

    /// The first row, if there is one.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        decode: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        let mut rows = statement.query(rusqlite::params_from_iter(binds)).map_err(|error| convert(&error))?;
        let row = rows.next().map_err(|error| convert(&error))?;
        row.map(|row| decode(&Row { row })).transpose()
    }

    /// Every row.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        binds: &[Bind<'_>],
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| convert(&error))?;
        let mut rows = statement.query(rusqlite::params_from_iter(binds)).map_err(|error| convert(&error))?;
        let mut decoded = Vec::new();
        while let Some(row) = rows.next().map_err(|error| convert(&error))? {
            decoded.push(decode(&Row { row })?);
        }
        Ok(decoded)
    }

    /// Whether there is any row.
    pub(crate) fn exists(&self, sql: &str, binds: &[Bind<'_>]) -> Result<bool> {
        self.one(sql, binds, |_| Ok(())).map(|found| found.is_some())
    }
}

/// A value for a parameter.
#[derive(Debug, Clone)]
pub(crate) enum Bind<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(&'a [u8]),
}

impl rusqlite::ToSql for Bind<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

impl From<i64> for Bind<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
impl From<bool> for Bind<'_> {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}
impl From<Timestamp> for Bind<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.millis())
    }
}
impl<K: Kind> From<Id<K>> for Bind<'_> {
    fn from(id: Id<K>) -> Self {
        Self::Int(id.raw())
    }
}
impl<'a> From<&'a str> for Bind<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}
impl<'a> From<&'a String> for Bind<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}
impl From<String> for Bind<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}
impl<'a, T: Into<Bind<'a>>> From<Option<T>> for Bind<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of a result.
pub(crate) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
}

/// A type that a column can hold.
pub(crate) trait FromColumn: Sized {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self>;
}

impl Row<'_> {
    pub(crate) fn get<T: FromColumn>(&self, index: usize) -> Result<T> {
        T::from_column(self, index)
    }

    /// A value of an enum, by its text.
    pub(crate) fn text_enum<T: TextEnum>(&self, index: usize) -> Result<T> {
        match self.value(index)? {
            ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(T::from_text),
            _ => None,
        }
        .ok_or_else(|| self.corrupt(index, "is not one of the known values"))
    }

    /// A value that is stored as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<T> {
        match self.value(index)? {
            ValueRef::Text(text) => serde_json::from_slice(text).ok(),
            _ => None,
        }
        .ok_or_else(|| self.corrupt(index, "is not the JSON that belongs there"))
    }

    pub(crate) fn is_null(&self, index: usize) -> Result<bool> {
        self.value(index).map(|value| value == ValueRef::Null)
    }

    fn value(&self, index: usize) -> Result<ValueRef<'_>> {
        self.row.get_ref(index).map_err(|error| convert(&error))
    }

    /// An error that says where the value stands, and not what it is.
    pub(crate) fn corrupt(&self, index: usize, problem: &str) -> Error {
        let statement: &rusqlite::Statement<'_> = self.row.as_ref();
        let columns = statement.columns_with_metadata();
        let name = |name: Option<&str>| name.unwrap_or("?").to_owned();
        let column = columns.get(index);
        let table = column.and_then(rusqlite::ColumnMetadata::table_name);
        // The key of a joined row where the statement reads it; by convention the first column is the key of the first.
        let is_key =
            |other: &rusqlite::ColumnMetadata<'_>| other.table_name() == table && other.origin_name() == Some("id");
        let key = columns.iter().position(is_key).unwrap_or(0);
        let row = match self.row.get_ref(key) {
            Ok(ValueRef::Integer(key)) => key.to_string(),
            _ => "?".to_owned(),
        };
        let row = match columns.get(key).and_then(rusqlite::ColumnMetadata::table_name) {
            Some(other) if table.is_some_and(|table| table != other) => format!("of {other} {row}"),
            _ => row,
        };
        Error::Store(StoreError::CorruptRow {
            table: name(table),
            column: name(column.and_then(rusqlite::ColumnMetadata::origin_name)),
            row,
            problem: problem.to_owned(),
        })
    }
}

impl FromColumn for i64 {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        match row.value(index)? {
            ValueRef::Integer(value) => Ok(value),
            _ => Err(row.corrupt(index, "is not an integer")),
        }
    }
}
impl FromColumn for bool {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(|value| value != 0)
    }
}
impl FromColumn for Timestamp {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(Self::from_millis)
    }
}
impl<K: Kind> FromColumn for Id<K> {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        row.get::<i64>(index).map(Self::from_raw)
    }
}
impl FromColumn for String {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        match row.value(index)? {
            ValueRef::Text(text) => {
                std::str::from_utf8(text).map(str::to_owned).map_err(|_| row.corrupt(index, "is not UTF-8"))
            }
            _ => Err(row.corrupt(index, "is not text")),
        }
    }
}
impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(row: &Row<'_>, index: usize) -> Result<Self> {
        if row.is_null(index)? { Ok(None) } else { T::from_column(row, index).map(Some) }
    }
}

fn is_id_clash(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_ROWID].contains(&error.extended_code)
    })
}

/// What an error of SQLite means here.
fn convert(error: &rusqlite::Error) -> Error {
    let (code, text) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            (failure, message.clone().unwrap_or_else(|| failure.to_string()))
        }
        rusqlite::Error::SqlInputError { error: failure, msg, .. } => (failure, msg.clone()),
        other => return StoreError::Failed(other.to_string()).into(),
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            return Error::Unavailable("the store is busy");
        }
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly => StoreError::ReadOnly(text),
        ErrorCode::CannotOpen => StoreError::CannotOpen(text),
        ErrorCode::NotADatabase => StoreError::NotADatabase(text),
        ErrorCode::DatabaseCorrupt => StoreError::Damaged(text),
        ErrorCode::ConstraintViolation if code.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE => {
            StoreError::Taken(text)
        }
        _ => StoreError::Failed(format!("{text} (code {})", code.extended_code)),
    }
    .into()
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
