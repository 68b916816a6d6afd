//! The JSON Schema of values in responses, for the OpenAPI document.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::amount::Amount;
use super::id::{Id, Kind};
use super::secret::Secret;
use super::timestamp::{TO_THE_MINUTE, Timestamp};

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

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!(r"^{TO_THE_MINUTE}:[0-5][0-9]\.[0-9]{{3}}Z$");
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

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": format!("^{}_[0-7][0-9A-HJKMNP-TV-Z]{{12}}$", K::PREFIX)})
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
