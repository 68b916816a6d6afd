//! Pagination of lists by cursor, and loading the children of a page of parents.

use super::{Bind, Row, Transaction};
use crate::error::{Error, Result};
use crate::model::id::{Id, Kind};
use crate::model::page::{PageRequest, UNKNOWN_CURSOR};

/// Returns the exclusive upper bound of the ids on a page that is ordered newest first: the cursor, or `i64::MAX` on
/// the first page. The statement `exists` checks that the item of the cursor (`?1`) belongs to `owner` (`?2`).
pub(crate) fn cursor_bound<K: Kind>(
    tx: &Transaction<'_>,
    page: &PageRequest<K>,
    exists: &str,
    owner: Bind<'_>,
) -> Result<Bind<'static>> {
    match page.cursor {
        None => Ok(Bind::Int(i64::MAX)),
        Some(cursor) if tx.exists(exists, &[cursor.into(), owner])? => Ok(cursor.into()),
        Some(_) => Err(unknown_cursor()),
    }
}

pub(crate) fn unknown_cursor() -> Error {
    Error::field("cursor", UNKNOWN_CURSOR)
}

/// Returns the limit of a page plus one. The extra row shows whether another page follows.
pub(crate) fn limit_plus_one<K: Kind>(page: &PageRequest<K>) -> Bind<'static> {
    Bind::Int(page.limit + 1)
}

/// Reads the children of all `parents` with one statement: `sql`, an `IN` list, and `order`. The list is padded with
/// the last parent to one of a few lengths, so that few prepared statements are needed.
pub(crate) fn children<K: Kind, T>(
    tx: &Transaction<'_>,
    sql: &str,
    parents: &[Id<K>],
    order: &str,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(last) = parents.last() else { return Ok(Vec::new()) };
    let length = [1, 10, 25, 50, 100].into_iter().find(|length| *length >= parents.len()).unwrap_or(parents.len());
    let placeholders: Vec<_> = (1..=length).map(|number| format!("?{number}")).collect();
    let values: Vec<Bind<'_>> = (0..length).map(|index| (*parents.get(index).unwrap_or(last)).into()).collect();
    tx.query_all(&format!("{sql} IN ({}) {order}", placeholders.join(", ")), &values, decode)
}
