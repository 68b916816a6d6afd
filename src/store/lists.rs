//! What every list does alike: cursors and the children of a page.

use super::{Bind, Row, Transaction};
use crate::error::{Error, Result};
use crate::model::id::{Id, Kind};
use crate::model::page::{PageRequest, UNKNOWN_CURSOR};

/// Where a page that is ordered newest first begins: below the cursor, or below every id. `exists` finds the cursor's
/// item (`?1`) in the organization (`?2`).
pub(crate) fn below<K: Kind>(
    tx: &Transaction<'_>,
    page: &PageRequest<K>,
    exists: &str,
    organization: Bind<'_>,
) -> Result<Bind<'static>> {
    match page.cursor {
        None => Ok(Bind::Int(i64::MAX)),
        Some(cursor) if tx.exists(exists, &[cursor.into(), organization])? => Ok(cursor.into()),
        Some(_) => Err(unknown_cursor()),
    }
}

pub(crate) fn unknown_cursor() -> Error {
    Error::field("cursor", UNKNOWN_CURSOR)
}

/// One row more than the page holds, to know whether another follows.
pub(crate) fn one_more<K: Kind>(page: &PageRequest<K>) -> Bind<'static> {
    Bind::Int(page.limit + 1)
}

/// Reads the children of all `parents` with one statement: `sql` ends before the list of `IN`. Lists of one length
/// share a prepared statement, so the length is rounded up and the rest filled with the last parent.
pub(crate) fn children<K: Kind, T>(
    tx: &Transaction<'_>,
    sql: &str,
    parents: &[Id<K>],
    order: &str,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(last) = parents.last() else { return Ok(Vec::new()) };
    let length = [1, 10, 25, 50, 100].into_iter().find(|length| *length >= parents.len()).unwrap_or(parents.len());
    let places: Vec<_> = (1..=length).map(|place| format!("?{place}")).collect();
    let values: Vec<Bind<'_>> = (0..length).map(|index| (*parents.get(index).unwrap_or(last)).into()).collect();
    tx.query_all(&format!("{sql} IN ({}) {order}", places.join(", ")), &values, decode)
}
