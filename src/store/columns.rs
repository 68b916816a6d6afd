//! The mapping between the fields of a resource and the columns of its table.
//!
//! Each resource that callers create and update lists its columns once, with [`columns!`]. The list yields the columns
//! of its SELECT, INSERT and UPDATE statements, the values to write, and the function that reads a row.

use super::{Bind, FromValue, Value, from_json};
use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Result};
use crate::model::notifications::notification_types::EventType;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{Id, Kind};
use crate::model::values::metadata::Metadata;
use crate::model::values::timestamp::Timestamp;

/// A type of field that is stored in one column.
pub(super) trait Column: FromValue {
    fn bind(&self) -> Result<Bind<'_>>;
}

macro_rules! plain_column {
    ($($type:ty),+) => { $(
        impl Column for $type {
            fn bind(&self) -> Result<Bind<'_>> {
                Ok((*self).into())
            }
        }
    )+ };
}

plain_column!(i64, bool, Timestamp, Option<i64>, Option<Timestamp>);

impl Column for String {
    fn bind(&self) -> Result<Bind<'_>> {
        Ok(self.into())
    }
}

impl Column for Option<String> {
    fn bind(&self) -> Result<Bind<'_>> {
        Ok(self.as_ref().into())
    }
}

impl<T: TextEnum> Column for T {
    fn bind(&self) -> Result<Bind<'_>> {
        Ok(self.as_str().into())
    }
}

/// Types that are stored as their JSON.
macro_rules! json_column {
    ($($type:ty),+) => { $(
        impl FromValue for $type {
            fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
                from_json(value)
            }
        }

        impl Column for $type {
            fn bind(&self) -> Result<Bind<'_>> {
                json(self).map(Bind::from)
            }
        }
    )+ };
}

json_column!(serde_json::Value, Vec<String>, Vec<EventType>);

/// The decimals of the amounts in a row, by their currency.
impl FromValue for Decimals {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        value.parsed(Self::of_currency, "is not a known currency")
    }
}

/// A JSON object; NULL if it is empty.
impl FromValue for Metadata {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        if value == Value::Null { Ok(Self::new()) } else { from_json(value) }
    }
}

impl Column for Metadata {
    fn bind(&self) -> Result<Bind<'_>> {
        if self.is_empty() { Ok(Bind::Null) } else { json(self).map(Bind::from) }
    }
}

/// A JSON array of milliseconds.
impl FromValue for Vec<Timestamp> {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        let millis: Vec<i64> = from_json(value)?;
        let times: Result<_, _> = millis.into_iter().map(Timestamp::from_millis).collect();
        times.map_err(|_| "has a time outside of the years 1970 to 9999")
    }
}

impl Column for Vec<Timestamp> {
    fn bind(&self) -> Result<Bind<'_>> {
        let millis: Vec<i64> = self.iter().map(|timestamp| timestamp.millis()).collect();
        json(&millis).map(Bind::from)
    }
}

/// A JSON array of numbers.
impl<K: Kind> FromValue for Vec<Id<K>> {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        let ids: Vec<i64> = from_json(value)?;
        Ok(ids.into_iter().map(Id::from_raw).collect())
    }
}

impl<K: Kind> Column for Vec<Id<K>> {
    fn bind(&self) -> Result<Bind<'_>> {
        let ids: Vec<i64> = self.iter().map(|id| id.raw()).collect();
        json(&ids).map(Bind::from)
    }
}

/// Returns the JSON text that is stored for a value.
pub(super) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))
}

/// The columns that one statement writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenColumns(pub(super) &'static [&'static str]);

impl WrittenColumns {
    /// A statement that inserts these columns. The parameters before them are the id, the columns `own`, and the time.
    pub(super) fn insert(self, table: &str, own: &[&str]) -> String {
        let (names, now) = (self.0.join(", "), own.len() + 2);
        format!(
            "INSERT INTO {table} (id, {own}, {names}, created_at, updated_at)
            VALUES ({before}, {written}, ?{now}, ?{now}) ON CONFLICT (id) DO NOTHING",
            own = own.join(", "),
            before = parameters(1, now - 1),
            written = parameters(now + 1, self.0.len()),
        )
    }

    /// A statement that sets these columns to the parameters from `?first` on. `rest` follows the assignments.
    pub(super) fn update(self, table: &str, first: usize, rest: &str) -> String {
        let assignments = self.0.iter().zip(first..).map(|(name, number)| format!("{name} = ?{number}, "));
        format!("UPDATE {table} SET {}{rest}", assignments.collect::<String>())
    }
}

/// A number of parameters from `?first` on.
pub(super) fn parameters(first: usize, number: usize) -> String {
    let parameters: Vec<_> = (first..).take(number).map(|number| format!("?{number}")).collect();
    parameters.join(", ")
}

