//! The types that a field of a request can have: how each one is read from JSON, checked and described.

use serde_json::json;

use super::decimal::{Decimal, ParseDecimalError};
use super::json::Value;
use super::limits::{Limit, ListLimit, NoLimit, NumberLimit, TextLimit};
use super::path::Path;
use super::schema::{NamedSchemas, text_without_nul};
use super::text::CONTAINS_NUL;
use crate::error::FieldErrors;
use crate::text_enum::TextEnum;

/// A type that is read from one JSON value.
pub(crate) trait FormValue: serde::Serialize + Sized {
    /// What can limit a field of this type.
    type Limit: Limit;

    /// The value of a required field that is missing or wrong, until the errors are reported.
    fn placeholder() -> Self;

    /// Reads the value. If it is of the wrong kind, adds an error at `path` and returns `None`.
    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self>;

    /// Whether the value is within a limit.
    fn is_within(&self, limit: Self::Limit) -> bool;

    /// Adds an error for each part of the value that is invalid in every field, regardless of its limits.
    fn check_parts(&self, _: Path<'_>, _: &mut FieldErrors) {}

    /// Adds an error for each limit that the value exceeds.
    fn check(&self, limits: &[Self::Limit], path: Path<'_>, errors: &mut FieldErrors) {
        self.check_parts(path, errors);
        for limit in limits {
            if !self.is_within(*limit) {
                errors.add(path, limit.message());
            }
        }
    }

    /// The JSON Schema of the values that can be read.
    fn schema(named: &mut NamedSchemas) -> serde_json::Value;
}

/// The text of a string or of a query value.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) | Value::Query(text) => Some(text),
        _ => None,
    }
}

/// Returns `value`. If it is `None`, adds an error.
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

    fn check_parts(&self, path: Path<'_>, errors: &mut FieldErrors) {
        if self.contains('\0') {
            errors.add(path, CONTAINS_NUL);
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        text_without_nul()
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

    fn is_within(&self, limit: NoLimit) -> bool {
        match limit {}
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "boolean"})
    }
}

/// Reads an exact decimal number.
pub(crate) fn read_decimal(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Decimal> {
    let parsed = match value {
        Value::Number(text) | Value::Query(text) => text.parse(),
        _ => Err(ParseDecimalError::NotANumber),
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

    fn is_within(&self, limit: NoLimit) -> bool {
        match limit {}
    }

    fn schema(named: &mut NamedSchemas) -> serde_json::Value {
        let texts: Vec<_> = T::ALL.iter().map(|value| value.as_str()).collect();
        named.refer_to(T::NAME, json!({"type": "string", "enum": texts}))
    }
}

/// Any JSON.
impl FormValue for serde_json::Value {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        Self::Null
    }

    fn read(value: &Value, _: Path<'_>, _: &mut FieldErrors) -> Option<Self> {
        Some(value.to_serde_json())
    }

    fn is_within(&self, limit: NoLimit) -> bool {
        match limit {}
    }

    fn check_parts(&self, path: Path<'_>, errors: &mut FieldErrors) {
        if contains_nul(self) {
            errors.add(path, CONTAINS_NUL);
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        json!({})
    }
}

/// Whether a string or a key of a JSON value contains U+0000.
fn contains_nul(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(items) => items.iter().any(contains_nul),
        serde_json::Value::Object(members) => {
            members.iter().any(|(key, value)| key.contains('\0') || contains_nul(value))
        }
        _ => false,
    }
}

impl<T: FormValue> FormValue for Vec<T> {
    type Limit = ListLimit;

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

    fn is_within(&self, limit: ListLimit) -> bool {
        match limit {
            ListLimit::MinItems(least) => self.len() >= least,
        }
    }

    fn check_parts(&self, path: Path<'_>, errors: &mut FieldErrors) {
        for (index, item) in self.iter().enumerate() {
            item.check_parts(path.entry(index), errors);
        }
    }

    fn schema(named: &mut NamedSchemas) -> serde_json::Value {
        json!({"type": "array", "items": T::schema(named)})
    }
}
