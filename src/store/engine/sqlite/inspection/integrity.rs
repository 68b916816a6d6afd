//! SQLite's own checks of a database file, and a write that changes nothing.

#[cfg(feature = "postgres")]
use std::collections::{BTreeMap, BTreeSet};

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
        let sql = format!("PRAGMA integrity_check({})", quoted(table));
        let mut is_explained = false;
        self.check_with(&sql, "integrity_check", |problem| {
            is_explained = true;
            report(problem);
        })?;
        // SQLite does not look for entries of a partial index that should not be there.
        for (index, condition) in if is_explained { Vec::new() } else { self.partial_indexes(table)? } {
            let sql = format!(
                "SELECT 1 WHERE (SELECT COUNT(*) FROM {table} INDEXED BY {index} WHERE {condition})
                    <> (SELECT COUNT(*) FROM {table} NOT INDEXED WHERE {condition})",
                table = quoted(table),
                index = quoted(&index),
            );
            if self.exists(&sql, &[])? {
                report(format!("index {index} has another number of entries than the table has rows for it"));
            }
        }
        Ok(())
    }

    /// The names and conditions of the partial indexes of a table.
    fn partial_indexes(&self, table: &str) -> Result<Vec<(String, String)>> {
        let sql =
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql LIKE '%) WHERE %'";
        let indexes = self.query_all(sql, &[table.into()], |row| Ok((row.get("name")?, row.get::<String>("sql")?)))?;
        let condition = |sql: String| Some(sql.split_once(") WHERE ")?.1.to_owned());
        Ok(indexes.into_iter().filter_map(|(name, sql)| Some((name, condition(sql)?))).collect())
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

/// A name as an SQL identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
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
