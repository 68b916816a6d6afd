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
    /// Checks pages, indexes, and the types and CHECK constraints of columns. Passes the first `limit` problems to
    /// `report`.
    pub(crate) fn check_integrity(&self, limit: u64, mut report: impl FnMut(String)) -> Result<()> {
        self.query_each(&format!("PRAGMA integrity_check({limit})"), &[], |row| {
            let problem: String = row.get("integrity_check")?;
            if problem != "ok" {
                report(problem);
            }
            Ok(())
        })
    }

    /// Passes each broken foreign key to `report`.
    pub(crate) fn check_references(&self, mut report: impl FnMut(BrokenReference)) -> Result<()> {
        self.query_each("PRAGMA foreign_key_check", &[], |row| {
            let table = row.get("table")?;
            let row_id = row.get("rowid")?;
            let referenced_table = row.get("parent")?;
            report(BrokenReference { table, row: row_id, referenced_table });
            Ok(())
        })
    }
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
