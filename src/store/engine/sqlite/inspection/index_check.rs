//! Compares the indexes of a table with its rows, by checksums.
//!
//! `PRAGMA integrity_check` looks up every row in every index. This reads the table and each index only once, which
//! takes a fraction of the time. It finds only which index is wrong; the pragma finds the rows.

use std::hash::{DefaultHasher, Hasher};

use crate::error::Result;
use crate::store::engine::sql::values::Value;
use crate::store::engine::transaction::Transaction;

/// The result of comparing the indexes of a table with its rows.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store::engine::sqlite) enum Compared {
    /// Each index has an entry for each of its rows and no others, in its order, and no key twice if it is unique.
    Equal,
    /// The index with this name is wrong.
    Different(String),
    /// An index has a property that is not supported here, such as an expression.
    Unsupported,
}

/// An index of columns in ascending order that are compared byte by byte.
struct Index {
    name: String,
    is_unique: bool,
    /// The columns as SQL. The last one is the key of the row.
    columns: Vec<String>,
    /// Which rows have an entry, as SQL.
    condition: Option<String>,
}

/// An entry of an index as bytes that compare in the order of the index.
#[derive(Default)]
struct Entry {
    bytes: Vec<u8>,
    /// Where the key of the row begins.
    key_at: usize,
    has_null: bool,
}

/// The number of entries, and the sum of their hashes, which does not depend on their order.
#[derive(Default, Clone, PartialEq, Eq)]
struct Checksum {
    entries: u64,
    sum: u64,
}

impl Transaction<'_> {
    pub(in crate::store::engine::sqlite) fn compare_indexes(&self, table: &str) -> Result<Compared> {
        let Some(indexes) = indexes(self, table)? else { return Ok(Compared::Unsupported) };
        if indexes.is_empty() {
            return Ok(Compared::Equal);
        }
        let Some(expected) = checksums_of_rows(self, table, &indexes)? else { return Ok(Compared::Unsupported) };
        for (index, expected) in indexes.into_iter().zip(expected) {
            if checksum_of_entries(self, table, &index)? != Some(expected) {
                return Ok(Compared::Different(index.name));
            }
        }
        Ok(Compared::Equal)
    }
}

