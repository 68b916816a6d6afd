//! What `semaphore` uses of threads and of the clock. The model of it has another one.

use std::time::Duration;

pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
pub(super) use std::thread::{Thread, current, park_timeout};

use crate::environment::{Clock, SystemClock};

/// The time since some fixed instant.
pub(super) fn monotonic() -> Duration {
    SystemClock.monotonic()
}
