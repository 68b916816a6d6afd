//! The blocking threads of tokio.

use crate::error::{Error, Result, Unavailable};
use crate::model::values::cancellation::CancellationToken;

/// Runs `work` on a blocking thread, in the current span. If the returned future is dropped, `work` is told that nobody
/// waits for its result.
///
/// Fails if `work` panics, and with [`Error::Unavailable`] if the runtime shuts down before it begins.
pub(crate) async fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let span = tracing::Span::current();
    let (token, _waiting) = CancellationToken::new();
    let ended = tokio::task::spawn_blocking(move || span.in_scope(|| token.run(work))).await;
    ended.map_err(|error| match error.is_panic() {
        true => Error::Internal("the call panicked".to_owned()),
        false => Error::Unavailable(Unavailable::ShuttingDown),
    })
}
