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

/// A query for the children of several parents. A statement with a list of one length is prepared once, so the lists
/// have few lengths, and their texts are built once.
pub(crate) struct ChildrenQuery {
    before_list: &'static str,
    after_list: &'static str,
    by_length: [String; LIST_LENGTHS.len()],
}

/// The lengths of lists: a shorter list is filled up with its last parent. A page has at most 100 entries.
const LIST_LENGTHS: [usize; 5] = [1, 10, 25, 50, 100];

impl ChildrenQuery {
    /// `before_list` ends with the column of the parent, and `after_list` begins after the list of `IN`.
    pub(crate) fn new(before_list: &'static str, after_list: &'static str) -> Self {
        let by_length = LIST_LENGTHS.map(|length| children_sql(before_list, length, after_list));
        Self { before_list, after_list, by_length }
    }
}

fn children_sql(before_list: &str, length: usize, after_list: &str) -> String {
    let placeholders: Vec<_> = (1..=length).map(|number| format!("?{number}")).collect();
    format!("{before_list} IN ({}) {after_list}", placeholders.join(", "))
}

/// Reads the children of all `parents` with one statement.
pub(crate) fn children<K: Kind, T>(
    tx: &Transaction<'_>,
    query: &ChildrenQuery,
    parents: &[Id<K>],
    decode: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(last) = parents.last() else { return Ok(Vec::new()) };
    let Some(known) = LIST_LENGTHS.iter().position(|length| *length >= parents.len()) else {
        let values: Vec<Bind<'_>> = parents.iter().map(|parent| (*parent).into()).collect();
        return tx.query_all(&children_sql(query.before_list, parents.len(), query.after_list), &values, decode);
    };
    let values: Vec<Bind<'_>> =
        (0..LIST_LENGTHS[known]).map(|index| (*parents.get(index).unwrap_or(last)).into()).collect();
    tx.query_all(&query.by_length[known], &values, decode)
}
