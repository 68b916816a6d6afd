//! Connections that are kept: pools, the standby, and those that announce and hear commits.

pub(in crate::store) mod announcer;
pub(in crate::store) mod listener;
pub(in crate::store) mod pool;
pub(in crate::store) mod standby;
