//! Free JSON: fields that accept any JSON, up to a size and a depth.

use serde_json::{Value as Json, json};

use super::declare::schema::NamedSchemas;
use super::json::Value;
use super::limits::NoLimit;
use super::path::Path;
use super::text::CONTAINS_NUL;
use super::value::FormValue;
use crate::error::FieldErrors;

/// The greatest size, in bytes of compact JSON.
const MAX_BYTES: usize = 16 * 1024;

/// The greatest depth to which arrays and objects may nest.
const MAX_DEPTH: usize = 32;

impl FormValue for Json {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        Self::Null
    }

    /// Does not convert a value that is far too large.
    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        if bytes_left(value, MAX_BYTES).is_none() {
            errors.add(path, too_large());
            return None;
        }
        Some(value.to_serde_json())
    }

    /// Replaces a value that nests so deep that recursive functions, such as `clone` and `drop`, could overflow the
    /// stack.
    fn check_parts(&mut self, _: &[NoLimit], path: Path<'_>, errors: &mut FieldErrors) {
        if nests_deeper_than(self, MAX_DEPTH) {
            errors.add(path, format!("must nest at most {MAX_DEPTH} levels deep"));
            take_apart(self.take());
        } else if contains_nul(self) {
            errors.add(path, CONTAINS_NUL);
        } else if is_longer_than(self, MAX_BYTES) {
            errors.add(path, too_large());
        }
    }

    fn schema(_: &mut NamedSchemas) -> Json {
        json!({})
    }
}

fn too_large() -> String {
    format!("must have at most {MAX_BYTES} bytes as JSON")
}

/// What is left of `bytes` after the strings of a value and one byte for each value in it: a lower bound of its size.
/// `None` if it has more.
fn bytes_left(value: &Value, bytes: usize) -> Option<usize> {
    let left = bytes.checked_sub(1)?;
    match value {
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(items) => items.iter().try_fold(left, |left, item| bytes_left(item, left)),
        Value::Object(members) => {
            members.iter().try_fold(left, |left, (key, value)| bytes_left(value, left.checked_sub(key.len())?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Query(_) => Some(left),
    }
}

/// Whether arrays and objects nest deeper than `levels`. Does not recurse, because a value that a program has built may
/// nest deeper than the stack allows.
pub(crate) fn nests_deeper_than(value: &Json, levels: usize) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, outer)) = open.pop() {
        if matches!(value, Json::Array(_) | Json::Object(_)) && outer >= levels {
            return true;
        }
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, outer + 1))),
            Json::Object(members) => open.extend(members.values().map(|member| (member, outer + 1))),
            _ => {}
        }
    }
    false
}

/// Drops a value of any depth. The destructor of [`serde_json::Value`] recurses.
pub(crate) fn take_apart(value: Json) {
    let mut parts = vec![value];
    while let Some(part) = parts.pop() {
        match part {
            Json::Array(items) => parts.extend(items),
            Json::Object(members) => parts.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

/// Whether a string or a key of a JSON value contains U+0000. The value must not nest deep.
fn contains_nul(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains('\0'),
        Json::Array(items) => items.iter().any(contains_nul),
        Json::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || contains_nul(value)),
        _ => false,
    }
}

/// Whether the compact JSON of a value has more than `most` bytes. The value must not nest deep.
fn is_longer_than(value: &Json, most: usize) -> bool {
    serde_json::to_writer(BytesLeft(most), value).is_err()
}

/// A writer that fails after this many bytes.
struct BytesLeft(usize);

impl std::io::Write for BytesLeft {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
