//! The types of request fields: how a value of each type is read from JSON and checked, and its JSON Schema.

use serde_json::json;

use super::decimal::Decimal;
use super::declare::schema::{NamedSchemas, WRITTEN_PATTERN};
use super::json::Value;
use super::limits::{Limit, ListLimit, NoLimit, NumberLimit, TextLimit};
use super::path::Path;
use super::text_kind::TextKind;
use crate::enums::text_enum::TextEnum;
use crate::error::FieldErrors;

/// The type of a request field, or of the entries of a list: it is read from one JSON value or query parameter.
pub(crate) trait FormValue: serde::Serialize + Sized {
    /// The limits that a field of this type can have.
    type Limit: Limit;

    /// Returns a value that stands in for one that is missing or could not be read. So reading goes on, and all errors
    /// of a request are reported together.
    fn placeholder() -> Self;

    /// Reads the value. If it is not of this type, adds an error at `path` and returns `None`.
    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self>;

    /// Like [`read`](Self::read), for a field with these limits. A type may refuse a value that is far beyond a limit
    /// without reading it. [`check`](Self::check) still checks the limits of the value that was read.
    fn read_within(value: &Value, _limits: &[Self::Limit], path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        Self::read(value, path, errors)
    }

    /// Whether the value is within a limit. Types without limits need not implement it.
    fn is_within(&self, _limit: Self::Limit) -> bool {
        true
    }

    /// Whether this entry of a list repeats another one: see [`ListLimit::Unique`].
    fn is_same(&self, other: &Self) -> bool
    where
        Self: PartialEq,
    {
        self == other
    }

    /// Whether this value means that a program has not set a required field.
    fn is_missing(&self) -> bool {
        false
    }

    /// Brings the value into its normal form, as texts without white space at their ends, and adds the errors that no
    /// limit has, such as a text with U+0000.
    fn check_parts(&mut self, _limits: &[Self::Limit], _: Path<'_>, _: &mut FieldErrors) {}

    /// Does what [`check_parts`](Self::check_parts) does, and adds an error for the first limit that the value exceeds.
    fn check(&mut self, limits: &[Self::Limit], path: Path<'_>, errors: &mut FieldErrors) {
        self.check_parts(limits, path, errors);
        if let Some(exceeded) = limits.iter().find(|limit| !self.is_within(**limit)) {
            errors.add(path, exceeded.message());
        }
    }

    /// Returns the JSON Schema of the values that [`read`](Self::read) accepts.
    fn schema(named: &mut NamedSchemas) -> serde_json::Value;
}

/// Returns the text of a JSON string or of a query parameter. `None` for any other value.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) | Value::Query(text) => Some(text),
        _ => None,
    }
}

/// Returns `value`, and adds an error if it is `None`.
pub(crate) fn or_error<T>(value: Option<T>, path: Path<'_>, errors: &mut FieldErrors, message: &str) -> Option<T> {
    if value.is_none() {
        errors.add(path, message);
    }
    value
}

impl FormValue for String {
    type Limit = TextLimit;

    fn placeholder() -> Self {
        Self::new()
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        or_error(text(value).map(str::to_owned), path, errors, "must be a string")
    }

    fn is_within(&self, limit: TextLimit) -> bool {
        limit.allows(self)
    }

    fn check_parts(&mut self, limits: &[TextLimit], path: Path<'_>, errors: &mut FieldErrors) {
        let kind = TextKind::of(limits);
        kind.normalize(self);
        if let Some(message) = kind.refusal(self) {
            errors.add(path, message);
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "string", "pattern": WRITTEN_PATTERN})
    }
}

impl FormValue for bool {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        false
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let boolean = match value {
            Value::Bool(value) => Some(*value),
            Value::Query(text) => text.parse().ok(),
            _ => None,
        };
        or_error(boolean, path, errors, "must be true or false")
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "boolean"})
    }
}

