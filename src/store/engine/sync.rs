//! The types for synchronization that `leadership` uses.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
