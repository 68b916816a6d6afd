//! Reads the headers `Idempotency-Key` and `If-Match`.

use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;

use super::operation::Operation;
use crate::model::tenants::idempotency::IdempotencyKey;
use crate::server::responses::problem::Problem;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The key in `Idempotency-Key`. Operations that are not idempotent ignore it.
pub(in crate::server) fn idempotency_key(
    operation: &Operation,
    headers: &HeaderMap,
) -> Result<Option<IdempotencyKey>, Problem> {
    if !operation.idempotent {
        return Ok(None);
    }
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().and_then(|text| text.parse().ok());
    match (key, values.next()) {
        (Some(key), None) => Ok(Some(key)),
        _ => Err(Problem::malformed(
            "the header Idempotency-Key must occur once, with 1 to 255 visible ASCII characters",
        )),
    }
}

/// The revisions in `If-Match`; `None` if any revision is accepted. `*` matches any revision. A tag that is not a
/// revision matches none; so does a weak one, because `If-Match` compares strongly (RFC 9110, 13.1.1).
pub(in crate::server) fn expected_revisions(headers: &HeaderMap) -> Option<Vec<i64>> {
    let mut values = headers.get_all(IF_MATCH).iter().peekable();
    values.peek()?;
    let tags: Vec<&str> =
        values.flat_map(|value| value.to_str().unwrap_or_default().split(',')).map(str::trim).collect();
    if tags.contains(&"*") {
        return None;
    }
    Some(tags.into_iter().filter_map(revision).collect())
}

/// The revision in a tag. Only the exact text that is sent as `ETag` is accepted.
fn revision(tag: &str) -> Option<i64> {
    let number: i64 = tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
    (format!("\"{number}\"") == tag).then_some(number)
}
