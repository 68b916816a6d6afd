//! The id of a request, in the header `X-Request-Id` and in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub(in crate::server) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The client's own id if it is valid, or else a new one.
pub(in crate::server) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let own = headers.get(REQUEST_ID).filter(|id| {
        let bytes = id.as_bytes();
        (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    });
    own.cloned().unwrap_or_else(new_id)
}

/// A unique id. It is not secret: the random part only distinguishes processes.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut digits = [0; 32];
    for (state, digits) in PROCESS.iter().zip(digits.chunks_exact_mut(16)) {
        // There are two digits for each byte, so this cannot fail.
        let _ = hex::encode_to_slice(state.hash_one(count).to_be_bytes(), digits);
    }
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("-"))
}
