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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (IF_NONE_MATCH, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn one_of_the_tags_must_be_the_same() {
        let etag = HeaderValue::from_static("\"one\"");
        for (tags, same) in [
            (vec![], false),
            (vec!["\"one\""], true),
            (vec!["W/\"one\""], true),
            (vec!["\"two\", \"one\""], true),
            (vec!["\"two\"", "\"one\""], true),
            (vec!["*"], true),
            (vec!["\"two\""], false),
            (vec!["one"], false),
        ] {
            assert_eq!(matches(&headers(&tags), &etag), same, "{tags:?}");
        }
    }
}
