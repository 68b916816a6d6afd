//! The text format of Prometheus, version 0.0.4, for tools that do not read OpenMetrics. Clients that OpenAPI Generator
//! makes for Python are such tools: they refuse a response that is neither text nor JSON.

use std::fmt::Write;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::server::responses::accepted::weight_of;

/// The media type of the format.
pub(in crate::server) const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client prefers this format to OpenMetrics. A client that does not say so gets OpenMetrics.
pub(in crate::server) fn is_preferred(headers: &HeaderMap) -> bool {
    let open_metrics = ["application/openmetrics-text", "application/*", "*/*"];
    weight_of(headers, &ACCEPT, &["text/plain", "text/*", "*/*"]) > weight_of(headers, &ACCEPT, &open_metrics)
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
