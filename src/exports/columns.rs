//! The columns of exports, and the macro that declares them.

use std::borrow::Cow;

use crate::error::Result;
use crate::model::sale::settlement::SettlementLine;
use crate::model::values::amount::Amount;
use crate::model::values::id::{Id, Kind};
use crate::model::values::timestamp::Timestamp;
use crate::store::Row;
use crate::store::order::order_details::StoredDetails;

/// The value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'r> {
    Empty,
    Text(Cow<'r, str>),
    Flag(bool),
    Number(i64),
    Amount(Amount),
    Instant(Timestamp),
    /// A local time, in milliseconds since the beginning of 1970 there.
    Local(i64),
}

impl<'r, T: Into<Cell<'r>>> From<Option<T>> for Cell<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

macro_rules! cell_from {
    ($($type:ty => $cell:ident),+) => { $(
        impl<'r> From<$type> for Cell<'r> {
            fn from(value: $type) -> Self {
                Self::$cell(value.into())
            }
        }
    )+ };
}

cell_from! { String => Text, &'r str => Text, bool => Flag, i64 => Number, Amount => Amount, Timestamp => Instant }

/// A column of the table of a kind. A column of instants is two in the file: UTC, and the local time of the event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) local_name: Option<&'static str>,
    pub(super) contents: &'static str,
    pub(super) description: &'static str,
    pub(super) read: Read,
}

/// How the cell of a column is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Read {
    Row(for<'r> fn(&'r Row<'_>) -> Result<Cell<'r>>),
    /// Of an item, with the details of its order.
    Item(for<'r> fn(&'r Row<'_>, &'r StoredDetails) -> Result<Cell<'r>>),
    Line(fn(&SettlementLine) -> Cell<'_>),
}

/// What a column of instants says about its local time.
pub(super) const LOCAL: (&str, &str) = ("local time", "The same in the time zone of the event.");

/// Declares the columns of a kind, one a line, from which the files, the OpenAPI document and the documentation are
/// made:
///
/// ```text
/// columns! {
///     /// What a row is.
///     COLUMNS, columns_doc!, Row(row) {
///         "orderId" Text "The order." => id::<Order>(row, "order_id")?;
///         "created" + "At" Instant "When the order was created." => instant(row, "created_at")?;
///     }
/// }
/// ```
macro_rules! columns {
    (
        $columns:ident, $doc:ident!, $read:ident $parameters:tt {
            $($name:literal $(+ $suffix:literal)? $type:ident $description:literal => $cell:expr;)+
        }
    ) => {
        pub(super) const $columns: &[$crate::exports::columns::Column] = &[$($crate::exports::columns::Column {
            name: concat!($name $(, $suffix)?),
            local_name: columns!(@local $name $($suffix)?),
            contents: columns!(@contents $type),
            description: $description,
            read: columns!(@read $read $parameters $cell),
        }),+];

        /// The columns as rows of a table in Markdown.
        macro_rules! $doc {
            () => {
                concat!("| Column | Contents | Description |\n|---|---|---|\n", $(
                    "| `", $name $(, $suffix)?, "` | ", $crate::exports::columns::columns!(@contents $type), " | ", $description, " |\n",
                    $("| `", $name, "Local` | local time | The same as `", $name, $suffix, "` in the time zone of the event. |\n",)?
                )+)
            };
        }
        pub(super) use $doc;
    };
    (@local $name:literal) => { None };
    (@local $name:literal $suffix:literal) => { Some(concat!($name, "Local")) };
    (@read Row ($row:ident) $cell:expr) => { $crate::exports::columns::Read::Row(|$row| Ok($cell.into())) };
    (@read Item ($row:ident, $details:ident) $cell:expr) => {
        $crate::exports::columns::Read::Item(|$row, $details| {
            // Most columns use one of the two.
            let _ = ($row, $details);
            Ok($cell.into())
        })
    };
    (@read Line ($line:ident) $cell:expr) => { $crate::exports::columns::Read::Line(|$line| $cell.into()) };
    (@contents Text) => { "text" };
    (@contents Flag) => { "true or false" };
    (@contents Number) => { "number" };
    (@contents Amount) => { "amount" };
    (@contents Instant) => { "instant in UTC" };
}
pub(super) use columns;

pub(super) fn text<'r>(row: &'r Row<'_>, name: &'static str) -> Result<Option<&'r str>> {
    row.text(name)
}

pub(super) fn number(row: &Row<'_>, name: &'static str) -> Result<i64> {
    row.get(name)
}

pub(super) fn flag(row: &Row<'_>, name: &'static str) -> Result<bool> {
    row.get(name)
}

pub(super) fn instant(row: &Row<'_>, name: &'static str) -> Result<Option<Timestamp>> {
    row.get(name)
}

pub(super) fn id<K: Kind>(row: &Row<'_>, name: &'static str) -> Result<Option<String>> {
    Ok(row.get::<Option<Id<K>>>(name)?.map(|id| id.to_string()))
}

/// An amount of minor units in the currency of the row.
pub(super) fn amount(row: &Row<'_>, name: &'static str) -> Result<Amount> {
    in_currency(row, row.get(name)?)
}

pub(super) fn in_currency(row: &Row<'_>, minor: i64) -> Result<Amount> {
    Ok(Amount::in_currency(minor, row.get("currency")?))
}
