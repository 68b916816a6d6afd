//! Reads the fields of a JSON object or a query string into a typed request, gathering every error with its path.

use super::change::Change;
use super::json::Value;
use crate::error::FieldErrors;
use crate::text_enum::TextEnum;

#[cfg(feature = "server")]
use super::describe::{self, Description, Presence};
#[cfg(feature = "server")]
use schemars::{Schema, SchemaGenerator, json_schema};

/// Has words for its fields, where anybody asks for them.
#[cfg(feature = "server")]
pub(crate) use schemars::JsonSchema as Documented;

#[cfg(not(feature = "server"))]
pub(crate) trait Documented {}
#[cfg(not(feature = "server"))]
impl<T> Documented for T {}

/// A type that is read from one value.
pub(crate) trait FromValue: Sized {
    /// What stands in for a required value that is missing or wrong, until the errors are reported.
    fn placeholder() -> Self;

    /// The value; where it is of the wrong kind, an error at `path` and `None`.
    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self>;

    /// Which values those are.
    #[cfg(feature = "server")]
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// A type that is read from the fields of an object.
pub(crate) trait FromFields: Documented + Sized {
    /// Reads what the type names, and ignores the rest.
    fn from_fields(fields: &mut Fields<'_>) -> Self;
}

/// Has a field written down, where that is what the reading is for.
macro_rules! describe {
    ($fields:ident, $type:ty, $name:ident, $presence:ident $(($value:expr))?) => {
        #[cfg(feature = "server")]
        if let Some(description) = $fields.description.as_mut() {
            description.note::<$type>($name, Presence::$presence $(($value))?);
        }
    };
}

/// The members of one object, with the place where errors go.
pub(crate) struct Fields<'a> {
    members: &'a [(String, Value)],
    path: &'a str,
    errors: &'a mut FieldErrors,
    /// Where it is written down what is read.
    #[cfg(feature = "server")]
    description: Option<&'a mut Description>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(members: &'a [(String, Value)], path: &'a str, errors: &'a mut FieldErrors) -> Self {
        Self {
            members,
            path,
            errors,
            #[cfg(feature = "server")]
            description: None,
        }
    }

    /// The members of no object: what would be read is written down.
    #[cfg(feature = "server")]
    pub(super) fn describing(description: &'a mut Description, errors: &'a mut FieldErrors) -> Self {
        Self { members: &[], path: "", errors, description: Some(description) }
    }

    /// A field that must be there and is not null.
    pub(crate) fn required<T: FromValue>(&mut self, name: &str) -> T {
        describe!(self, T, name, Required);
        match self.find(name) {
            Some(value) => self.read(name, value),
            None => {
                let path = self.path_of(name);
                self.errors.add(path, "is required");
                None
            }
        }
        .unwrap_or_else(T::placeholder)
    }

    /// A field that may be missing, but not null.
    pub(crate) fn optional<T: FromValue>(&mut self, name: &str) -> Option<T> {
        describe!(self, T, name, Optional);
        self.given(name)
    }

    /// A field that may be missing, but not null; what stands in for it where it is missing.
    pub(crate) fn or_default<T: FromValue + serde::Serialize>(&mut self, name: &str, default: T) -> T {
        describe!(self, T, name, Defaulted(serde_json::to_value(&default).unwrap_or_default()));
        self.given(name).unwrap_or(default)
    }

    fn given<T: FromValue>(&mut self, name: &str) -> Option<T> {
        self.find(name).and_then(|value| self.read(name, value))
    }

    /// A field that may be missing or null, which is the same.
    pub(crate) fn nullable<T: FromValue>(&mut self, name: &str) -> Option<T> {
        describe!(self, T, name, Nullable);
        self.find(name).filter(|value| **value != Value::Null).and_then(|value| self.read(name, value))
    }

    /// A field of an update that is left alone where it is missing, and cannot be null.
    pub(crate) fn change<T: FromValue>(&mut self, name: &str) -> Change<T> {
        self.optional(name).map_or(Change::Keep, Change::Set)
    }

    /// A field of an update that is left alone where it is missing, and cleared by null.
    pub(crate) fn change_nullable<T: FromValue>(&mut self, name: &str) -> Change<Option<T>> {
        describe!(self, T, name, Nullable);
        match self.find(name) {
            None => Change::Keep,
            Some(Value::Null) => Change::Set(None),
            Some(value) => self.read(name, value).map_or(Change::Keep, |value| Change::Set(Some(value))),
        }
    }

