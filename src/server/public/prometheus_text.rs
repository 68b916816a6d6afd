//! The text format of Prometheus, version 0.0.4, for tools that do not read OpenMetrics. Clients that OpenAPI Generator
//! makes for Python are such tools: they refuse a response that is neither text nor JSON.

use std::fmt::Write;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The media type of the format.
pub(in crate::server) const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client prefers this format to OpenMetrics. A client that does not say so gets OpenMetrics.
pub(in crate::server) fn is_preferred(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let ranges: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    quality(&ranges, "text/plain", "text/*") > quality(&ranges, "application/openmetrics-text", "application/*")
}

/// The quality of a media type (RFC 9110, 12.5.1), in thousandths: that of the most specific range that matches it. The
/// other parameters of a range, such as the version, are ignored.
fn quality(ranges: &[&str], media_type: &str, group: &str) -> u32 {
    let of_range = |wanted: &str| {
        let matching = ranges.iter().filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let matches = parts.next()?.eq_ignore_ascii_case(wanted);
            matches.then(|| parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths))
        });
        matching.max()
    };
    of_range(media_type).or_else(|| of_range(group)).or_else(|| of_range("*/*")).unwrap_or(0)
}

/// A quality such as `0.75` in thousandths. Anything else is 0.
fn thousandths(text: &str) -> u32 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, format!("{fraction:0<3}").parse::<u32>()) {
        ("0", Ok(thousandths)) if is_number => thousandths,
        ("1", Ok(0)) => 1000,
        _ => 0,
    }
}

/// Converts the OpenMetrics text of this server. In OpenMetrics the name of a counter is without the suffix of its
/// samples, `_total`; here the suffix is part of the name. There are no units, and there is no line at the end.
///
/// All other lines are the same in both formats, because no help text and no label needs an escape, and the server has
/// only counters, gauges and histograms.
pub(in crate::server) fn from_open_metrics(text: &str) -> String {
    let mut converted = String::with_capacity(text.len());
    let mut help = "";
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), Some(text)) => help = text,
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let suffix = if kind == "counter" { "_total" } else { "" };
                // Writing to a string cannot fail.
                let _ = writeln!(converted, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
            }
            (Some("#"), ..) => {}
            _ => {
                converted += line;
                converted += "\n";
            }
        }
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_the_format_that_it_prefers() {
        for (accept, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["text/plain"], true),
            (&["text/plain; version=0.0.4"], true),
            (&["TEXT/PLAIN"], true),
            (&["text/*"], true),
            (&["text/*, */*;q=0.1"], true),
            (&["text/plain;q=0"], false),
            (&["text/plain, application/openmetrics-text"], false),
            (&["text/plain, application/openmetrics-text; version=1.0.0; q=0.9"], true),
            (&["application/openmetrics-text;q=0.5", "text/plain;q=0.75"], true),
            (&["application/*;q=0.4,text/plain;q=0.5"], true),
            (&["text/plain;q=0.5,*/*"], false),
            (&["text/plain;q=x,*/*;q=0.001"], false),
            // Prometheus 2.42.
            (
                &["application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                   text/plain;version=0.0.4;q=0.5,*/*;q=0.1"],
                false,
            ),
            (&["image/png"], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in accept {
                headers.append(ACCEPT, line.parse().unwrap());
            }
            assert_eq!(is_preferred(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn a_quality_has_at_most_three_decimals() {
        for (text, expected) in [("1", 1000), ("1.000", 1000), ("0", 0), ("0.5", 500), ("0.001", 1), ("0.", 0)] {
            assert_eq!(thousandths(text), expected, "{text}");
        }
        for text in ["", "2", "1.1", "0.1234", "0.x", "-1", "nan", "+0.5", "0.+5"] {
            assert_eq!(thousandths(text), 0, "{text}");
        }
    }
}
