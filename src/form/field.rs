//! Fields of a request: required, optional, nullable, or a change.

use serde::ser::SerializeMap;

use super::change::Change;
use super::declare::schema::{ObjectSchema, add_description, or_null};
use super::json::Value;
use super::limits::Limit;
use super::object::ObjectReader;
use super::path::Path;
use super::text::IS_REQUIRED;
use super::value::FormValue;
use crate::error::FieldErrors;

/// The declaration of a field in a form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<L: 'static> {
    /// The name in JSON.
    pub(crate) name: &'static str,
    /// The doc comment.
    pub(crate) doc: &'static str,
    pub(crate) limits: &'static [L],
    /// Whether an optional field may be null, which means the same as absent.
    pub(crate) is_nullable: bool,
    /// The value of an absent field, for the OpenAPI document.
    pub(crate) default: Option<fn() -> serde_json::Value>,
}

impl<L: Limit> Field<L> {
    pub(crate) const fn new(name: &'static str, doc: &'static str, limits: &'static [L]) -> Self {
        Self { name, doc, limits, is_nullable: false, default: None }
    }

    pub(crate) const fn nullable(self) -> Self {
        Self { is_nullable: true, ..self }
    }

    pub(crate) const fn with_default(self, default: fn() -> serde_json::Value) -> Self {
        Self { default: Some(default), ..self }
    }

    fn schema<T: FormValue<Limit = L>>(&self, object: &mut ObjectSchema<'_>, is_nullable: bool) -> serde_json::Value {
        let mut schema = T::schema(object.named);
        for limit in self.limits {
            limit.describe(&mut schema);
        }
        if is_nullable {
            schema = or_null(schema);
        }
        match self.default {
            Some(default) => add_description(&mut schema, &with_default(self.doc, &default())),
            None => add_description(&mut schema, self.doc),
        }
        schema
    }
}

/// Returns a doc comment that ends with the default of the field. The schema does not have the keyword `default`: some
/// generators of clients make every field with it a required one.
fn with_default(doc: &str, default: &serde_json::Value) -> String {
    let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
    format!("{}\nDefault: `{default}`.", doc.trim_end())
}

/// The type of a field of a form. It decides whether the field may be absent or null:
///
/// | type | absent | null |
/// |---|---|---|
/// | `T` | an error | an error |
/// | `Option<T>` | `None` | an error; `None` if the field is nullable |
/// | `Change<T>` | `Keep` | an error |
/// | `Change<Option<T>>` | `Keep` | `Set(None)` |
pub(crate) trait FormField: Sized {
    /// What can limit the field.
    type Limit: 'static;

    /// Reads the field from an object and adds its errors.
    fn read(object: &mut ObjectReader<'_>, field: &Field<Self::Limit>) -> Self;

    /// Brings the field of the object at `path` into its normal form, as [`FormValue::check`] does, and adds its errors.
    fn check(&mut self, field: &Field<Self::Limit>, path: Path<'_>, errors: &mut FieldErrors);

    /// Writes the field as a member of its object, unless it is absent.
    fn write<M: SerializeMap>(&self, object: &mut M, field: &Field<Self::Limit>) -> Result<(), M::Error>;

    fn describe(object: &mut ObjectSchema<'_>, field: &Field<Self::Limit>);
}

impl<T: FormValue> FormField for T {
    type Limit = T::Limit;

    fn read(object: &mut ObjectReader<'_>, field: &Field<T::Limit>) -> Self {
        let read = match object.find(field.name) {
            Some(value) => object.read_value(field.name, field.limits, value),
            None => {
                object.errors.add(object.path.field(field.name), IS_REQUIRED);
                None
            }
        };
        read.unwrap_or_else(T::placeholder)
    }

    fn check(&mut self, field: &Field<T::Limit>, path: Path<'_>, errors: &mut FieldErrors) {
        if self.is_missing() {
            errors.add(path.field(field.name), IS_REQUIRED);
        }
        FormValue::check(self, field.limits, path.field(field.name), errors);
    }

    fn write<M: SerializeMap>(&self, object: &mut M, field: &Field<T::Limit>) -> Result<(), M::Error> {
        if self.is_missing() { Ok(()) } else { object.serialize_entry(field.name, self) }
    }

    fn describe(object: &mut ObjectSchema<'_>, field: &Field<T::Limit>) {
        let is_nullable = false;
        let schema = field.schema::<T>(object, is_nullable);
        object.required(field.name, schema);
    }
}

impl<T: FormValue> FormField for Option<T> {
    type Limit = T::Limit;

    fn read(object: &mut ObjectReader<'_>, field: &Field<T::Limit>) -> Self {
        match object.find(field.name)? {
            Value::Null if field.is_nullable => None,
            value => object.read_value(field.name, field.limits, value),
        }
    }

    fn check(&mut self, field: &Field<T::Limit>, path: Path<'_>, errors: &mut FieldErrors) {
        if let Some(value) = self {
            FormValue::check(value, field.limits, path.field(field.name), errors);
        }
    }

    fn write<M: SerializeMap>(&self, object: &mut M, field: &Field<T::Limit>) -> Result<(), M::Error> {
        match self {
            None => Ok(()),
            Some(value) => object.serialize_entry(field.name, value),
        }
    }

    fn describe(object: &mut ObjectSchema<'_>, field: &Field<T::Limit>) {
        let schema = field.schema::<T>(object, field.is_nullable);
        object.optional(field.name, schema);
    }
}

impl<T: FormValue> FormField for Change<T> {
    type Limit = T::Limit;

    fn read(object: &mut ObjectReader<'_>, field: &Field<T::Limit>) -> Self {
        Option::<T>::read(object, field).map_or(Self::Keep, Self::Set)
    }

    fn check(&mut self, field: &Field<T::Limit>, path: Path<'_>, errors: &mut FieldErrors) {
        if let Self::Set(value) = self {
            FormValue::check(value, field.limits, path.field(field.name), errors);
        }
    }

    fn write<M: SerializeMap>(&self, object: &mut M, field: &Field<T::Limit>) -> Result<(), M::Error> {
        match self {
            Self::Keep => Ok(()),
            Self::Set(value) => object.serialize_entry(field.name, value),
        }
    }

    fn describe(object: &mut ObjectSchema<'_>, field: &Field<T::Limit>) {
        Option::<T>::describe(object, field);
    }
}

impl<T: FormValue> FormField for Change<Option<T>> {
    type Limit = T::Limit;

    fn read(object: &mut ObjectReader<'_>, field: &Field<T::Limit>) -> Self {
        match object.find(field.name) {
            None => Self::Keep,
            Some(Value::Null) => Self::Set(None),
            Some(value) => {
                object.read_value(field.name, field.limits, value).map_or(Self::Keep, |value: T| Self::Set(Some(value)))
            }
        }
    }

    fn check(&mut self, field: &Field<T::Limit>, path: Path<'_>, errors: &mut FieldErrors) {
        if let Self::Set(value) = self {
            FormField::check(value, field, path, errors);
        }
    }

    fn write<M: SerializeMap>(&self, object: &mut M, field: &Field<T::Limit>) -> Result<(), M::Error> {
        match self {
            Self::Keep => Ok(()),
            Self::Set(value) => object.serialize_entry(field.name, value),
        }
    }

    fn describe(object: &mut ObjectSchema<'_>, field: &Field<T::Limit>) {
        let is_nullable = true;
        let schema = field.schema::<T>(object, is_nullable);
        object.optional(field.name, schema);
    }
}
