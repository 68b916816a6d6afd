//! SQLite's own checks of a database file, and a write that changes nothing.

#[cfg(feature = "postgres")]
use std::collections::{BTreeMap, BTreeSet};

use super::index_check::{Compared, quoted};
use crate::error::Result;
#[cfg(feature = "postgres")]
use crate::store::engine::sql::values::Bind;
use crate::store::engine::transaction::Transaction;

/// A row that refers to a row which does not exist.
pub(crate) struct BrokenReference {
    pub(crate) table: String,
    /// The key of the row.
    pub(crate) row: Option<i64>,
    pub(crate) referenced_table: String,
}

impl Transaction<'_> {
    /// Checks the pages of the file, and the types and CHECK constraints of columns. Passes the first `limit` problems
    /// to `report`.
    pub(crate) fn check_pages(&self, limit: u64, report: impl FnMut(String)) -> Result<()> {
        self.check_with(&format!("PRAGMA quick_check({limit})"), "quick_check", report)
    }

    /// Checks that the indexes of a table have the entries of its rows. Passes the first 100 problems to `report`.
    pub(crate) fn check_indexes(&self, table: &str, mut report: impl FnMut(String)) -> Result<()> {
        let compared = self.compare_indexes(table);
        if compared == Ok(Compared::Equal) {
            return Ok(());
        }
        let mut is_explained = false;
        let sql = format!("PRAGMA integrity_check({})", quoted(table));
        self.check_with(&sql, "integrity_check", |problem| {
            is_explained = true;
            report(problem);
        })?;
        // SQLite does not look for entries of a partial index that should not be there.
        if let (false, Ok(Compared::Different(index))) = (is_explained, compared) {
            report(format!("the entries of index {index} are not those of its rows"));
        }
        Ok(())
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
        if self.references_exist(table) == Ok(true) {
            return Ok(());
        }
        self.query_each(&format!("PRAGMA foreign_key_check({})", quoted(table)), &[], |row| {
            let table = row.get("table")?;
            let row_id = row.get("rowid")?;
            let referenced_table = row.get("parent")?;
            report(BrokenReference { table, row: row_id, referenced_table });
            Ok(())
        })
    }

    /// Whether every foreign key of a table is known to refer to a row. Looks up each value once, in the order of an
    /// index if there is one, which is faster than `PRAGMA foreign_key_check`.
    fn references_exist(&self, table: &str) -> Result<bool> {
        let sql = format!("PRAGMA foreign_key_list({})", quoted(table));
        let columns = self.query_all(&sql, &[], |row| {
            let position: i64 = row.get("seq")?;
            let referenced: String = row.get("table")?;
            let column: String = row.get("from")?;
            let key: Option<String> = row.get("to")?;
            Ok((position, referenced, column, key))
        })?;
        for (position, referenced, column, key) in columns {
            let (0, Some(key)) = (position, key) else { return Ok(false) };
            let missing = format!(
                "SELECT 1 FROM (SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL) AS used
                    WHERE NOT EXISTS (SELECT 1 FROM {referenced} AS referenced WHERE referenced.{key} = used.value)",
                column = quoted(&column),
                table = quoted(table),
                referenced = quoted(&referenced),
                key = quoted(&key),
            );
            if self.exists(&missing, &[])? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

pub(in crate::store) fn tables(tx: &Transaction<'_>) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    tx.query_all(sql, &[], |row| row.get("name"))
}

/// The columns of each table of the schema.
#[cfg(feature = "postgres")]
pub(in crate::store) fn columns(tx: &Transaction<'_>) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let own = tables(tx)?.into_iter().filter(|table| !table.starts_with("sqlite_"));
    let sql = "SELECT name FROM pragma_table_info(?1)";
    own.map(|table| {
        let columns = tx.query_all(sql, &[Bind::from(&*table)], |row| row.get("name"))?;
        Ok((table, columns.into_iter().collect()))
    })
    .collect()
}

/// Writes the first page of the file as it is, to find out whether the disk accepts writes.
pub(in crate::store) fn rewrite_header(tx: &Transaction<'_>) -> Result<()> {
    let version: Option<i64> = tx.query_opt("PRAGMA user_version", &[], |row| row.get("user_version"))?;
    let version = version.unwrap_or(0);
    tx.execute(&format!("PRAGMA user_version = {version}"), &[])
}
