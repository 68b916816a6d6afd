//! Writes of callers: what every operation that changes something passes on its way to its transaction.
//!
//! [`pipeline`] has the whole way, in the order in which it is gone. The other files are what it asks: the quota of
//! bytes, the limit of notifications that wait, and the rows that could not be processed.

pub(crate) mod backlog_limit;
pub(crate) mod pipeline;
pub(crate) mod skipped_rows;
pub(crate) mod write_quota;

pub(crate) use pipeline::{Write, WriteLimits, Writes};
