//! Open connections: pools, the standby, and the connections for `LISTEN` and `NOTIFY`.

pub(in crate::store) mod announcer;
pub(in crate::store) mod listener;
pub(in crate::store) mod pool;
pub(in crate::store) mod standby;
