//! Reads the headers `Idempotency-Key` and `If-Match`.

use axum::http::header::IF_MATCH;
use axum::http::{HeaderMap, Method};

use super::operation::Operation;
use super::problem::Problem;
use crate::model::caller::Caller;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Adds the conditions in the headers to the caller. A header that does not apply to the operation is ignored.
pub(super) fn apply(caller: Caller, operation: &Operation, headers: &HeaderMap) -> Result<Caller, Problem> {
    if operation.idempotent {
        return with_idempotency_key(caller, headers);
    }
    match operation.method {
        Method::PATCH | Method::DELETE => Ok(with_revisions(caller, headers)),
        _ => Ok(caller),
    }
}

fn with_idempotency_key(caller: Caller, headers: &HeaderMap) -> Result<Caller, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(caller) };
    let key = value.to_str().ok().and_then(|text| text.parse().ok());
    match (key, values.next()) {
        (Some(key), None) => Ok(caller.with_idempotency_key(key)),
        _ => Err(Problem::malformed(
            "the header Idempotency-Key must occur once, with 1 to 255 visible ASCII characters",
        )),
    }
}

/// `*` matches any revision. A tag that is not a revision matches none; so does a weak one, because `If-Match` compares
/// strongly (RFC 9110, 13.1.1).
fn with_revisions(caller: Caller, headers: &HeaderMap) -> Caller {
    let mut values = headers.get_all(IF_MATCH).iter().peekable();
    if values.peek().is_none() {
        return caller;
    }
    let tags: Vec<&str> =
        values.flat_map(|value| value.to_str().unwrap_or_default().split(',')).map(str::trim).collect();
    if tags.contains(&"*") {
        return caller;
    }
    caller.if_match(tags.into_iter().filter_map(revision))
}

/// The revision in a tag. Only the exact text that is sent as `ETag` is accepted.
fn revision(tag: &str) -> Option<i64> {
    let number: i64 = tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
    (format!("\"{number}\"") == tag).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_text_of_an_etag_is_a_revision() {
        assert_eq!(revision("\"3\""), Some(3));
        for tag in ["3", "\"03\"", "\"+3\"", "W/\"3\"", "\"\"", "\"x\"", "\"3", "\" 3\"", "\"99999999999999999999\""] {
            assert_eq!(revision(tag), None, "{tag}");
        }
    }
}
