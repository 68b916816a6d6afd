//! All direct access of the tests to the database: reading what the facade does not show, and writing what it never
//! would.
//!
//! No other helper knows how a database is opened or queried, so that another engine needs changes only here.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

pub use rusqlite::params;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{Connection, Params};

#[cfg(feature = "postgres")]
use super::postgres_server;

/// The name of the database file of a fixture.
pub const FILE: &str = "ticketing.db";

/// A builder for a database file, or for the PostgreSQL database of this path. A new one is a copy of a database with the
/// schema of this program: to copy it is faster than to create the schema again.
pub fn builder(file: impl AsRef<Path>) -> ticketing::Builder {
    if is_file() {
        create_from_template(file.as_ref());
    }
    builder_without_schema(file)
}

/// A builder for a database file, or for the PostgreSQL database of this path. A new one has no schema: a file, or a
/// database that [`create_empty`] has created.
pub fn builder_without_schema(file: impl AsRef<Path>) -> ticketing::Builder {
    #[cfg(feature = "postgres")]
    if let Some(url) = postgres_server::database_of(file.as_ref()) {
        return ticketing::TicketingService::postgres(ticketing::PostgresDatabase::new(&url).expect("a URL"));
    }
    ticketing::TicketingService::builder(file)
}

/// What the option `--database` of the program is for the database of this path.
pub fn option(file: impl AsRef<Path>) -> String {
    #[cfg(feature = "postgres")]
    if let Some(url) = postgres_server::database_of(file.as_ref()) {
        return url;
    }
    file.as_ref().display().to_string()
}

/// Creates a file with the schema, unless it exists.
fn create_from_template(file: &Path) {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    let create = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(FILE);
        drop(ticketing::TicketingService::builder(&path).open().expect("the template"));
        Database::assert_closed(&path);
        std::fs::read(path).expect("the file")
    };
    if !file.exists() {
        let mut copy = tempfile::NamedTempFile::new_in(file.parent().expect("a folder")).expect("a file");
        copy.write_all(TEMPLATE.get_or_init(create)).expect("written");
        // Another process may have created the file.
        if let Err(error) = copy.persist_noclobber(file) {
            assert_eq!(error.error.kind(), ErrorKind::AlreadyExists, "{error}");
        }
    }
}

/// Creates the PostgreSQL database of this path without a schema. A file is created when a service opens it.
pub fn create_empty(path: &Path) {
    #[cfg(feature = "postgres")]
    postgres_server::create_empty(path);
    #[cfg(not(feature = "postgres"))]
    let _ = path;
}

/// Copies a database that no service has open.
pub fn copy(path: &Path, copy: &Path) {
    #[cfg(feature = "postgres")]
    if postgres_server::copy_of(path, copy) {
        return;
    }
    std::fs::copy(path, copy).expect("the file is checkpointed");
}

/// Deletes a database that no service has open.
pub fn delete(path: &Path) {
    #[cfg(feature = "postgres")]
    if postgres_server::delete(path) {
        return;
    }
    std::fs::remove_file(path).expect("removed");
}

/// Whether the databases of the tests are files.
pub fn is_file() -> bool {
    #[cfg(feature = "postgres")]
    return !postgres_server::is_used();
    #[cfg(not(feature = "postgres"))]
    true
}

/// A connection to the database of a service, next to the service's own. Its methods panic if a statement fails.
pub struct Database(Engine);

enum Engine {
    File(Connection),
    #[cfg(feature = "postgres")]
    Postgres(postgres_server::Database),
}

/// A row of a result.
pub struct Row {
    columns: Rc<[String]>,
    values: Vec<Value>,
}

impl Row {
    /// The rows of a result with these columns.
    #[cfg(feature = "postgres")]
    fn all((columns, rows): (Vec<String>, Vec<Vec<Value>>)) -> Vec<Self> {
        let columns: Rc<[String]> = columns.into();
        rows.into_iter().map(|values| Self { columns: Rc::clone(&columns), values }).collect()
    }

