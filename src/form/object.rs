//! Objects: requests and their parts, which are read field by field.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{SerializeMap, Serializer};

use super::declare::schema::{NamedSchemas, ObjectSchema};
use super::json::Value;
use super::path::Path;
use super::value::FormValue;
use crate::error::FieldErrors;

/// A type that is read from the fields of an object. The macro [`form!`](super::declare::fields::form) implements it.
pub(crate) trait Form: Sized {
    /// The name of the type in the OpenAPI document.
    const NAME: &'static str;

    /// The doc comment of the type.
    const DOC: &'static str;

    /// Reads the fields of this type and ignores all others.
    fn read_fields(object: &mut ObjectReader<'_>) -> Self;

    /// Brings the fields into their normal form, as [`FormValue::check`] does, and adds their errors.
    fn check_fields(&mut self, path: Path<'_>, errors: &mut FieldErrors);

    /// Writes the fields of this type, except for those that are absent.
    fn write_fields<M: SerializeMap>(&self, object: &mut M) -> Result<(), M::Error>;

    /// Adds the fields of this type to a schema.
    fn describe_fields(object: &mut ObjectSchema<'_>);

    /// The result of reading an object without members: required fields have placeholders, all others are absent.
    fn blank() -> Self {
        Self::read_fields(&mut ObjectReader::new(&[], Path::Root, &mut FieldErrors::default()))
    }
}

/// The members of an object that is read, and the errors so far.
pub(crate) struct ObjectReader<'a> {
    members: &'a [(String, Value)],
    pub(crate) path: Path<'a>,
    pub(crate) errors: &'a mut FieldErrors,
}

impl<'a> ObjectReader<'a> {
    pub(crate) fn new(members: &'a [(String, Value)], path: Path<'a>, errors: &'a mut FieldErrors) -> Self {
        Self { members, path, errors }
    }

    /// The value of the field `name`. Adds an error if the object has the field more than once.
    pub(crate) fn find(&mut self, name: &str) -> Option<&'a Value> {
        let mut found = self.members.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
        let first = found.next();
        if found.next().is_some() {
            self.errors.add(self.path.field(name), "is given more than once");
        }
        first
    }

    /// Reads the value of the field `name`, which has these limits.
    pub(crate) fn read_value<T: FormValue>(&mut self, name: &str, limits: &[T::Limit], value: &Value) -> Option<T> {
        T::read_within(value, limits, self.path.field(name), self.errors)
    }
}

/// Reads an object. Any other value is an error, and read as an object without members.
pub(crate) fn read<T: Form>(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> T {
    let members = match value {
        Value::Object(members) => members.as_slice(),
        _ => {
            errors.add(path, "must be an object");
            &[]
        }
    };
    T::read_fields(&mut ObjectReader::new(members, path, errors))
}

pub(crate) fn serialize<T: Form, S: Serializer>(form: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(None)?;
    form.write_fields(&mut object)?;
    object.end()
}

/// Deserializes a form. The error names every field that is missing or of the wrong kind. Limits are not checked.
pub(crate) fn deserialize<'de, T: Form, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let mut errors = FieldErrors::default();
    let form = read(&value, Path::Root, &mut errors);
    if errors.is_empty() { Ok(form) } else { Err(D::Error::custom(errors)) }
}

/// The JSON Schema of the objects that are read as a `T`.
pub(crate) fn schema<T: Form>(named: &mut NamedSchemas) -> serde_json::Value {
    let mut object = ObjectSchema::new(named);
    T::describe_fields(&mut object);
    object.finish(T::NAME, T::DOC)
}

/// A reference to the JSON Schema of the objects that are read as a `T`.
pub(crate) fn reference<T: Form>(named: &mut NamedSchemas) -> serde_json::Value {
    let schema = schema::<T>(named);
    named.refer_to(T::NAME, schema)
}
