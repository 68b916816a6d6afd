//! Entity tags, and the header `If-None-Match`.

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, HeaderValue};

/// Whether the client has the version with this tag. Tags are compared weakly (RFC 9110, 13.1.2).
pub(in crate::server) fn matches(request: &HeaderMap, etag: &HeaderValue) -> bool {
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag.as_bytes())
}

/// A tag with this text, which is letters and digits.
pub(in crate::server) fn quoted(text: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{text}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}
