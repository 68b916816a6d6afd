//! The roles of connections, and their settings.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine::postgres) enum Purpose {
    /// Short transactions. The server ends one whose program was stopped in the middle of it, so that it holds no lock.
    /// It does this before others give up waiting for the lock.
    Write,
    /// Reads, and snapshots that a program may hold for long.
    Read,
}

impl Purpose {
    /// How long an answer of the server is waited for. The server gives up waiting for locks, and ends statements of
    /// writes, a little earlier, if it works.
    pub(in crate::store::engine::postgres) fn max_time(self) -> Duration {
        match self {
            Self::Write => Duration::from_secs(12),
            Self::Read => Duration::from_secs(10),
        }
    }
}