    /// Returns the value of a column.
    #[track_caller]
    pub fn get<T: FromSql>(&self, column: &str) -> T {
        self.at(self.columns.iter().position(|name| name == column).expect(column)).expect(column)
    }

    fn at<T: FromSql>(&self, index: usize) -> Result<T, String> {
        T::column_result(ValueRef::from(&self.values[index])).map_err(|error| error.to_string())
    }
}

impl Database {
    /// Opens the file. Creates it if it does not exist.
    pub fn open(path: &Path) -> Self {
        #[cfg(feature = "postgres")]
        if let Some(url) = postgres_server::database_of(path) {
            return Self(Engine::Postgres(postgres_server::Database::open(&url)));
        }
        let connection = Connection::open(path).expect("the database opens");
        connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
        Self(Engine::File(connection))
    }

    /// Opens the database for statements that violate the schema's CHECK and FOREIGN KEY constraints.
    pub fn open_without_constraints(path: &Path) -> Self {
        let database = Self::open(path);
        match &database.0 {
            Engine::File(_) => database.run("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF"),
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.drop_constraints(),
        }
        database
    }

    /// Whether the database is a file, for tests of what only a file has.
    pub fn is_file(&self) -> bool {
        matches!(self.0, Engine::File(_))
    }

    /// The connection to a file.
    #[track_caller]
    fn file(&self) -> &Connection {
        match &self.0 {
            Engine::File(connection) => connection,
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => panic!("the database is no file"),
        }
    }

    /// Runs one statement. Returns the number of rows that it changed.
    #[track_caller]
    pub fn execute(&self, sql: &str, params: impl Params) -> usize {
        match &self.0 {
            Engine::File(connection) => connection.execute(sql, params).expect(sql),
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.execute(sql, &values(sql, params)),
        }
    }