    fn find(&mut self, name: &str) -> Option<&'a Value> {
        let mut found = self.members.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
        let (first, second) = (found.next(), found.next());
        if second.is_some() {
            let path = self.path_of(name);
            self.errors.add(path, "is given more than once");
        }
        first
    }

    fn read<T: FromValue>(&mut self, name: &str, value: &Value) -> Option<T> {
        let path = self.path_of(name);
        T::from_value(value, &path, self.errors)
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// Reads an object whose fields `T` names; an error and the reading of an empty object where it is none.
pub(crate) fn read_object<T: FromFields>(value: &Value, path: &str, errors: &mut FieldErrors) -> T {
    let members = match value {
        Value::Object(members) => members.as_slice(),
        _ => {
            errors.add(path, "must be an object");
            &[]
        }
    };
    T::from_fields(&mut Fields::new(members, path, errors))
}

/// A value that is there, or an error with this message.
pub(crate) fn or_error<T>(value: Option<T>, path: &str, errors: &mut FieldErrors, message: &str) -> Option<T> {
    if value.is_none() {
        errors.add(path, message);
    }
    value
}

/// The text of a string or of a query value.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) | Value::Query(text) => Some(text),
        _ => None,
    }
}

/// Makes a type with fields one of the values that a field may have.
macro_rules! object_value {
    ($name:ty) => {
        impl $crate::form::fields::FromValue for $name {
            fn placeholder() -> Self {
                $crate::form::fields::blank()
            }

            fn from_value(
                value: &$crate::form::json::Value,
                path: &str,
                errors: &mut $crate::error::FieldErrors,
            ) -> Option<Self> {
                Some($crate::form::fields::read_object(value, path, errors))
            }

            #[cfg(feature = "server")]
            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::form::describe::named_object::<$name>(generator)
            }
        }
    };
}

pub(crate) use object_value;

/// The reading of an object without members.
pub(crate) fn blank<T: FromFields>() -> T {
    T::from_fields(&mut Fields::new(&[], "", &mut FieldErrors::default()))
}

impl FromValue for String {
    fn placeholder() -> Self {
        Self::new()
    }

    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        or_error(text(value).map(str::to_owned), path, errors, "must be a string")
    }

    #[cfg(feature = "server")]
    fn schema(_: &mut SchemaGenerator) -> Schema {
        describe::plain_text()
    }
}

impl FromValue for bool {
    fn placeholder() -> Self {
        false
    }

    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        let read = match value {
            Value::Bool(value) => Some(*value),
            Value::Query(text) => text.parse().ok(),
            _ => None,
        };
        or_error(read, path, errors, "must be true or false")
    }

    #[cfg(feature = "server")]
    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "boolean"})
    }
}

impl<T: TextEnum> FromValue for T {
    fn placeholder() -> Self {
        T::ALL[0]
    }

    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        let read = text(value).and_then(T::from_text);
        if read.is_none() {
            let allowed: Vec<_> = T::ALL.iter().map(|value| value.as_str()).collect();
            errors.add(path, format!("must be one of {}", allowed.join(", ")));
        }
        read
    }

    #[cfg(feature = "server")]
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        describe::named_enum::<T>(generator)
    }
}

impl FromValue for serde_json::Value {
    fn placeholder() -> Self {
        Self::Null
    }

    fn from_value(value: &Value, _: &str, _: &mut FieldErrors) -> Option<Self> {
        Some(value.to_free_json())
    }

    #[cfg(feature = "server")]
    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn placeholder() -> Self {
        Self::new()
    }

    fn from_value(value: &Value, path: &str, errors: &mut FieldErrors) -> Option<Self> {
        let Value::Array(items) = value else {
            return or_error(None, path, errors, "must be an array");
        };
        let read = |(index, item)| {
            let item = T::from_value(item, &format!("{path}[{index}]"), errors);
            item.unwrap_or_else(T::placeholder)
        };
        Some(items.iter().enumerate().map(read).collect())
    }

    #[cfg(feature = "server")]
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": T::schema(generator)})
    }
}
