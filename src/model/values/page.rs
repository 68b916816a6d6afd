//! Pages of a list.

use serde::ser::SerializeMap;

use super::id::{Id, Kind};
use crate::error::{FieldErrors, Result};
use crate::form::declare::schema::ObjectSchema;
use crate::form::field::{Field, FormField};
use crate::form::limits::NoLimit;
use crate::form::limits::NumberLimit::{self, Max, Min};
use crate::form::object::ObjectReader;
use crate::form::path::Path;

/// The message of the error for a cursor that no page of the list returned.
pub(crate) const UNKNOWN_CURSOR: &str = "must be a cursor returned by this list";

const DEFAULT_LIMIT: i64 = 25;
const MAX_LIMIT: i64 = 100;

/// The part of a list to return. `C` is the type of the cursor: the id of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageRequest<C> {
    /// The greatest number of items: 1 to 100. The default is 25. A page of large items has fewer.
    pub limit: i64,
    /// Return the items that follow this one: the `next_cursor` of the previous page.
    pub cursor: Option<C>,
}

impl<C> Default for PageRequest<C> {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, cursor: None }
    }
}

impl<C> PageRequest<C> {
    /// Requests the first `limit` items.
    #[must_use]
    pub fn first(limit: i64) -> Self {
        Self { limit, cursor: None }
    }

    /// The same request, for the page that follows `cursor`.
    #[must_use]
    pub fn after(self, cursor: C) -> Self {
        Self { cursor: Some(cursor), ..self }
    }
}

/// A request for a page of a list.
pub(crate) trait ListRequest {
    /// Whether the request asks for only some of the items.
    fn has_filters(&self) -> bool;
}

/// Declares a request for a page of a list as a [`form!`](crate::form::declare::fields::form). Every field but `page` is
/// a filter.
macro_rules! list_request {
    ($(#[$($attribute:tt)*])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::form::declare::setters::constructor! {
            $name "Creates a request for the first page of the whole list. Its setters add filters."
        }

        $crate::form::declare::fields::form! {
            $(#[$($attribute)*])*
            #[derive(Debug, Clone, Default, PartialEq, Eq)]
            pub struct $name { $($fields)* }
        }

        impl $crate::model::values::page::ListRequest for $name {
            fn has_filters(&self) -> bool {
                let mut filters = self.clone();
                filters.page = $crate::model::values::page::PageRequest::default();
                filters != Self::default()
            }
        }
    };
}

pub(crate) use list_request;

const LIMIT: Field<NumberLimit> = Field::new(
    "limit",
    "The greatest number of items: 1 to 100. A page ends earlier if its items have more than 4 MiB.",
    &[Min(1), Max(MAX_LIMIT)],
)
.with_default(|| DEFAULT_LIMIT.into());
const CURSOR: Field<NoLimit> =
    Field::new("cursor", "Return the items that follow this one: the `nextCursor` of the previous page.", &[]);

/// `limit` and `cursor` are fields of the list request itself, not of a nested object.
impl<K: Kind> FormField for PageRequest<Id<K>> {
    type Limit = NoLimit;

    fn read(object: &mut ObjectReader<'_>, _: &Field<NoLimit>) -> Self {
        let limit = Option::read(object, &LIMIT).unwrap_or(DEFAULT_LIMIT);
        Self { limit, cursor: Option::read(object, &CURSOR) }
    }

    fn check(&mut self, _: &Field<NoLimit>, path: Path<'_>, errors: &mut FieldErrors) {
        FormField::check(&mut self.limit, &LIMIT, path, errors);
        errors.check(self.cursor != Some(Id::UNKNOWN), path.field(CURSOR.name), UNKNOWN_CURSOR);
    }

    fn write<M: SerializeMap>(&self, object: &mut M, _: &Field<NoLimit>) -> Result<(), M::Error> {
        let limit = (self.limit != DEFAULT_LIMIT).then_some(self.limit);
        limit.write(object, &LIMIT)?;
        self.cursor.write(object, &CURSOR)
    }

    fn describe(object: &mut ObjectSchema<'_>, _: &Field<NoLimit>) {
        Option::<i64>::describe(object, &LIMIT);
        Option::<Id<K>>::describe(object, &CURSOR);
    }
}

/// One page of a list of `T`. It has at most 4 MiB as JSON: a page of large items may have fewer than the request asks
/// for, and still be followed by another. `C` is the type of the cursor: the id of an item.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(
    feature = "server",
    derive(schemars::JsonSchema),
    schemars(rename = "{T}Page", bound = "T: schemars::JsonSchema, C: schemars::JsonSchema")
)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Page<T, C> {
    /// The items.
    pub data: Vec<T>,
    /// The cursor of the next page. Not set on the last page.
    pub next_cursor: Option<C>,
}

/// Iterates over the items of all pages of a list. `list` requests one page.
///
/// The pages have up to 100 items each, and are requested when the iterator comes to them. After an error the iterator
/// ends. Each page is a read of its own, so other changes can happen in between: new items are not seen in a list that
/// begins with the newest. To read all pages from one state, iterate inside
/// [`on_one_snapshot`](crate::TicketingService::on_one_snapshot).
///
/// ```
/// use ticketing::page;
#[doc = include_str!("../../doc_fixture.md")]
/// let request = ListOrders::default().event(event.id).status(OrderStatus::Completed);
/// for order in page::all(|page| service.list_orders(&caller, request.clone().page(page))) {
///     println!("{}", order?.customer.email);
/// }
/// let types = page::all(|page| service.list_ticket_types(&caller, event.id, ListTicketTypes::default().page(page)));
/// assert_eq!(types.collect::<ticketing::Result<Vec<_>>>()?, [ticket_type]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn all<T, C>(mut list: impl FnMut(PageRequest<C>) -> Result<Page<T, C>>) -> impl Iterator<Item = Result<T>> {
    let mut items = Vec::new().into_iter();
    let mut next = Some(PageRequest::first(MAX_LIMIT));
    std::iter::from_fn(move || {
        loop {
            if let Some(item) = items.next() {
                return Some(Ok(item));
            }
            match list(next.take()?) {
                Ok(page) => {
                    items = page.data.into_iter();
                    next = page.next_cursor.map(|cursor| PageRequest::first(MAX_LIMIT).after(cursor));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    })
}
