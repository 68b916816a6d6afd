//! What SQLite itself finds wrong with a file.

use crate::error::Result;
use crate::store::engine::transaction::Transaction;

impl Transaction<'_> {
    /// Tells `note` of the first `most` things that are wrong with pages, indexes, and the types and CHECKs of columns.
    pub(crate) fn check_integrity(&self, most: u64, mut note: impl FnMut(String)) -> Result<()> {
        self.query_each(&format!("PRAGMA integrity_check({most})"), &[], |row| {
            let problem: String = row.get("integrity_check")?;
            if problem != "ok" {
                note(problem);
            }
            Ok(())
        })
    }

    /// Tells `note` of each row that refers to one that is not there: its table, its key, and the other table.
    pub(crate) fn check_references(&self, mut note: impl FnMut(String, Option<i64>, String)) -> Result<()> {
        self.query_each("PRAGMA foreign_key_check", &[], |row| {
            note(row.get("table")?, row.get("rowid")?, row.get("parent")?);
            Ok(())
        })
    }
}
