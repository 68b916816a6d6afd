//! All direct access of the tests to the database: reading what the facade does not show, and writing what it never
//! would.
//!
//! No other helper knows how a database is opened or queried, so that another engine needs changes only here.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

pub use rusqlite::params;
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, Params};

/// The name of the database file of a fixture.
pub const FILE: &str = "ticketing.db";

/// A connection to the database of a service, next to the service's own. Its methods panic if a statement fails.
pub struct Database(Connection);

/// A row of a result.
pub struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// Returns the value of a column.
    #[track_caller]
    pub fn get<T: FromSql>(&self, column: &str) -> T {
        self.0.get(column).expect(column)
    }
}

impl Database {
    /// Opens the file. Creates it if it does not exist.
    pub fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("the database opens");
        connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
        Self(connection)
    }

    /// Opens the file for statements that violate the schema's CHECK and FOREIGN KEY constraints.
    pub fn open_without_constraints(path: &Path) -> Self {
        let database = Self::open(path);
        database.run("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF");
        database
    }

    /// Runs one statement. Returns the number of rows that it changed.
    #[track_caller]
    pub fn execute(&self, sql: &str, params: impl Params) -> usize {
        self.0.execute(sql, params).expect(sql)
    }

    /// Runs statements that are separated by semicolons.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        self.0.execute_batch(sql).expect(sql);
    }

    /// Returns the only column of the first row.
    #[track_caller]
    pub fn value<T: FromSql>(&self, sql: &str) -> T {
        self.value_with(sql, [])
    }

    /// The same with parameters.
    #[track_caller]
    pub fn value_with<T: FromSql>(&self, sql: &str, params: impl Params) -> T {
        self.0.query_row(sql, params, |row| row.get(0)).expect(sql)
    }

    /// Returns what `read` makes of each row.
    #[track_caller]
    pub fn rows<T>(&self, sql: &str, mut read: impl FnMut(&Row<'_>) -> T) -> Vec<T> {
        let mut query = self.0.prepare(sql).expect(sql);
        let rows = query.query_map([], |row| Ok(read(&Row(row)))).expect(sql);
        rows.collect::<rusqlite::Result<_>>().expect(sql)
    }

    /// Returns the only column of each row.
    #[track_caller]
    pub fn column<T: FromSql>(&self, sql: &str) -> Vec<T> {
        let mut query = self.0.prepare(sql).expect(sql);
        let rows = query.query_map([], |row| row.get(0)).expect(sql);
        rows.collect::<rusqlite::Result<_>>().expect(sql)
    }

    /// Begins a transaction that writes. Returns false if another connection has one.
    pub fn try_begin(&self) -> bool {
        self.0.busy_timeout(Duration::ZERO).expect("a timeout");
        let begun = self.0.execute_batch("BEGIN IMMEDIATE");
        self.0.busy_timeout(Duration::from_secs(30)).expect("a timeout");
        begun.is_ok()
    }

    /// Lets these statements, such as `UPDATE ON orders`, fail with the error of a full disk: SQLite reports it also for a
    /// table that has no row number left. The transaction goes on.
    pub fn refuse_as_if_full(&self, statements: &str) {
        self.run(&format!(
            "CREATE TABLE no_room (id INTEGER PRIMARY KEY AUTOINCREMENT);
             INSERT INTO no_room VALUES (9223372036854775807);
             CREATE TRIGGER refuse_as_if_full BEFORE {statements} BEGIN INSERT INTO no_room VALUES (NULL); END"
        ));
    }

    /// Ends [`refuse_as_if_full`](Self::refuse_as_if_full).
    pub fn allow_again(&self) {
        self.run("DROP TRIGGER refuse_as_if_full; DROP TABLE no_room");
    }

    /// Makes a passive checkpoint.
    pub fn checkpoint(&self) -> Result<(), String> {
        let checkpoint = self.0.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        checkpoint.map_err(|error| error.to_string())
    }

    /// Returns the only column of each row, or the error of a database that may be damaged.
    pub fn try_column<T: FromSql>(&self, sql: &str) -> Result<Vec<T>, String> {
        let read = || self.0.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>();
        read().map_err(|error| error.to_string())
    }

    /// Returns the numbers of sold and of reserved seats of the only ticket type.
    pub fn sold_and_held(&self) -> (i64, i64) {
        (self.value("SELECT sold FROM ticket_types"), self.value("SELECT held FROM ticket_types"))
    }

    /// Returns every row of every table as text, except those kept for idempotency keys.
    pub fn all_rows(&self) -> Vec<String> {
        let tables =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'idempotency_records' ORDER BY name";
        self.column::<String>(tables).iter().flat_map(|table| self.rows_as_text(table)).collect()
    }

    fn rows_as_text(&self, table: &str) -> Vec<String> {
        let mut query = self.0.prepare(&format!("SELECT * FROM {table}")).expect(table);
        let columns = query.column_count();
        let as_text = |row: &rusqlite::Row<'_>| {
            let values =
                (0..columns).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(format!("{table}: {values:?}"))
        };
        query.query_map([], as_text).expect(table).map(|row| row.expect("a row")).collect()
    }
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