/// The indexes of a table; `None` if one of them is not supported.
fn indexes(tx: &Transaction<'_>, table: &str) -> Result<Option<Vec<Index>>> {
    let sql = format!("PRAGMA index_list({})", quoted(table));
    let listed: Vec<(String, bool, bool)> =
        tx.query_all(&sql, &[], |row| Ok((row.get("name")?, row.get("unique")?, row.get("partial")?)))?;
    let mut indexes = Vec::new();
    for (name, is_unique, is_partial) in listed {
        let condition = if is_partial { condition(tx, &name)? } else { None };
        match columns(tx, &name)? {
            Some(columns) if condition.is_some() == is_partial => {
                indexes.push(Index { name, is_unique, columns, condition });
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(indexes))
}

/// The columns of an index; `None` if they are not supported.
fn columns(tx: &Transaction<'_>, index: &str) -> Result<Option<Vec<String>>> {
    const ROW_KEY: i64 = -1;
    const EXPRESSION: i64 = -2;
    let columns = tx.query_all(&format!("PRAGMA index_xinfo({})", quoted(index)), &[], |row| {
        let column: i64 = row.get("cid")?;
        let name: Option<String> = row.get("name")?;
        let is_supported = column != EXPRESSION && !row.get::<bool>("desc")? && row.get::<String>("coll")? == "BINARY";
        let sql = if column == ROW_KEY { Some("rowid".to_owned()) } else { name.map(|name| quoted(&name)) };
        Ok(sql.filter(|_| is_supported))
    })?;
    Ok(columns.into_iter().collect())
}

/// The condition of a partial index, from the statement that created it.
fn condition(tx: &Transaction<'_>, index: &str) -> Result<Option<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1";
    let statement: Option<Option<String>> = tx.query_opt(sql, &[index.into()], |row| row.get("sql"))?;
    let statement = statement.flatten();
    // The names of columns contain no parenthesis, and there are no expressions.
    let after_columns = statement.as_deref().and_then(|text| text.split_once(')')).map(|(_, rest)| rest.trim_start());
    Ok(after_columns.and_then(|rest| rest.strip_prefix("WHERE ")).map(str::to_owned))
}

/// Reads the table once. Returns the checksum of the entries that each index must have; `None` if a value is not
/// supported.
fn checksums_of_rows(tx: &Transaction<'_>, table: &str, indexes: &[Index]) -> Result<Option<Vec<Checksum>>> {
    // Most columns are in several indexes. Each is selected once.
    let mut selected = Vec::new();
    let mut places = Vec::with_capacity(indexes.len());
    for index in indexes {
        let condition = index.condition.as_ref().map(|condition| format!("({condition}) IS TRUE"));
        let condition = condition.map(|condition| place_of(&mut selected, &condition));
        let columns: Vec<usize> = index.columns.iter().map(|column| place_of(&mut selected, column)).collect();
        places.push((condition, columns));
    }
    let sql = format!("SELECT {} FROM {} NOT INDEXED", numbered(&selected), quoted(table));
    let mut checksums = vec![Checksum::default(); indexes.len()];
    let mut entry = Entry::default();
    let mut is_supported = true;
    tx.query_each(&sql, &[], |row| {
        for ((condition, columns), checksum) in places.iter().zip(&mut checksums) {
            if condition.is_none_or(|place| row.value_at(place) == Value::Int(1)) {
                is_supported &= entry.set(columns.iter().map(|place| row.value_at(*place)));
                checksum.add(&entry);
            }
        }
        Ok(())
    })?;
    Ok(is_supported.then_some(checksums))
}

/// The place of an expression among the columns of a query, to which it is added if it is not there.
fn place_of(selected: &mut Vec<String>, expression: &str) -> usize {
    let known = selected.iter().position(|known| known == expression);
    known.unwrap_or_else(|| {
        selected.push(expression.to_owned());
        selected.len() - 1
    })
}

/// Reads an index once. Returns the checksum of its entries; `None` if they are not in order, or a key is there twice.
fn checksum_of_entries(tx: &Transaction<'_>, table: &str, index: &Index) -> Result<Option<Checksum>> {
    let mut sql =
        format!("SELECT {} FROM {} INDEXED BY {}", numbered(&index.columns), quoted(table), quoted(&index.name));
    if let Some(condition) = &index.condition {
        sql.push_str(" WHERE ");
        sql.push_str(condition);
    }
    let mut checksum = Checksum::default();
    let (mut entry, mut previous) = (Entry::default(), Entry::default());
    let mut is_in_order = true;
    tx.query_each(&sql, &[], |row| {
        is_in_order &= entry.set((0..index.columns.len()).map(|place| row.value_at(place)));
        is_in_order &= previous.bytes < entry.bytes && !(index.is_unique && entry.has_key_of(&previous));
        checksum.add(&entry);
        std::mem::swap(&mut entry, &mut previous);
        Ok(())
    })?;
    Ok(is_in_order.then_some(checksum))
}

impl Entry {
    /// Replaces the entry by the one of these values. Returns whether their types are supported.
    fn set<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> bool {
        self.bytes.clear();
        self.has_null = false;
        for value in values {
            self.key_at = self.bytes.len();
            match value {
                Value::Null => {
                    self.bytes.push(0);
                    self.has_null = true;
                }
                Value::Int(number) => {
                    self.bytes.push(1);
                    self.bytes.extend((number.cast_unsigned() ^ (1 << 63)).to_be_bytes());
                }
                Value::Text(text) => self.push_bytes(2, text),
                Value::Blob(bytes) => self.push_bytes(3, bytes),
                Value::Other => return false,
            }
        }
        true
    }

    /// Adds bytes with an end that compares less than any further byte.
    fn push_bytes(&mut self, kind: u8, bytes: &[u8]) {
        self.bytes.push(kind);
        for part in bytes.split_inclusive(|byte| *byte == 0) {
            self.bytes.extend_from_slice(part);
            if part.ends_with(&[0]) {
                self.bytes.push(u8::MAX);
            }
        }
        self.bytes.push(0);
    }

    /// Whether two entries of a unique index have the same key. Keys with a null are different.
    fn has_key_of(&self, other: &Self) -> bool {
        !self.has_null && self.bytes[..self.key_at] == other.bytes[..other.key_at]
    }
}

impl Checksum {
    fn add(&mut self, entry: &Entry) {
        let mut hasher = DefaultHasher::new();
        hasher.write(&entry.bytes);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Expressions as the columns of a query, with names.
fn numbered(expressions: &[String]) -> String {
    let columns: Vec<_> =
        expressions.iter().enumerate().map(|(number, expression)| format!("{expression} AS c{number}")).collect();
    columns.join(", ")
}

/// A name as an SQL identifier.
pub(in crate::store::engine::sqlite) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::engine::sqlite::tables;

    #[test]
    fn every_index_of_the_schema_is_supported() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        for table in store.read(tables).unwrap() {
            assert_eq!(store.read(|tx| tx.compare_indexes(&table)), Ok(Compared::Equal), "{table}");
        }
    }

    #[test]
    fn entries_compare_like_their_values() {
        let values: [&[Value<'_>]; 9] = [
            &[Value::Null, Value::Int(1)],
            &[Value::Int(i64::MIN), Value::Int(1)],
            &[Value::Int(-1), Value::Int(1)],
            &[Value::Int(0), Value::Int(1)],
            &[Value::Int(i64::MAX), Value::Int(1)],
            &[Value::Text(b"a"), Value::Int(i64::MAX)],
            &[Value::Text(b"a\0"), Value::Int(1)],
            &[Value::Text(b"ab"), Value::Int(1)],
            &[Value::Blob(b""), Value::Int(1)],
        ];
        let entries: Vec<_> = values
            .iter()
            .map(|values| {
                let mut entry = Entry::default();
                assert!(entry.set(values.iter().copied()));
                entry.bytes
            })
            .collect();
        assert!(entries.is_sorted_by(|a, b| a < b), "{entries:?}");
    }
}
