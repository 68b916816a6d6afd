//! What requests and answers look like, as JSON Schema. Of a request, it is the code that reads it that tells its fields,
//! so that none is read otherwise than it is described; the words come from the documentation of the types.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::amount::Amount;
use super::change::Change;
use super::fields::{Fields, FromFields, FromValue};
use super::id::{Id, Kind};
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::error::FieldErrors;

/// What a string of a request may hold: anything but U+0000.
pub(crate) const PLAIN: &str = r"^[^\u0000]*$";

/// What is written down while a request is described.
#[derive(Debug)]
pub(crate) struct Description {
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

/// Whether a field has to be there, and what stands in for it where it is not.
#[derive(Debug)]
pub(crate) enum Presence {
    Required,
    Optional,
    Nullable,
    Defaulted(Value),
}

impl Description {
    /// Writes down that a field is read.
    pub(super) fn note<T: FromValue>(&mut self, name: &str, presence: Presence) {
        let mut schema = T::schema(&mut self.generator);
        match presence {
            Presence::Required => self.required.push(name.into()),
            Presence::Optional => {}
            Presence::Nullable => schema = or_null(schema),
            Presence::Defaulted(value) => drop(schema.insert("default".to_owned(), value)),
        }
        self.properties.insert(name.to_owned(), schema.to_value());
    }
}

/// The same, or null.
fn or_null(mut schema: Schema) -> Schema {
    match schema.get("type").cloned() {
        Some(Value::String(kind)) => {
            schema.insert("type".to_owned(), json!([kind, "null"]));
            schema
        }
        _ => json_schema!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// The object that is read as a `T`.
pub(crate) fn object<T: FromFields>(generator: &mut SchemaGenerator) -> Schema {
    let words = T::json_schema(&mut SchemaGenerator::default());
    let lent = std::mem::take(generator);
    let mut description = Description { generator: lent, properties: Map::new(), required: Vec::new() };
    T::from_fields(&mut Fields::describing(&mut description, &mut FieldErrors::default()));
    let Description { generator: returned, mut properties, required } = description;
    *generator = returned;
    for (name, field) in &mut properties {
        if let Some(said) = words.pointer(&format!("/properties/{name}/description")) {
            field["description"] = said.clone();
        }
    }
    let mut schema = json_schema!({"title": T::schema_name(), "type": "object", "properties": properties});
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    if let Some(said) = words.get("description") {
        schema.insert("description".to_owned(), said.clone());
    }
    schema
}

/// The same by its name, under which the generator keeps it.
pub(crate) fn named_object<T: FromFields>(generator: &mut SchemaGenerator) -> Schema {
    let name = T::schema_name().into_owned();
    let schema = object::<T>(generator);
    generator.definitions_mut().insert(name.clone(), schema.to_value());
    Schema::new_ref(format!("#/components/schemas/{name}"))
}

/// A text in a request.
pub(crate) fn plain_text() -> Schema {
    json_schema!({"type": "string", "pattern": PLAIN})
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number"})
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// It is always written with milliseconds, and read with or without them. It is also read without seconds, which is
    /// not told: RFC 3339, and with it the format, has no such instants.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let end =
            if generator.contract().is_serialize() { r":[0-5][0-9]\.[0-9]{3}" } else { r":[0-5][0-9](\.[0-9]+)?" };
        let date = "(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
        let pattern = format!("^{date}T([01][0-9]|2[0-3]):[0-5][0-9]{end}Z$");
        json_schema!({"type": "string", "format": "date-time", "pattern": pattern})
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Id", K::PREFIX).into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Any text is read as an id, and most of them name nothing.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            json_schema!({"type": "string", "pattern": format!("^{}_[0-7][0-9A-HJKMNP-TV-Z]{{12}}$", K::PREFIX)})
        } else {
            json_schema!({"type": "string", "minLength": 1, "pattern": PLAIN})
        }
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
