//! SQLite's own checks of a database file, and a write that changes nothing.

use crate::error::Result;
use crate::store::engine::transaction::Transaction;

/// A row that refers to a row which does not exist.
pub(crate) struct BrokenReference {
    pub(crate) table: String,
    /// The key of the row.
    pub(crate) row: Option<i64>,
    pub(crate) referenced_table: String,
}

impl Transaction<'_> {
    /// Checks the pages of the file, and the types and CHECK constraints of columns. Passes the first `limit` problems to
    /// `report`.
    pub(crate) fn check_pages(&self, limit: u64, report: impl FnMut(String)) -> Result<()> {
        self.check_with(&format!("PRAGMA quick_check({limit})"), "quick_check", report)
    }

    /// Checks a table: its pages, its indexes, and the types and CHECK constraints of its columns. Passes the first 100
    /// problems to `report`.
    pub(crate) fn check_table(&self, table: &str, report: impl FnMut(String)) -> Result<()> {
        self.check_with(&format!("PRAGMA integrity_check({})", quoted(table)), "integrity_check", report)
    }

    fn check_with(&self, sql: &str, column: &'static str, mut report: impl FnMut(String)) -> Result<()> {
        self.query_each(sql, &[], |row| {
            let problem: String = row.get(column)?;
            if problem != "ok" {
                report(problem);
            }
            Ok(())
        })
    }

    /// Passes each broken foreign key of a table to `report`.
    pub(crate) fn check_references(&self, table: &str, mut report: impl FnMut(BrokenReference)) -> Result<()> {
        self.query_each(&format!("PRAGMA foreign_key_check({})", quoted(table)), &[], |row| {
            let table = row.get("table")?;
            let row_id = row.get("rowid")?;
            let referenced_table = row.get("parent")?;
            report(BrokenReference { table, row: row_id, referenced_table });
            Ok(())
        })
    }
}

/// The names of all tables.
pub(in crate::store) fn tables(tx: &Transaction<'_>) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    tx.query_all(sql, &[], |row| row.get("name"))
}

/// A name as an SQL identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Writes the first page of the file as it is, to find out whether the disk accepts writes.
pub(in crate::store) fn rewrite_header(tx: &Transaction<'_>) -> Result<()> {
    let mut version: i64 = 0;
    tx.query_each("PRAGMA user_version", &[], |row| {
        version = row.get("user_version")?;
        Ok(())
    })?;
    tx.execute(&format!("PRAGMA user_version = {version}"), &[]).map(drop)
}
