//! The JSON Schema of values, for OpenAPI.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::amount::Amount;
use super::id::{Id, Kind};
use super::secret::Secret;
use super::timestamp::Timestamp;
use crate::form::describe::PLAIN;

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
