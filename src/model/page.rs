//! Pages of a list.

use super::id::{Id, Kind};
use crate::form::fields::{Fields, FromFields};

/// Which part of a list is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase", bound = "K: Kind"))]
pub struct PageRequest<K: Kind> {
    /// How many items at most: 1 to 100.
    pub limit: i64,
    /// Continue after this item: the `next_cursor` of the page before.
    pub cursor: Option<Id<K>>,
}

impl<K: Kind> Default for PageRequest<K> {
    fn default() -> Self {
        Self { limit: 25, cursor: None }
    }
}

impl<K: Kind> PageRequest<K> {
    /// The first `limit` items.
    #[must_use]
    pub fn first(limit: i64) -> Self {
        Self { limit, cursor: None }
    }

    /// The page that begins after `cursor`.
    #[must_use]
    pub fn after(self, cursor: Id<K>) -> Self {
        Self { cursor: Some(cursor), ..self }
    }
}

impl<K: Kind> FromFields for PageRequest<K> {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { limit: fields.or_default("limit", 25), cursor: fields.optional("cursor") }
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(
    feature = "server",
    derive(schemars::JsonSchema),
    schemars(rename = "{T}Page", bound = "T: schemars::JsonSchema")
)]
#[serde(rename_all = "camelCase", bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>"))]
pub struct Page<T, K: Kind> {
    /// The items.
    pub data: Vec<T>,
    /// Where the next page begins; `None` exactly when no item follows.
    pub next_cursor: Option<Id<K>>,
}

impl<T, K: Kind> Page<T, K> {
    /// Makes a page of up to one item more than `limit`: the one too many tells that another page follows.
    pub(crate) fn cut(mut data: Vec<T>, limit: i64, id: impl Fn(&T) -> Id<K>) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = data.len() > limit;
        data.truncate(limit);
        let next_cursor = if more { data.last().map(id) } else { None };
        Self { data, next_cursor }
    }
}
