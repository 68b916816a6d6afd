//! What operations were asked and answered in a run that a test repeats.

use std::sync::LazyLock;

use serde_json::Value;

static EXAMPLES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// The `request`, the `response` or the `path` of an operation.
pub(super) fn of(operation: &str, part: &str) -> Option<Value> {
    EXAMPLES.get(operation)?.get(part).cloned()
}

/// What a path of this form had in the place of a parameter.
pub(super) fn of_parameter(operation: &str, template: &str, parameter: &str) -> Option<Value> {
    let path = of(operation, "path")?;
    let place = template
        .split('/')
        .position(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) == Some(parameter))?;
    path.as_str()?.split(['/', '?']).nth(place).map(Value::from)
}
