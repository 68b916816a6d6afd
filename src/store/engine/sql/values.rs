//! Values of parameters and of columns, in the types that every engine has.

use std::borrow::Cow;

use crate::enums::text_enum::TextEnum;
use crate::model::values::id::{Id, Kind};
use crate::model::values::timestamp::Timestamp;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bind<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

impl Bind<'_> {
    /// The size in bytes: 8 for a number.
    pub(in crate::store::engine) fn size(&self) -> u64 {
        match self {
            Self::Null => 0,
            Self::Int(_) => 8,
            Self::Text(text) => text.len() as u64,
            Self::Blob(bytes) => bytes.len() as u64,
        }
    }

    pub(in crate::store::engine) fn borrowed(&self) -> Bind<'_> {
        match self {
            Self::Null => Bind::Null,
            Self::Int(value) => Bind::Int(*value),
            Self::Text(text) => Bind::Text(Cow::Borrowed(text)),
            Self::Blob(bytes) => Bind::Blob(Cow::Borrowed(bytes)),
        }
    }

    #[cfg(feature = "postgres")]
    pub(in crate::store::engine) fn owned(&self) -> Bind<'static> {
        match self {
            Self::Null => Bind::Null,
            Self::Int(value) => Bind::Int(*value),
            Self::Text(text) => Bind::Text(Cow::Owned(text.clone().into_owned())),
            Self::Blob(bytes) => Bind::Blob(Cow::Owned(bytes.clone().into_owned())),
        }
    }
}

impl From<i64> for Bind<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<usize> for Bind<'_> {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Bind<'_> {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<Timestamp> for Bind<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.millis())
    }
}

impl<K: Kind> From<Id<K>> for Bind<'_> {
    fn from(id: Id<K>) -> Self {
        Self::Int(id.raw())
    }
}

impl<'a> From<&'a str> for Bind<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for Bind<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a [u8]> for Bind<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes.into())
    }
}

impl From<String> for Bind<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a, T: Into<Bind<'a>>> From<Option<T>> for Bind<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'r> {
    Null,
    Int(i64),
    /// Text. In a damaged file it may be invalid UTF-8.
    Text(&'r [u8]),
    Blob(&'r [u8]),
    /// A value of a type that no column of the schema has.
    Other,
}

impl<'r> Value<'r> {
    pub(in crate::store::engine) fn text(self) -> Result<&'r str, &'static str> {
        match self {
            Self::Text(text) => std::str::from_utf8(text).map_err(|_| "is not UTF-8"),
            _ => Err("is not text"),
        }
    }

    /// Reads a value from its text. `problem` completes the sentence "the value …" if the text is no such value.
    pub(crate) fn parsed<T>(
        self,
        parse: impl FnOnce(&str) -> Option<T>,
        problem: &'static str,
    ) -> Result<T, &'static str> {
        match self {
            Self::Text(text) => std::str::from_utf8(text).ok().and_then(parse).ok_or(problem),
            _ => Err(problem),
        }
    }
}

/// Reads a value that is stored as JSON.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(value: Value<'_>) -> Result<T, &'static str> {
    match value {
        Value::Text(text) => serde_json::from_slice(text).map_err(|_| "is not the expected JSON"),
        _ => Err("is not the expected JSON"),
    }
}

/// A type that a column can hold.
pub(crate) trait FromValue: Sized {
    /// Reads the value, or returns what is wrong with it.
    fn from_value(value: Value<'_>) -> Result<Self, &'static str>;
}

impl FromValue for i64 {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        match value {
            Value::Int(value) => Ok(value),
            _ => Err("is not an integer"),
        }
    }
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        Self::from_millis(i64::from_value(value)?).map_err(|_| "is not a time in the years 1970 to 9999")
    }
}

impl<K: Kind> FromValue for Id<K> {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        i64::from_value(value).map(Self::from_raw)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        value.text().map(str::to_owned)
    }
}

impl<T: TextEnum> FromValue for T {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        value.parsed(T::from_text, "is not one of the known values")
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Result<Self, &'static str> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}
