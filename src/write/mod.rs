//! Writes of callers: what every operation that changes something passes on its way to its transaction.
//!
//! [`pipeline`] has the whole way, in the order in which it is gone. It asks the quota of bytes and the limit of
//! notifications that wait. [`batches`] changes many rows in the background; [`skipped_rows`] are those that cannot be
//! processed.

pub(crate) mod backlog_limit;
pub(crate) mod batches;
pub(crate) mod pipeline;
pub(crate) mod skipped_rows;
pub(crate) mod write_quota;

pub(crate) use pipeline::{Write, WriteLimits, Writes};