/// The VALUES of an INSERT of several rows. Each row has parameters of its own, and ends with `rest`.
pub(super) fn values_of_rows(rows: usize, parameters_of_row: usize, rest: &str) -> String {
    let row = |row: usize| format!("({}{rest})", parameters(row * parameters_of_row + 1, parameters_of_row));
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Declares how a resource is stored:
///
/// ```text
/// columns! {
///     // The fields that are each stored in one column, and then further columns to write.
///     write WRITTEN, selected_columns!("t."), values(fields: &TicketTypeFields) {
///         name,
///         sale_start_date => sale_start_at,
///     } and {
///         price: fields.price.minor_units().into(),
///     }
///     // Fields that this statement does not write.
///     select own_columns!("t.") { id, created_at }
///     // Statements, and then the other fields of the resource, which can use the variables of the statements.
///     read decode(row: &Row<'_>) -> TicketType {
///         let decimals = currency_decimals(row)?;
///     } and {
///         price: Amount::in_currency(row.get("price")?, decimals),
///     }
/// }
/// ```
///
/// yields
///
/// - `WRITTEN`, the [`WrittenColumns`] for INSERT and UPDATE, and the function `values`, which returns their values in
///   the same order;
/// - `selected_columns!()` and `own_columns!()`, the columns of the fields that are each stored in one column, for
///   SELECT: `, t.name, …`;
/// - the function `decode`, which reads a row.
///
/// The column of a field has the name of the field or the one after `=>`. The type of the field decides how it is
/// stored: see [`Column`].
macro_rules! columns {
    (
        $(
            write $written:ident, $selected:ident!($alias:literal), $values:ident($fields:ident: &$fields_type:ty) {
                $($field:ident $(=> $column:ident)?),* $(,)?
            } and {
                $($further:ident: $value:expr),* $(,)?
            }
        )*
        $(
            select $also_selected:ident!($also_alias:literal) {
                $($also:ident $(=> $also_column:ident)?),* $(,)?
            }
        )?
        read $decode:ident($row:ident: &Row<'_> $(, $argument:ident: $argument_type:ty)?) -> $resource:ident {
            $($statement:stmt;)*
        } and {
            $($read:ident: $read_value:expr),* $(,)?
        }
    ) => {
        $(
            const $written: $crate::store::columns::WrittenColumns = $crate::store::columns::WrittenColumns(&[
                $($crate::store::columns::column_name!($field $(=> $column)?),)*
                $(stringify!($further),)*
            ]);

            macro_rules! $selected {
                () => {
                    concat!($(", ", $alias, $crate::store::columns::column_name!($field $(=> $column)?)),*)
                };
            }

            fn $values($fields: &$fields_type) -> $crate::error::Result<Vec<$crate::store::Bind<'_>>> {
                Ok(vec![
                    $($crate::store::columns::Column::bind(&$fields.$field)?,)*
                    $($value,)*
                ])
            }
        )*

        $(
            macro_rules! $also_selected {
                () => {
                    concat!($(", ", $also_alias, $crate::store::columns::column_name!($also $(=> $also_column)?)),*)
                };
            }
        )?

        pub(in crate::store) fn $decode($row: &$crate::store::Row<'_> $(, $argument: $argument_type)?) -> $crate::error::Result<$resource> {
            $($statement)*
            Ok($resource {
                $($read: $read_value,)*
                $($(
                    $field: $row.get($crate::store::columns::column_name!($field $(=> $column)?))?,
                )*)*
                $($($also: $row.get($crate::store::columns::column_name!($also $(=> $also_column)?))?,)*)?
            })
        }
    };
}

macro_rules! column_name {
    ($field:ident => $column:ident) => {
        stringify!($column)
    };
    ($field:ident) => {
        stringify!($field)
    };
}

/// Declares a struct that is read from a row, with the function `read`:
///
/// ```text
/// row_struct! {
///     /// A refund that is due.
///     pub(crate) struct DueRefund(row) {
///         pub(crate) id: RefundId,
///         pub(crate) order: OrderId => order_id,
///         pub(crate) is_new: bool = row.is_null("reference")?,
///     }
/// }
/// ```
///
/// The column of a field has the name of the field or the one after `=>`. After `=` is what reads the field.
macro_rules! row_struct {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident($row:ident) {
            $(
                $(#[$field_meta:meta])*
                $field_visibility:vis $field:ident: $type:ty $(=> $column:ident)? $(= $value:expr)?,
            )*
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }

        impl $name {
            pub(in crate::store) fn read($row: &$crate::store::Row<'_>) -> $crate::error::Result<Self> {
                Ok(Self {
                    $($field: $crate::store::columns::read_field!($row, $field $(=> $column)? $(= $value)?),)*
                })
            }
        }
    };
}

macro_rules! read_field {
    ($row:ident, $field:ident = $value:expr) => {
        $value
    };
    ($row:ident, $($column:tt)+) => {
        $row.get($crate::store::columns::column_name!($($column)+))?
    };
}

pub(super) use {column_name, columns, read_field, row_struct};
