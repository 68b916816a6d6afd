//! What a client accepts, and how much it wants it: `Accept`, `Accept-Encoding` and `Accept-Language` (RFC 9110, 12.5).

use axum::http::{HeaderMap, HeaderName};

/// The ranges in the header, and their weights in thousandths. Other parameters, such as a version, are ignored.
pub(in crate::server) fn accepted(request: &HeaderMap, header: HeaderName) -> impl Iterator<Item = (&str, u32)> {
    let lines = request.get_all(header).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        (parts.next().unwrap_or_default(), parts.find_map(weight).unwrap_or(1000))
    })
}

/// The weight of the first of these ranges that the client names; 0 if it names none.
pub(in crate::server) fn weight_of(request: &HeaderMap, header: &HeaderName, ranges: &[&str]) -> u32 {
    let weight = |name: &&str| {
        let same = accepted(request, header.clone()).filter(|(range, _)| range.eq_ignore_ascii_case(name));
        same.map(|(_, weight)| weight).max()
    };
    ranges.iter().find_map(weight).unwrap_or(0)
}

/// The value of a parameter `q`, such as 750 for `0.75`. One that is not valid is 0.
fn weight(parameter: &str) -> Option<u32> {
    let (_, text) = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"))?;
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let is_number = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    Some(match (whole, format!("{fraction:0<3}").parse()) {
        ("0", Ok(thousandths)) if is_number => thousandths,
        ("1", Ok(0)) => 1000,
        _ => 0,
    })
}
