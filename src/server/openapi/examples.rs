//! Example requests and responses of the operations. `tests/it/http/openapi_examples.rs` records them from a running server.

use std::sync::LazyLock;

use serde_json::Value;

static EXAMPLES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// The `request`, the `minimal` request, the `response` or the `path` in the example of an operation.
pub(super) fn of(operation: &str, part: &str) -> Option<Value> {
    EXAMPLES.get(operation)?.get(part).cloned()
}

/// The value of a path parameter in the example of an operation. `template` is the operation's path.
pub(super) fn of_parameter(operation: &str, template: &str, parameter: &str) -> Option<Value> {
    let path = of(operation, "path")?;
    let segment = template
        .split('/')
        .position(|segment| segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) == Some(parameter))?;
    path.as_str()?.split(['/', '?']).nth(segment).map(Value::from)
}
