//! Pages of a list.

use super::id::{Id, Kind};
use crate::error::FieldErrors;
use crate::form::field::{Field, FormField};
use crate::form::limits::NoLimit;
use crate::form::limits::NumberLimit::{self, Max, Min};
use crate::form::object::ObjectReader;
use crate::form::path::Path;
use crate::form::schema::ObjectSchema;

/// The message of the error for a cursor that no page of the list returned.
pub(crate) const UNKNOWN_CURSOR: &str = "must be a cursor returned by this list";

const DEFAULT_LIMIT: i64 = 25;

/// The part of a list to return.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageRequest<K: Kind> {
    /// The greatest number of items: 1 to 100. The default is 25.
    pub limit: i64,
    /// Return the items that follow this one: the `next_cursor` of the previous page.
    pub cursor: Option<Id<K>>,
}

impl<K: Kind> Default for PageRequest<K> {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, cursor: None }
    }
}

impl<K: Kind> PageRequest<K> {
    /// Requests the first `limit` items.
    #[must_use]
    pub fn first(limit: i64) -> Self {
        Self { limit, cursor: None }
    }

    /// The same request, for the page that follows `cursor`.
    #[must_use]
    pub fn after(self, cursor: Id<K>) -> Self {
        Self { cursor: Some(cursor), ..self }
    }
}

const LIMIT: Field<NumberLimit> = Field::new("limit", "The greatest number of items: 1 to 100.", &[Min(1), Max(100)])
    .with_default(|| DEFAULT_LIMIT.into());
const CURSOR: Field<NoLimit> =
    Field::new("cursor", "Return the items that follow this one: the `nextCursor` of the previous page.", &[]);

/// `limit` and `cursor` are fields of the list request itself, not of a nested object.
impl<K: Kind> FormField for PageRequest<K> {
    type Limit = NoLimit;

    fn read(object: &mut ObjectReader<'_>, _: &Field<NoLimit>) -> Self {
        let limit = Option::read(object, &LIMIT).unwrap_or(DEFAULT_LIMIT);
        Self { limit, cursor: Option::read(object, &CURSOR) }
    }

    fn check(&self, _: &Field<NoLimit>, path: Path<'_>, errors: &mut FieldErrors) {
        FormField::check(&self.limit, &LIMIT, path, errors);
        errors.check(self.cursor != Some(Id::UNKNOWN), path.field(CURSOR.name), UNKNOWN_CURSOR);
    }

    fn describe(object: &mut ObjectSchema<'_>, _: &Field<NoLimit>) {
        Option::<i64>::describe(object, &LIMIT);
        Option::<Id<K>>::describe(object, &CURSOR);
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(
    feature = "http",
    derive(schemars::JsonSchema),
    schemars(rename = "{T}Page", bound = "T: schemars::JsonSchema")
)]
#[serde(rename_all = "camelCase", bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>"))]
#[non_exhaustive]
pub struct Page<T, K: Kind> {
    /// The items.
    pub data: Vec<T>,
    /// The cursor of the next page. Not set on the last page.
    pub next_cursor: Option<Id<K>>,
}

impl<T, K: Kind> Page<T, K> {
    /// Makes a page of the first `limit` items. If `data` has more items, another page follows.
    pub(crate) fn cut(mut data: Vec<T>, limit: i64, id: impl Fn(&T) -> Id<K>) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = data.len() > limit;
        data.truncate(limit);
        let next_cursor = if more { data.last().map(id) } else { None };
        Self { data, next_cursor }
    }
}
