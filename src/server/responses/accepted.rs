//! What a client accepts, and how much it wants it: `Accept`, `Accept-Encoding` and `Accept-Language` (RFC 9110, 12.5).

use axum::http::{HeaderMap, HeaderName};

use crate::form::accepted::weighted;

/// The ranges in the header, and their weights in thousandths.
pub(in crate::server) fn accepted(request: &HeaderMap, header: HeaderName) -> impl Iterator<Item = (&str, u32)> {
    let lines = request.get_all(header).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(weighted)
}

/// The weight of the first of these ranges that the client names; 0 if it names none.
pub(in crate::server) fn weight_of(request: &HeaderMap, header: &HeaderName, ranges: &[&str]) -> u32 {
    let weight = |name: &&str| {
        let same = accepted(request, header.clone()).filter(|(range, _)| range.eq_ignore_ascii_case(name));
        same.map(|(_, weight)| weight).max()
    };
    ranges.iter().find_map(weight).unwrap_or(0)
}
