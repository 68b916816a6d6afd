//! The interface between the sender and the network.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::values::id::OrganizationId;

/// How many bytes of a response body are kept: 4 KiB.
pub const BODY_KEPT: usize = 4096;

/// Sends webhook requests. [`HttpsTransport`](super::HttpsTransport) implements it over HTTPS and refuses addresses
/// that are not public; another implementation must do its own filtering against server-side request forgery (SSRF).
///
/// The sender calls it from several threads at once. Calls may block.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a POST request and waits for the response, for at most `timeout` in total. Redirects are not
    /// followed.
    ///
    /// An implementation that exceeds `timeout` delays its worker. If it takes longer than the lease of 18 seconds,
    /// the same notification may be sent again in the meantime.
    ///
    /// Once the head of the response is complete, the result is `Ok`, even if the body breaks off or times out.
    ///
    /// # Errors
    /// The reason why there was no response.
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure>;

    /// Makes the requests in progress fail, because their sender stops. The sender calls this from another thread.
    /// Later requests must work as usual: another sender may use the same transport. The default does nothing: such
    /// requests then run on after the sender has stopped.
    fn interrupt(&self) {}
}

/// Implements the trait for pointers, so that a program can keep the transport that it gives to the service.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: Transport + ?Sized> Transport for $pointer<T> {
            fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
                (**self).send(request, timeout)
            }

            fn interrupt(&self) {
                (**self).interrupt();
            }
        }
    )+};
}

for_pointers!(Arc, Box);

/// A POST request to a receiver.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookRequest {
    /// The URL of the endpoint. It may contain a secret of the receiver, so it must not be logged.
    pub url: String,
    /// The headers, including `Content-Type` and `User-Agent`.
    pub headers: Vec<(&'static str, String)>,
    /// The body, which must be sent byte for byte.
    pub body: String,
    /// The organization of the endpoint. [`HttpsTransport`](super::HttpsTransport) shares its threads for lookups among the
    /// organizations. Requests with `None` count together as one organization.
    pub organization_id: Option<OrganizationId>,
}

impl WebhookRequest {
    /// Creates a request to `url`, of no organization.
    #[must_use]
    pub fn new(
        url: impl Into<String>,
        headers: impl IntoIterator<Item = (&'static str, String)>,
        body: impl Into<String>,
    ) -> Self {
        let headers = headers.into_iter().collect();
        Self { url: url.into(), headers, body: body.into(), organization_id: None }
    }
}

impl fmt::Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookRequest").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// The response of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookResponse {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, as far as it arrived: at most [`BODY_KEPT`] bytes.
    pub body: Vec<u8>,
    /// Whether the request timed out before the body was complete.
    pub timed_out: bool,
}

impl WebhookResponse {
    /// Creates a response with a status and a body. Only the first [`BODY_KEPT`] bytes of the body are kept.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let mut body = body.into();
        body.truncate(BODY_KEPT);
        Self { status, body, timed_out: false }
    }

    /// Sets whether the request timed out before the body was complete. The default is `false`.
    #[must_use]
    pub fn timed_out(mut self, timed_out: bool) -> Self {
        self.timed_out = timed_out;
        self
    }
}

/// The reason why there was no response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A message for the operator of the receiver, such as "timed out after 10 s while waiting for the response". It
    /// must not reveal anything about the sender's network.
    pub message: String,
    /// Whether a connection was tried.
    pub connection_tried: bool,
}

impl WebhookFailure {
    /// Creates a failure of this kind. A connection was tried, unless the kind is [`FailureKind::AddressNotAllowed`].
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), connection_tried: kind != FailureKind::AddressNotAllowed }
    }

    /// Sets whether a connection was tried.
    #[must_use]
    pub fn connection_tried(mut self, connection_tried: bool) -> Self {
        self.connection_tried = connection_tried;
        self
    }
}

/// The kind of a [`WebhookFailure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The URL is not allowed, or its host name is unknown or has an address that is not public.
    AddressNotAllowed,
    /// The request timed out.
    TimedOut,
    /// Any other failure, such as a refused connection, an untrusted certificate or invalid HTTP.
    ConnectionFailed,
}
