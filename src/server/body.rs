//! The body of a request: not too large, JSON by its own word, and read no earlier than it is wanted.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};

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

/// A body that may still be on its way.
pub(super) struct Incoming {
    body: Body,
    bytes: Vec<u8>,
    ended: Option<Result<(), Problem>>,
}

impl Incoming {
    pub(super) fn new(body: Body) -> Self {
        Self { body, bytes: Vec::new(), ended: None }
    }

    /// Whether nothing more is to be waited for.
    pub(super) async fn is_there(&mut self, headers: &HeaderMap) -> bool {
        if check_length(headers).is_err() {
            return true;
        }
        // Who asks whether the body is wanted hears of it when it is.
        !headers.contains_key(EXPECT) && poll_fn(|cx| Poll::Ready(self.poll(cx).is_ready())).await
    }

    /// The whole body; stops where it becomes too large.
    pub(super) async fn read(mut self, headers: &HeaderMap) -> Result<Vec<u8>, Problem> {
        check_length(headers)?;
        poll_fn(|cx| self.poll(cx)).await.map(|()| self.bytes)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        if self.ended.is_none() {
            self.ended = Some(ready!(self.poll_to_the_end(cx)));
        }
        Poll::Ready(self.ended.clone().unwrap_or(Ok(())))
    }

    fn poll_to_the_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        while let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            let Ok(frame) = frame else {
                return Poll::Ready(Err(Problem::malformed("the body ended before it was complete")));
            };
            let Ok(data) = frame.into_data() else { continue };
            if self.bytes.len() + data.len() > LIMIT {
                return Poll::Ready(Err(Problem::too_large(LIMIT)));
            }
            self.bytes.extend_from_slice(&data);
        }
        Poll::Ready(Ok(()))
    }
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
