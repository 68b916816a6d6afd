//! Expected responses. Their types are non-exhaustive, so that no test can write them as a struct literal.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads an expected response from its whole JSON, every field included.
#[track_caller]
pub fn from_json<T: Serialize + DeserializeOwned + Debug>(json: Value) -> T {
    let response = serde_json::from_value(json.clone()).expect("the JSON of a response");
    assert_eq!(serde_json::to_value(&response).expect("JSON"), json, "{response:?}");
    response
}

/// Returns the JSON of a response without some of its fields.
pub fn json_without(response: &impl Serialize, fields: &[&str]) -> Value {
    let mut json = serde_json::to_value(response).expect("JSON");
    let members = json.as_object_mut().expect("an object");
    members.retain(|name, _| !fields.contains(&name.as_str()));
    json
}

/// A response with other values of some fields: `with!(event, title = "Jazz".to_owned(), revision = 2)`.
#[macro_export]
macro_rules! with {
    ($response:expr, $($field:ident = $value:expr),+ $(,)?) => {{
        let ($($field,)+) = ($($value,)+);
        let mut response = $response;
        $(response.$field = $field;)+
        response
    }};
}

pub use serde_json::json;
pub use with;
