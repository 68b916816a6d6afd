//! Pages of lists: at most as many items as the request asks for, and at most 4 MiB of them as JSON. A page that would
//! be larger ends early, with its cursor.

use std::ops::ControlFlow;

use serde::Serialize;

use super::list_query::ListQuery;
use super::page_ids::PageIds;
use crate::error::Result;
use crate::model::values::id::{Id, Kind};
use crate::model::values::page::{Page, PageRequest};
use crate::store::columns::json;
use crate::store::{Bind, Row, RowLength, Transaction};

/// The greatest size of the items of a page as JSON: 4 MiB less 1 KiB for what surrounds them.
const MAX_BYTES: usize = 4 * 1024 * 1024 - 1024;

/// No item has more bytes of JSON for one byte of the texts of its row that are read. A character may become an escape
/// of 6 bytes, and a short number in a list a timestamp of 26.
const BYTES_PER_TEXT_BYTE: usize = 16;

/// No item has more bytes of JSON that do not come from texts: names of fields, numbers, ids and timestamps.
const BYTES_WITHOUT_TEXT: usize = 4096;

/// Reads a page of a list. The statement returns up to one item more than the request asks for.
pub(in crate::store) fn read_page<T: Serialize, C>(
    tx: &Transaction<'_>,
    rows: RowLength,
    sql: &str,
    binds: &[Bind<'_>],
    request: &PageRequest<C>,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
    cursor: impl Fn(&T) -> C,
) -> Result<Page<T, C>> {
    let items = PageItems::read(tx, rows, sql, binds, request, decode, |item| item)?;
    Ok(items.into_page(cursor))
}

/// Reads the items of a page whose ids were found, newest first.
pub(in crate::store) fn read_page_of<T: Serialize, K: Kind>(
    tx: &Transaction<'_>,
    query: &ListQuery,
    parameters: &[Bind<'_>],
    ids: PageIds<'_, Id<K>>,
    decode: impl FnMut(&Row<'_>) -> Result<T>,
    cursor: impl Fn(&T) -> Id<K>,
) -> Result<Page<T, Id<K>>> {
    let items = PageItems::read_ids(tx, query, parameters, ids, decode, |item| item)?;
    Ok(items.into_page(cursor))
}

/// The items of a page, while it is read.
pub(in crate::store) struct PageItems<T> {
    pub(in crate::store) items: Vec<T>,
    /// Whether another item follows, which is not on this page.
    has_more: bool,
    /// An upper bound of the size as JSON.
    pub(in crate::store) upper_bound: usize,
    /// The size as JSON, once the upper bound has exceeded the limit. Most pages are never measured.
    exact: Option<usize>,
}

impl<T> PageItems<T> {
    pub(in crate::store) fn new(has_more: bool) -> Self {
        Self { items: Vec::new(), has_more, upper_bound: 0, exact: None }
    }

    /// Reads items until the page is full. `response` is the part of an item that is returned to the client.
    pub(in crate::store) fn read<C, J: Serialize>(
        tx: &Transaction<'_>,
        rows: RowLength,
        sql: &str,
        binds: &[Bind<'_>],
        request: &PageRequest<C>,
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
        response: impl Fn(&T) -> &J,
    ) -> Result<Self> {
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let mut page = Self::new(false);
        tx.query_page(rows, sql, binds, |row| {
            if page.items.len() >= limit {
                page.has_more = true;
                return Ok(ControlFlow::Break(()));
            }
            page.push_row(row, &mut decode, &response)
        })?;
        Ok(page)
    }

    /// Reads the items with the ids of a page until the page is full. The query has `parameters` before the list of
    /// ids.
    pub(in crate::store) fn read_ids<K: Kind, J: Serialize>(
        tx: &Transaction<'_>,
        query: &ListQuery,
        parameters: &[Bind<'_>],
        ids: PageIds<'_, Id<K>>,
        mut decode: impl FnMut(&Row<'_>) -> Result<T>,
        response: impl Fn(&T) -> &J,
    ) -> Result<Self> {
        let (ids, has_more) = ids.into_page();
        let mut page = Self::new(has_more);
        query.query_while(tx, parameters, &ids, |row| page.push_row(row, &mut decode, &response))?;
        Ok(page)
    }

    /// Adds the item of a row, as [`push`](Self::push) does.
    fn push_row<J: Serialize>(
        &mut self,
        row: &Row<'_>,
        decode: impl FnOnce(&Row<'_>) -> Result<T>,
        response: impl Fn(&T) -> &J,
    ) -> Result<ControlFlow<()>> {
        let item = decode(row)?;
        let upper_bound = BYTES_WITHOUT_TEXT + BYTES_PER_TEXT_BYTE * row.text_bytes_read();
        self.push(item, upper_bound, response)
    }

    /// Adds an item, unless the page would be too large with it: then it ends before the item. A page has at least one
    /// item. `upper_bound` is one of the item's size as JSON.
    pub(in crate::store) fn push<J: Serialize>(
        &mut self,
        item: T,
        upper_bound: usize,
        response: impl Fn(&T) -> &J,
    ) -> Result<ControlFlow<()>> {
        self.upper_bound += upper_bound;
        if self.upper_bound > MAX_BYTES {
            let before = match self.exact {
                Some(size) => size,
                None => self.items.iter().map(|item| json_length(response(item))).sum::<Result<usize>>()?,
            };
            // Each item is followed by a comma.
            let size = before + json_length(response(&item))? + 1;
            if size > MAX_BYTES && !self.items.is_empty() {
                self.has_more = true;
                return Ok(ControlFlow::Break(()));
            }
            self.exact = Some(size);
        }
        self.items.push(item);
        Ok(ControlFlow::Continue(()))
    }

    /// Whether another item follows, which is not on this page.
    pub(in crate::store) fn has_more(&self) -> bool {
        self.has_more
    }

    pub(in crate::store) fn into_page<C>(self, cursor: impl Fn(&T) -> C) -> Page<T, C> {
        let next_cursor = if self.has_more { self.items.last().map(cursor) } else { None };
        Page { data: self.items, next_cursor }
    }
}

/// The length of a value as compact JSON, in bytes.
fn json_length(value: &impl Serialize) -> Result<usize> {
    json(value).map(|text| text.len())
}
