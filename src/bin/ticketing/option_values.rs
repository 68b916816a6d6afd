//! How the values of options are read, and what is wrong with those that are refused.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::{HeaderName, Uri};
use ticketing::Timestamp;
use ticketing::organization::{Scope, Scopes};
use ticketing::text_enum::TextEnum;

pub(super) fn listen(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080")
}

pub(super) fn public_url(text: &str) -> Result<String, &'static str> {
    let problem = "must be an http or https URL without a query, such as https://tickets.example.com";
    let url: Uri = text.parse().map_err(|_| problem)?;
    let web = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some_and(|host| !host.is_empty());
    if web && !text.contains(['?', '#']) { Ok(text.to_owned()) } else { Err(problem) }
}

pub(super) fn folder(text: &str) -> Result<PathBuf, &'static str> {
    let folder = PathBuf::from(text);
    if folder.is_dir() { Ok(folder) } else { Err("must be a folder that exists") }
}

pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let units = [("s", 1), ("m", 60), ("h", 60 * 60), ("d", 24 * 60 * 60)];
    let parse =
        |(unit, seconds): (&str, u64)| Some(text.strip_suffix(unit)?.parse::<u16>().ok().map(u64::from)? * seconds);
    let seconds = units.into_iter().find_map(parse).filter(|seconds| *seconds > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or("must be a whole number and a unit, such as 90s, 30m, 6h or 1d, and the number at most 65535")
}

pub(super) fn order_hold(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds: &u32| *seconds > 0);
    seconds.map(|seconds| Duration::from_secs(seconds.into())).ok_or("must be a whole number of seconds, 1 or more")
}

pub(super) fn header_name(text: &str) -> Result<HeaderName, &'static str> {
    text.parse().map_err(|_| "must be the name of a header, such as X-Forwarded-For")
}

pub(super) fn number(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "must be a whole number, 0 or more")
}

pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false"),
    }
}

#[cfg(feature = "exports")]
pub(super) fn text_enum<T: TextEnum + Send + Sync>() -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};

    let texts = T::ALL.iter().map(|value| value.as_str());
    PossibleValuesParser::new(texts).try_map(|text| T::from_text(&text).ok_or("is not one of the values"))
}

pub(super) fn help_of_scopes() -> String {
    let scopes: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    format!("What the key may be used for: all, or some of {}", scopes.join(", "))
}

pub(super) fn scopes(text: &str) -> Result<Scopes, String> {
    if text == "all" {
        return Ok(Scopes::all());
    }
    let scope = |name: &str| {
        let unknown = || format!("unknown scope {name:?}: create-key --help lists the scopes");
        Scope::from_text(name.trim()).ok_or_else(unknown)
    };
    text.split(',').map(scope).collect()
}

/// Parses a date, which is its beginning in UTC, or a timestamp.
pub(super) fn date(text: &str) -> Result<Timestamp, &'static str> {
    let problem = "must be a date, such as 2026-11-01, or a timestamp, such as 2026-11-01T18:00:00Z";
    let midnight = format!("{text}T00:00:00Z");
    midnight.parse().or_else(|_| text.parse()).map_err(|_| problem)
}
