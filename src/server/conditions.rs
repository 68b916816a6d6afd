//! The conditions that a request's headers put on its operation: done once for a key, or only at a revision.

use axum::http::header::IF_MATCH;
use axum::http::{HeaderMap, Method};

use super::operation::Operation;
use super::problem::Problem;
use crate::model::caller::Caller;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The caller with the conditions that concern the operation; a header that does not concern it is ignored.
pub(super) fn lay_on(caller: Caller, operation: &Operation, headers: &HeaderMap) -> Result<Caller, Problem> {
    if operation.once {
        return with_key(caller, headers);
    }
    match operation.method {
        Method::PATCH | Method::DELETE => Ok(with_revisions(caller, headers)),
        _ => Ok(caller),
    }
}

fn with_key(caller: Caller, headers: &HeaderMap) -> Result<Caller, Problem> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(caller) };
    let key = key.to_str().ok().and_then(|key| key.parse().ok()).filter(|_| keys.next().is_none());
    let malformed = || Problem::malformed("an Idempotency-Key has 1 to 255 visible ASCII characters, and comes once");
    key.map(|key| caller.with_idempotency_key(key)).ok_or_else(malformed)
}

/// `*` asks for no more than that the resource exists. Every other tag than the one of a revision matches none: a weak
/// one, too, as RFC 9110 (13.1.1) has it.
fn with_revisions(caller: Caller, headers: &HeaderMap) -> Caller {
    let mut tags = headers.get_all(IF_MATCH).iter().peekable();
    if tags.peek().is_none() {
        return caller;
    }
    let tags: Vec<&str> = tags.flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(str::trim).collect();
    if tags.contains(&"*") {
        return caller;
    }
    caller.if_match(tags.into_iter().filter_map(revision))
}

/// The revision that a tag names: written as it is in an `ETag`, and no other way.
fn revision(tag: &str) -> Option<i64> {
    let number: i64 = tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
    (format!("\"{number}\"") == tag).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_a_revision_as_it_was_written() {
        assert_eq!(revision("\"3\""), Some(3));
        for tag in ["3", "\"03\"", "\"+3\"", "W/\"3\"", "\"\"", "\"x\"", "\"3", "\" 3\"", "\"99999999999999999999\""] {
            assert_eq!(revision(tag), None, "{tag}");
        }
    }
}
