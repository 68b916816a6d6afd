//! JSON Schema of requests, for the OpenAPI document.

use serde_json::{Map, Value, json};

/// The pattern of a text without U+0000. Not all regular expressions of clients have the escape `\u0000`.
pub(crate) const NO_NUL_PATTERN: &str = r"^[^\x00]*$";

/// The schemas that are referred to by name, as the components of an OpenAPI document.
#[derive(Debug, Default)]
pub(crate) struct NamedSchemas(Map<String, Value>);

impl NamedSchemas {
    /// Keeps a schema and returns a reference to it.
    pub(crate) fn refer_to(&mut self, name: &str, schema: Value) -> Value {
        self.0.insert(name.to_owned(), schema);
        json!({"$ref": format!("#/components/schemas/{name}")})
    }

    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.0
    }
}

/// The pattern of a text without control characters of ASCII other than white space, which is cut off at the ends.
pub(crate) const WRITTEN_PATTERN: &str = r"^[^\x00-\x08\x0e-\x1f\x7f]*$";

/// Builds the schema of an object, field by field.
#[derive(Debug)]
pub(crate) struct ObjectSchema<'a> {
    pub(crate) named: &'a mut NamedSchemas,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl<'a> ObjectSchema<'a> {
    pub(crate) fn new(named: &'a mut NamedSchemas) -> Self {
        Self { named, properties: Map::new(), required: Vec::new() }
    }

    /// Adds a field that may be absent.
    pub(crate) fn optional(&mut self, name: &str, schema: Value) {
        self.properties.insert(name.to_owned(), schema);
    }

    /// Adds a field that must be present.
    pub(crate) fn required(&mut self, name: &str, schema: Value) {
        self.required.push(name.into());
        self.optional(name, schema);
    }

    /// Returns the schema of the object, with this title and doc comment.
    pub(crate) fn finish(self, title: &str, doc: &str) -> Value {
        let mut schema = json!({"title": title, "type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        add_description(&mut schema, doc);
        schema
    }
}

/// Adds a doc comment to a schema as its description. Joins the lines of each paragraph.
pub(crate) fn add_description(schema: &mut Value, doc: &str) {
    let mut text = String::new();
    for line in doc.lines().map(str::trim) {
        match line {
            "" => text.push_str("\n\n"),
            line if text.is_empty() || text.ends_with('\n') => text.push_str(line),
            line => {
                text.push(' ');
                text.push_str(line);
            }
        }
    }
    let text = text.trim();
    if !text.is_empty() {
        schema["description"] = text.into();
    }
}

/// Returns the schema of a text without U+0000.
pub(crate) fn text_without_nul() -> Value {
    json!({"type": "string", "pattern": NO_NUL_PATTERN})
}

/// Returns a schema that allows null in addition to the values of `schema`.
pub(crate) fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema["type"].as_str() {
        schema["type"] = json!([kind, "null"]);
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}
