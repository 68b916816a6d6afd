//! What the calls of all operations share: access to the store, idempotency, quotas, expired holds.

#[cfg(feature = "tokio")]
pub(crate) mod async_calls;
pub(super) mod open_store;
pub(super) mod suspension;
