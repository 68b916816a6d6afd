//! Pagination of lists by cursor, and queries for the children of all resources of a page.

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::model::values::id::{Id, Kind};
use crate::model::values::page::{PageRequest, UNKNOWN_CURSOR};
use crate::model::values::timestamp::Timestamp;
use crate::store::{Bind, Row, RowLength, Transaction, columns};

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
pub(in crate::store) fn can_sort(
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

/// Whether the owner `?1` has at least `number` rows. The statement returns one row, unless there are at most `?2`. So
/// the work is bounded, also if there are more rows than a limit allows.
pub(in crate::store) fn has_at_least(tx: &Transaction<'_>, sql: &str, owner: Bind<'_>, number: usize) -> Result<bool> {
    tx.exists(sql, &[owner, number.saturating_sub(1).into()])
}

/// The lengths of `IN` lists. A list is filled up to the next of these lengths with copies of its last entry. A page
/// has at most 100 entries.
const LIST_LENGTHS: [usize; 5] = [1, 10, 25, 50, 100];

/// A query with ids in an `IN` list: those of rows, or of the parents of rows.
///
/// A statement is prepared separately for each length of its list. So only a few lengths are used, and the text of the
/// statement is built once for each of them.
pub(crate) struct ListQuery {
    /// How many parameters the statement has before the list.
    parameters: usize,
    before_list: &'static str,
    after_list: &'static str,
    by_length: [String; LIST_LENGTHS.len()],
    rows: RowLength,
}

impl ListQuery {
    /// `before_list` ends with the column whose values are in the list. `after_list` follows the `IN` list.
    pub(crate) fn new(before_list: &'static str, after_list: &'static str) -> Self {
        Self::with_parameters(0, before_list, after_list)
    }

    /// The same for a statement that has other parameters, whose numbers are lower.
    pub(in crate::store) fn with_parameters(
        parameters: usize,
        before_list: &'static str,
        after_list: &'static str,
    ) -> Self {
        let by_length = LIST_LENGTHS.map(|length| list_sql(parameters, before_list, length, after_list));
        Self { parameters, before_list, after_list, by_length, rows: RowLength::Short }
    }

    /// The same query, whose rows can be long.
    pub(in crate::store) fn of_long_rows(self) -> Self {
        Self { rows: RowLength::Long, ..self }
    }

    /// Passes the rows to `visit`, until it breaks.
    pub(in crate::store) fn query_while<K: Kind>(
        &self,
        tx: &Transaction<'_>,
        parameters: &[Bind<'_>],
        ids: &[Id<K>],
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Some(last) = ids.last() else { return Ok(()) };
        let mut binds = parameters.to_vec();
        binds.extend(ids.iter().map(|id| Bind::from(*id)));
        match LIST_LENGTHS.iter().position(|length| *length >= ids.len()) {
            Some(index) => {
                binds.resize_with(self.parameters + LIST_LENGTHS[index], || (*last).into());
                tx.query_page(self.rows, &self.by_length[index], &binds, visit)
            }
            None => {
                let sql = list_sql(self.parameters, self.before_list, ids.len(), self.after_list);
                tx.query_page(self.rows, &sql, &binds, visit)
            }
        }
    }

    /// The statement for a list of a few ids. For a long list, the planner may read the whole of a small table.
    #[cfg(test)]
    pub(in crate::store) fn short(&self) -> &str {
        &self.by_length[1]
    }
}

fn list_sql(parameters: usize, before_list: &str, length: usize, after_list: &str) -> String {
    format!("{before_list} IN ({}) {after_list}", columns::parameters(parameters + 1, length))
}

/// Reads the first `most` children of all `parents` with one statement.
pub(crate) fn children<K: Kind, T>(
    tx: &Transaction<'_>,
    query: &ListQuery,
    parents: &[Id<K>],
    most: usize,
    mut decode: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    query.query_while(tx, &[], parents, |row| {
        found.push(decode(row)?);
        Ok(if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}