/// Reads a decimal number without rounding.
pub(crate) fn read_decimal(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Decimal> {
    let parsed = match value {
        Value::Number(text) | Value::Query(text) => text.parse(),
        _ => return or_error(None, path, errors, "must be a number"),
    };
    match parsed {
        Ok(number) => Some(number),
        Err(error) => {
            errors.add(path, error.to_string());
            None
        }
    }
}

impl FormValue for i64 {
    type Limit = NumberLimit;

    fn placeholder() -> Self {
        0
    }

    /// Reads a whole number in any notation: `10`, `10.0` and `1e1` are the same.
    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let number = read_decimal(value, path, errors)?;
        let whole = if number.decimals == 0 { Some(number.digits) } else { None };
        or_error(whole, path, errors, "must be a whole number")
    }

    fn is_within(&self, limit: NumberLimit) -> bool {
        match limit {
            NumberLimit::Min(least) => *self >= least,
            NumberLimit::Max(most) => *self <= most,
            NumberLimit::Above(bound) => *self > bound,
            NumberLimit::Rounded => true,
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "integer", "format": "int64", "minimum": -i64::MAX, "maximum": i64::MAX})
    }
}

impl<T: TextEnum + serde::Serialize> FormValue for T {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        T::ALL[0]
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let known = text(value).and_then(T::from_text);
        if known.is_none() {
            let texts: Vec<_> = T::ALL.iter().map(|value| value.as_str()).collect();
            errors.add(path, format!("must be one of {}", texts.join(", ")));
        }
        known
    }

    fn schema(named: &mut NamedSchemas) -> serde_json::Value {
        let texts: Vec<_> = T::ALL.iter().map(|value| value.as_str()).collect();
        named.refer_to(T::NAME, json!({"type": "string", "enum": texts}))
    }
}

impl<T: FormValue + PartialEq> FormValue for Vec<T> {
    type Limit = ListLimit<T::Limit>;

    fn placeholder() -> Self {
        Self::new()
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let Value::Array(items) = value else {
            return or_error(None, path, errors, "must be an array");
        };
        let mut list = Self::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            list.push(T::read(item, path.entry(index), errors).unwrap_or_else(T::placeholder));
        }
        Some(list)
    }

    /// Refuses a list with too many entries without reading them.
    fn read_within(value: &Value, limits: &[Self::Limit], path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        if let Value::Array(items) = value
            && let Some(exceeded) = too_many_items(items.len(), limits)
        {
            return or_error(None, path, errors, &exceeded.message());
        }
        Self::read(value, path, errors)
    }

    fn is_within(&self, limit: Self::Limit) -> bool {
        match limit {
            ListLimit::MinItems(least) => self.len() >= least,
            ListLimit::MaxItems(most) => self.len() <= most,
            // `check` compares and checks the entries.
            ListLimit::Unique | ListLimit::Each(_) => true,
        }
    }

    /// Adds errors for the list and for its entries. If the list has too many entries, that is the only error.
    fn check(&mut self, limits: &[Self::Limit], path: Path<'_>, errors: &mut FieldErrors) {
        if let Some(exceeded) = too_many_items(self.len(), limits) {
            return errors.add(path, exceeded.message());
        }
        let of_each =
            limits.iter().find_map(|limit| if let ListLimit::Each(of_each) = limit { Some(*of_each) } else { None });
        for (index, item) in self.iter_mut().enumerate() {
            item.check(of_each.unwrap_or_default(), path.entry(index), errors);
        }
        for limit in limits {
            match limit {
                ListLimit::Unique => check_unique(self, path, errors),
                limit if self.is_within(*limit) => {}
                limit => errors.add(path, limit.message()),
            }
        }
    }

    fn schema(named: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "array", "items": T::schema(named)})
    }
}

/// Returns the limit that a list with `count` entries exceeds, if it has too many.
fn too_many_items<L: Limit>(count: usize, limits: &[ListLimit<L>]) -> Option<ListLimit<L>> {
    limits.iter().copied().find(|limit| matches!(limit, ListLimit::MaxItems(most) if count > *most))
}

/// Adds an error for each entry that repeats an earlier one. Takes quadratic time, so a list with
/// [`ListLimit::Unique`] also needs a limit on its length.
fn check_unique<T: FormValue + PartialEq>(list: &[T], path: Path<'_>, errors: &mut FieldErrors) {
    for (index, item) in list.iter().enumerate() {
        // Skip earlier entries that could not be read: their placeholder may be equal to a valid entry.
        let repeats = |earlier: usize| list[earlier].is_same(item) && !errors.covers(&path.entry(earlier).to_string());
        if (0..index).any(repeats) {
            errors.add(path.entry(index), ListLimit::<T::Limit>::Unique.message());
        }
    }
}
