//! Reads the body of a request, up to a limit.
//!
//! axum's extractors read the body before the handler runs. Here the handler decides: a body that has already arrived
//! is read at once, so that one call on a blocking thread authorizes and executes the request; any other body is read
//! only after the request was authorized.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::{HeaderMap, HeaderValue};

use super::held_bytes::{Holding, SMALL};
use crate::server::responses::problem::Problem;

/// The maximum size of the body of an operation: 1 MiB.
pub(in crate::server) const MAX_BYTES: usize = 1024 * 1024;

/// Refuses a body whose `Content-Length` is over a limit.
pub(in crate::server) fn check_length(headers: &HeaderMap, most: usize) -> Result<(), Problem> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > most as u64 => Err(Problem::too_large(most)),
        _ => Ok(()),
    }
}

/// The body of a request. Part of it may not have arrived yet.
pub(in crate::server) struct RequestBody {
    body: Body,
    bytes: Vec<u8>,
    /// Once the rest is awaited.
    holding: Option<Holding>,
    /// The maximum size, in bytes.
    most: usize,
    /// Set once the body was read to its end, or cannot be read.
    end: Option<Result<(), Problem>>,
}

impl RequestBody {
    /// A body of at most this many bytes.
    pub(in crate::server) fn up_to(most: usize, body: Body) -> Self {
        Self { body, bytes: Vec::new(), holding: None, most, end: None }
    }

    /// Whether [`RequestBody::read`] would return without waiting for the client. Of a large body, the beginning is read.
    pub(in crate::server) async fn has_arrived(&mut self, headers: &HeaderMap) -> bool {
        if check_length(headers, self.most).is_err() {
            return true;
        }
        // With `Expect: 100-continue`, do not poll yet: polling makes hyper send `100 Continue`.
        !headers.contains_key(EXPECT) && poll_fn(|cx| Poll::Ready(self.poll(cx).is_ready())).await
    }

    /// Reads the whole body, or fails as soon as it is over the limit, or if there is no room for what has arrived.
    pub(in crate::server) async fn read(mut self, headers: &HeaderMap, holding: Holding) -> Result<Bytes, Problem> {
        check_length(headers, self.most)?;
        self.holding = Some(holding);
        self.count()?;
        poll_fn(|cx| self.poll(cx)).await?;
        Ok(match self.holding.filter(|_| self.bytes.len() > SMALL) {
            Some(holding) => holding.keep(self.bytes),
            None => self.bytes.into(),
        })
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        if self.end.is_none() {
            self.end = Some(ready!(self.poll_to_end(cx)));
        }
        Poll::Ready(self.end.clone().unwrap_or(Ok(())))
    }

    fn poll_to_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        loop {
            // The rest is read after the request was authorized: the task need not be woken.
            if self.bytes.len() > SMALL && self.holding.is_none() {
                return Poll::Pending;
            }
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else { return Poll::Ready(Ok(())) };
            let Ok(frame) = frame else {
                return Poll::Ready(Err(Problem::malformed("the body ended before it was complete")));
            };
            let Ok(data) = frame.into_data() else { continue };
            if self.bytes.len() + data.len() > self.most {
                return Poll::Ready(Err(Problem::too_large(self.most)));
            }
            self.bytes.extend_from_slice(&data);
            self.count()?;
        }
    }

    /// Counts what has arrived, unless it is small.
    fn count(&mut self) -> Result<(), Problem> {
        match &mut self.holding {
            Some(holding) if self.bytes.len() > SMALL => holding.resize(self.bytes.len() as u64, false),
            _ => Ok(()),
        }
    }
}

/// Refuses a body that is compressed, or whose `Content-Type` is missing, repeated, or not JSON.
pub(in crate::server) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Problem::not_json());
    }
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Problem::not_json()) };
    if essence(value).eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(Problem::not_json()) }
}

/// The media types of HTML forms. A page of another site can send them without being allowed to.
const FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// Whether a request comes from an HTML form, as its `Content-Type` says.
pub(in crate::server) fn is_form(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter().map(essence);
    types.any(|found| FORMS.iter().any(|form| form.eq_ignore_ascii_case(found)))
}

/// A media type without its parameters.
fn essence(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
