//! What requests and answers look like, as JSON Schema. Of a request, it is the code that reads it that tells its fields,
//! so that none is read otherwise than it is described; the words come from the documentation of the types.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::change::Change;
use super::fields::{Fields, FromFields, FromValue};
use crate::error::FieldErrors;
use crate::text_enum::TextEnum;

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

/// The texts of an enum by its name, under which the generator keeps them.
pub(crate) fn named_enum<T: TextEnum>(generator: &mut SchemaGenerator) -> Schema {
    let texts: Vec<_> = T::ALL.iter().map(|value| value.as_str()).collect();
    generator.definitions_mut().insert(T::NAME.to_owned(), json!({"type": "string", "enum": texts}));
    Schema::new_ref(format!("#/components/schemas/{}", T::NAME))
}

/// A text in a request.
pub(crate) fn plain_text() -> Schema {
    json_schema!({"type": "string", "pattern": PLAIN})
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
