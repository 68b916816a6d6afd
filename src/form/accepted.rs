//! What a client accepts, and how much it wants it (RFC 9110, section 12.4.2): `de, en;q=0.8`.

/// The first language tag with the highest weight of a text that is a tag, or what a browser sends as
/// `Accept-Language` (RFC 9110, section 12.5.4). A text without such a tag stays as it is.
pub(crate) fn preferred_language(text: Option<String>) -> Option<String> {
    let text = text?;
    let tags = text.split(',').map(weighted).filter(|(tag, weight)| *weight > 0 && !tag.is_empty() && *tag != "*");
    // Of equal weights, the last one in this order is taken.
    Some(tags.rev().max_by_key(|(_, weight)| *weight).map_or_else(|| text.clone(), |(tag, _)| tag.to_owned()))
}

/// A range without its parameters, and its weight in thousandths. Other parameters, such as a version, are ignored.
pub(crate) fn weighted(range: &str) -> (&str, u32) {
    let mut parts = range.split(';').map(str::trim);
    (parts.next().unwrap_or_default(), parts.find_map(weight).unwrap_or(1000))
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