    /// Runs statements that are separated by semicolons.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        match &self.0 {
            Engine::File(connection) => connection.execute_batch(sql).expect(sql),
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.run(sql),
        }
    }

    /// Runs the statement `action` whenever `condition` holds for a row that is written, until
    /// [`end_trigger`](Self::end_trigger). `when` is for example `AFTER INSERT ON orders`.
    #[track_caller]
    pub fn trigger(&self, name: &str, when: &str, condition: &str, action: &str) {
        match &self.0 {
            Engine::File(_) => {
                self.run(&format!("CREATE TRIGGER {name} {when} WHEN {condition} BEGIN {action}; END"));
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.trigger(name, when, condition, action),
        }
    }

    /// Lets a write fail whenever `condition` holds for a row that is written, until
    /// [`end_trigger`](Self::end_trigger). `when` is for example `BEFORE DELETE ON events`.
    #[track_caller]
    pub fn refuse(&self, name: &str, when: &str, condition: &str) {
        match &self.0 {
            Engine::File(_) => self.trigger(name, when, condition, "SELECT RAISE(ABORT, 'no')"),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => self.trigger(name, when, condition, "RAISE EXCEPTION 'no'"),
        }
    }

    /// Ends a trigger.
    #[track_caller]
    pub fn end_trigger(&self, name: &str) {
        match &self.0 {
            Engine::File(_) => self.run(&format!("DROP TRIGGER {name}")),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => self.run(&format!("DROP FUNCTION {name} CASCADE")),
        }
    }

    /// Returns all rows of a query.
    fn query(&self, sql: &str, params: impl Params) -> Result<Vec<Row>, String> {
        match &self.0 {
            Engine::File(connection) => query_file(connection, sql, params).map_err(|error| error.to_string()),
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.query(sql, &values(sql, params)).map(Row::all),
        }
    }

    /// Returns the only column of the first row.
    #[track_caller]
    pub fn value<T: FromSql>(&self, sql: &str) -> T {
        self.value_with(sql, [])
    }

    /// The same with parameters.
    #[track_caller]
    pub fn value_with<T: FromSql>(&self, sql: &str, params: impl Params) -> T {
        self.query(sql, params).expect(sql).first().expect(sql).at(0).expect(sql)
    }

    /// Returns what `read` makes of each row.
    #[track_caller]
    pub fn rows<T>(&self, sql: &str, read: impl FnMut(&Row) -> T) -> Vec<T> {
        self.query(sql, []).expect(sql).iter().map(read).collect()
    }

    /// Returns the only column of each row.
    #[track_caller]
    pub fn column<T: FromSql>(&self, sql: &str) -> Vec<T> {
        self.try_column(sql).expect(sql)
    }

    /// Returns the only column of each row, or the error of a database that may be damaged.
    pub fn try_column<T: FromSql>(&self, sql: &str) -> Result<Vec<T>, String> {
        self.query(sql, [])?.iter().map(|row| row.at(0)).collect()
    }

    /// Begins a transaction that keeps all others from writing until it ends. Returns false if another one writes.
    pub fn try_begin(&self) -> bool {
        match &self.0 {
            Engine::File(connection) => {
                connection.busy_timeout(Duration::ZERO).expect("a timeout");
                let begun = connection.execute_batch("BEGIN IMMEDIATE");
                connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
                begun.is_ok()
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => {
                database.lock_tables("NOWAIT").is_ok() || {
                    self.run("ROLLBACK");
                    false
                }
            }
        }
    }

    /// Begins a transaction that keeps all others from writing until it ends. Waits for one that writes.
    pub fn begin(&self) {
        match &self.0 {
            Engine::File(_) => self.run("BEGIN IMMEDIATE"),
            #[cfg(feature = "postgres")]
            Engine::Postgres(database) => database.lock_tables_when_free(),
        }
    }

    /// Runs statements in one transaction. They wait for each other transaction that changes the same rows.
    pub fn transaction(&self, statements: &str) {
        match &self.0 {
            Engine::File(_) => self.run(&format!("BEGIN IMMEDIATE; {statements}; COMMIT")),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => self.run(&format!("BEGIN; {statements}; COMMIT")),
        }
    }

    /// Lets a write fail with the error of a full disk whenever `condition` holds for a row that is written, until
    /// [`end_trigger`](Self::end_trigger) of the same name. `when` is for example `BEFORE UPDATE ON orders`.
    ///
    /// SQLite reports a full disk also for a table that has no row number left. The transaction goes on. With
    /// PostgreSQL, the sequence `{name}_uses` counts the failures: their transactions are undone, but a sequence is
    /// not.
    pub fn refuse_as_if_full(&self, name: &str, when: &str, condition: &str) {
        match &self.0 {
            Engine::File(_) => {
                self.run(
                    "CREATE TABLE IF NOT EXISTS no_room (id INTEGER PRIMARY KEY AUTOINCREMENT);
                    INSERT OR IGNORE INTO no_room VALUES (9223372036854775807)",
                );
                self.trigger(name, when, condition, "INSERT INTO no_room VALUES (NULL)");
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => {
                self.run(&format!("CREATE SEQUENCE {name}_uses"));
                let action = format!("PERFORM nextval('{name}_uses'); RAISE EXCEPTION USING ERRCODE = 'disk_full'");
                self.trigger(name, when, condition, &action);
            }
        }
    }

    /// Gives all rows of a table a value of this column with which they cannot be read: a text that is not UTF-8, or
    /// NULL on PostgreSQL, whose texts are always valid.
    pub fn make_unreadable(&self, table: &str, column: &str) {
        match &self.0 {
            Engine::File(_) => self.run(&format!("UPDATE {table} SET {column} = CAST(x'ff' AS TEXT)")),
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => self.run(&format!(
                "ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL; UPDATE {table} SET {column} = NULL"
            )),
        }
    }

    /// Inserts copies of an API key.
    pub fn insert_api_keys(&self, like: i64, copies: i64) {
        self.run("BEGIN");
        for number in 1..=copies {
            let hash = [[0; 24].as_slice(), &number.to_be_bytes()].concat();
            self.execute(
                "INSERT INTO api_keys (id, organization_id, key_hash, name, scopes, created_at, revoked_at)
                SELECT id + 100000 + ?2, organization_id, ?3, name, scopes, created_at, revoked_at FROM api_keys
                WHERE id = ?1",
                params![like, number, hash],
            );
        }
        self.run("COMMIT");
    }

    /// The size of all tables and indexes in bytes.
    pub fn size(&self) -> i64 {
        self.value(match &self.0 {
            Engine::File(_) => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => {
                "SELECT SUM(pg_total_relation_size(CAST(tablename AS TEXT))) FROM pg_tables WHERE schemaname = 'public'"
            }
        })
    }

    /// Asserts that no service has the database open any more. A file must be the only one in its folder.
    #[track_caller]
    pub fn assert_closed(path: &Path) {
        #[cfg(feature = "postgres")]
        if let Some(url) = postgres_server::database_of(path) {
            return postgres_server::Database::open(&url).assert_no_other_connection();
        }
        // The files next to it are deleted with the last connection.
        let folder = std::fs::read_dir(path.parent().expect("a folder")).expect("a folder");
        let files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        assert_eq!(files, [path]);
    }

    /// Makes a passive checkpoint.
    pub fn checkpoint(&self) -> Result<(), String> {
        let checkpoint = self.file().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        checkpoint.map_err(|error| error.to_string())
    }

    /// Returns the numbers of sold and of reserved seats of the only ticket type.
    pub fn sold_and_held(&self) -> (i64, i64) {
        (self.value("SELECT sold FROM ticket_types"), self.value("SELECT held FROM ticket_types"))
    }

    /// Returns every row of every table as text, except those kept for idempotency keys.
    pub fn all_rows(&self) -> Vec<String> {
        let tables = match &self.0 {
            Engine::File(_) => "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => {
                "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'
                    AND tablename <> 'transaction_tokens' ORDER BY 1"
            }
        };
        let tables = self.column::<String>(tables).into_iter().filter(|table| table != "idempotency_records");
        tables.flat_map(|table| self.rows_as_text(&table)).collect()
    }

    fn rows_as_text(&self, table: &str) -> Vec<String> {
        let mut rows: Vec<_> = self.rows(&format!("SELECT * FROM {table}"), |row| format!("{table}: {:?}", row.values));
        // PostgreSQL returns a row that was changed after the others.
        rows.sort();
        rows
    }
}

fn query_file(connection: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<Vec<Row>> {
    let mut query = connection.prepare(sql)?;
    let columns: Rc<[String]> = query.column_names().into_iter().map(str::to_owned).collect();
    let read = |row: &rusqlite::Row<'_>| {
        let values = (0..columns.len()).map(|index| row.get(index)).collect::<rusqlite::Result<_>>()?;
        Ok(Row { columns: Rc::clone(&columns), values })
    };
    query.query_map(params, read)?.collect()
}

/// The values of the parameters of a statement. SQLite reads them.
#[cfg(feature = "postgres")]
fn values(sql: &str, params: impl Params) -> Vec<Value> {
    let number = (1..100).rev().find(|number| sql.contains(&format!("?{number}"))).unwrap_or(sql.matches('?').count());
    let all = (1..=number).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
    if number == 0 {
        return Vec::new();
    }
    let connection = Connection::open_in_memory().expect("a database");
    let read = |row: &rusqlite::Row<'_>| (0..number).map(|index| row.get(index)).collect();
    connection.query_row(&format!("SELECT {all}"), params, read).expect("parameters")
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The number under which an id is stored. Its text is a prefix and 13 digits of Crockford's base32.
pub fn stored_id(id: impl Display) -> i64 {
    let id = id.to_string();
    let (_, digits) = id.rsplit_once('_').expect("a prefix");
    let value = |digit| ALPHABET.iter().position(|known| *known == digit).expect("a digit");
    digits.bytes().fold(0, |number, digit| number << 5 | i64::try_from(value(digit)).expect("below 32"))
}

/// The digits of the text of a stored id, without a prefix.
pub fn id_digits(number: i64) -> String {
    let digit =
        |position: i64| char::from(ALPHABET[usize::try_from((number >> (5 * position)) & 31_i64).expect("below 32")]);
    (0..13).rev().map(digit).collect()
}
