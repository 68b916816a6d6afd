//! Metadata: strings that an organization attaches to a resource.

use std::collections::BTreeMap;

use serde_json::json;

use super::declare::schema::{NamedSchemas, text_without_nul};
use super::json::Value;
use super::limits::NoLimit;
use super::path::Path;
use super::text::CONTAINS_NUL;
use super::value::FormValue;
use crate::error::FieldErrors;

const MAX_NAME_LENGTH: usize = 255;
const MAX_BYTES: usize = 16 * 1024;

/// Metadata: see [`Metadata`](crate::Metadata).
impl FormValue for BTreeMap<String, String> {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        Self::new()
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let Value::Object(members) = value else {
            errors.add(path, "must be an object whose values are strings");
            return None;
        };
        let mut metadata = Self::new();
        for (name, value) in members {
            match value {
                Value::String(text) => {
                    if metadata.insert(name.clone(), text.clone()).is_some() {
                        errors.add(path.field(&shown(name)), "is given more than once");
                    }
                }
                _ => errors.add(path.field(&shown(name)), "must be a string"),
            }
        }
        Some(metadata)
    }

    fn check_parts(&mut self, _: &[NoLimit], path: Path<'_>, errors: &mut FieldErrors) {
        let has_allowed_length = |name: &String| !name.is_empty() && name.chars().count() <= MAX_NAME_LENGTH;
        let bytes: usize = self.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_BYTES {
            errors.add(path, format!("must have at most {MAX_BYTES} bytes, names and values together"));
        }
        if !self.keys().all(has_allowed_length) {
            errors.add(path, format!("must have names of 1 to {MAX_NAME_LENGTH} characters"));
        }
        errors.check(!self.keys().any(|name| name.contains('\0')), path, "must have names without U+0000");
        for (name, value) in &*self {
            if value.contains('\0') {
                errors.add(path.field(&shown(name)), CONTAINS_NUL);
            }
        }
    }

    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        let mut name = text_without_nul();
        name["minLength"] = json!(1);
        name["maxLength"] = json!(MAX_NAME_LENGTH);
        json!({"type": "object", "propertyNames": name, "additionalProperties": text_without_nul()})
    }
}

/// A name in the path of an error. A client chooses it, so it is cut.
fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME_LENGTH).collect()
}
