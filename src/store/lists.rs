//! Pagination of lists by cursor, and queries for the children of all resources of a page.

use std::ops::ControlFlow;

use super::{Bind, Row, Transaction};
use crate::error::{Error, Result};
use crate::model::id::{Id, Kind};
use crate::model::page::{PageRequest, UNKNOWN_CURSOR};
use crate::model::timestamp::Timestamp;

/// Returns the exclusive upper bound of the ids on a page of a list that is ordered newest first: the cursor, or
/// `i64::MAX` on the first page. The statement `exists` finds the item with the id `?1` if it belongs to the owner
/// `?2`; a cursor that it does not find is an error.
pub(crate) fn cursor_bound<K: Kind>(
    tx: &Transaction<'_>,
    page: &PageRequest<Id<K>>,
    exists: &str,
    owner: Bind<'_>,
) -> Result<Bind<'static>> {
    match page.cursor {
        None => Ok(Bind::Int(i64::MAX)),
        Some(cursor) if tx.exists(exists, &[cursor.into(), owner])? => Ok(cursor.into()),
        Some(_) => Err(unknown_cursor()),
    }
}

/// The error about a cursor that this list has not returned.
pub(crate) fn unknown_cursor() -> Error {
    Error::field("cursor", UNKNOWN_CURSOR)
}

/// Returns the limit of a page plus one. The extra row shows whether another page follows.
pub(crate) fn limit_plus_one<C>(page: &PageRequest<C>) -> Bind<'static> {
    Bind::Int(page.limit + 1)
}

/// How many rows of a range of times a list sorts by id. If there are more, it walks the ids instead, because rows that
/// are many are soon found.
const SORTED_ROWS: i64 = 5000;

/// Whether so few rows of the owner `?1` are between the times `?2` and `?3` that a list can sort them. The statement
/// returns one row, unless there are at most `?4`.
pub(super) fn can_sort(
    tx: &Transaction<'_>,
    sql: &str,
    owner: Bind<'_>,
    from: Option<Timestamp>,
    before: Option<Timestamp>,
) -> Result<bool> {
    if from.is_none() && before.is_none() {
        return Ok(false);
    }
    let from = from.map_or(Bind::Int(i64::MIN), Bind::from);
    let before = before.map_or(Bind::Int(i64::MAX), Bind::from);
    Ok(!tx.exists(sql, &[owner, from, before, Bind::Int(SORTED_ROWS)])?)
}

/// Whether the owner `?1` has at least `number` rows. The statement returns one row, unless there are at most `?2`. So the
/// work is bounded, also if there are more rows than a limit allows.
pub(super) fn has_at_least(tx: &Transaction<'_>, sql: &str, owner: Bind<'_>, number: usize) -> Result<bool> {
    let others = i64::try_from(number).unwrap_or(i64::MAX) - 1;
    tx.exists(sql, &[owner, Bind::Int(others)])
}

/// The lengths of `IN` lists. A list is filled up to the next of these lengths with copies of its last entry. A page
/// has at most 100 entries.
const LIST_LENGTHS: [usize; 5] = [1, 10, 25, 50, 100];

/// A query for the children of several parents, with the ids of the parents in an `IN` list.
///
/// A statement is prepared separately for each length of its list. So only a few lengths are used, and the text of the
/// statement is built once for each of them.
pub(crate) struct ChildrenQuery {
    before_list: &'static str,
    after_list: &'static str,
    by_length: [String; LIST_LENGTHS.len()],
}

impl ChildrenQuery {
    /// `before_list` ends with the column that refers to the parent. `after_list` follows the `IN` list.
    pub(crate) fn new(before_list: &'static str, after_list: &'static str) -> Self {
        let by_length = LIST_LENGTHS.map(|length| children_sql(before_list, length, after_list));
        Self { before_list, after_list, by_length }
    }
}

fn children_sql(before_list: &str, length: usize, after_list: &str) -> String {
    let placeholders: Vec<_> = (1..=length).map(|number| format!("?{number}")).collect();
    format!("{before_list} IN ({}) {after_list}", placeholders.join(", "))
}

/// Reads the first `most` children of all `parents` with one statement.
pub(crate) fn children<K: Kind, T>(
    tx: &Transaction<'_>,
    query: &ChildrenQuery,
    parents: &[Id<K>],
    most: usize,
    mut decode: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(last) = parents.last() else { return Ok(Vec::new()) };
    let mut binds: Vec<Bind<'_>> = parents.iter().map(|parent| (*parent).into()).collect();
    let mut found = Vec::new();
    let visit = |row: &Row<'_>| {
        found.push(decode(row)?);
        Ok(if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    match LIST_LENGTHS.iter().position(|length| *length >= parents.len()) {
        Some(index) => {
            binds.resize_with(LIST_LENGTHS[index], || (*last).into());
            tx.query_while(&query.by_length[index], &binds, visit)?;
        }
        None => tx.query_while(&children_sql(query.before_list, parents.len(), query.after_list), &binds, visit)?,
    }
    Ok(found)
}
