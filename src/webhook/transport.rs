//! What carries a notification to its receiver.

use std::fmt;
use std::time::Duration;

/// How much of an answer's body is kept: 4 KiB.
pub const BODY_KEPT: usize = 4096;

/// Carries notifications. The one that comes with the crate speaks HTTPS and refuses addresses that are not public.
///
/// It is called from several threads at once, and blocks the one that calls it.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a POST and waits for the answer, all in all no longer than `timeout`. No redirect is followed.
    ///
    /// It is an answer as soon as its head is complete, whatever becomes of its body then.
    ///
    /// # Errors
    /// Why no answer came.
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure>;

    /// Ends what is under way, from another thread: the sender is about to stop. What the next sender sends is sent as ever.
    fn interrupt(&self) {}
}

/// What is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// Where to. It may hold what only the receiver should know: it belongs in no log.
    pub url: String,
    /// The headers, `Content-Type` and `User-Agent` among them.
    pub headers: Vec<(&'static str, String)>,
    /// The body, byte for byte.
    pub body: String,
}

impl fmt::Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookRequest").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// What a receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookResponse {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, as far as it came: at most [`BODY_KEPT`] bytes.
    pub body: Vec<u8>,
    /// Whether the time was up before the body was complete.
    pub timed_out: bool,
}

/// Why no answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookFailure {
    /// Which kind of thing went wrong.
    pub kind: FailureKind,
    /// What went wrong, in a sentence for whoever runs the receiver, such as "timed out after 10 s while waiting for the
    /// answer". It must not tell of the network that the sender stands in.
    pub message: String,
    /// Whether a connection was tried at all.
    pub connection_tried: bool,
}

/// Which kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The address is one to which nothing is sent.
    Refused,
    /// The time was up.
    TimedOut,
    /// Anything else: no such name, no connection, no trust, no HTTP.
    Network,
}
