//! The body of a request: not too large, JSON by its own word, and read no earlier than it is wanted.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};

use super::problem::Problem;

/// How many bytes a body may have: 1 MiB.
const LIMIT: usize = 1024 * 1024;

/// Refuses a body that is too large by its own word.
pub(super) fn check_length(headers: &HeaderMap) -> Result<(), Problem> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > LIMIT as u64 => Err(Problem::too_large(LIMIT)),
        _ => Ok(()),
    }
}

/// Reads the whole body, and stops where it becomes too large.
pub(super) async fn read(headers: &HeaderMap, mut body: Body) -> Result<Vec<u8>, Problem> {
    check_length(headers)?;
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| Problem::malformed("the body ended before it was complete"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > LIMIT {
            return Err(Problem::too_large(LIMIT));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Refuses a body that does not say it is JSON.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let only = match (types.next(), types.next()) {
        (Some(only), None) => only.to_str().unwrap_or_default(),
        _ => return Err(Problem::not_json()),
    };
    let essence = only.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(Problem::not_json()) }
}
