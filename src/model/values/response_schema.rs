//! The JSON Schema of values in responses, for the OpenAPI document.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::amount::Amount;
use super::id::{Id, Kind};
use super::secret::Secret;
use super::timestamp::Timestamp;

macro_rules! inline_schemas {
    ($($type:ident $schema:tt;)+) => {
        $(impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })+
    };
}

inline_schemas! {
    Amount {"type": "number"};
    Timestamp {"type": "string", "format": "date-time"};
    Secret {"type": "string"};
}

impl<K: Kind> JsonSchema for Id<K> {
    fn schema_name() -> Cow<'static, str> {
        K::ID.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Self::json_schema().try_into().unwrap_or_default()
    }
}
