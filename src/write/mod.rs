//! Writes of callers: what every operation that changes something passes on its way to its transaction.
//!
//! [`pipeline`] has the whole way, in the order in which it is gone. It asks the quota of bytes and the limit of
//! notifications that wait. [`batches`] changes many rows in the background; [`skipped_rows`] are those that cannot be
//! processed. A [prepared](prepared) write has passed its checks.

pub(crate) mod backlog_limit;
pub(crate) mod batches;
#[cfg(feature = "tokio")]
mod blocking_threads;
pub(crate) mod pipeline;
pub(crate) mod prepared;
pub(crate) mod skipped_rows;
pub(crate) mod write_quota;

#[cfg(feature = "tokio")]
pub(crate) use blocking_threads::spawn_blocking;
pub(crate) use pipeline::{Write, WriteLimits, Writes};
pub(crate) use prepared::{AfterWrite, Prepared};
