//! What a connection is for.

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Short transactions. The server ends one whose program was stopped in the middle of it, so that it holds no lock.
    /// It does this before others give up waiting for the lock.
    Write,
    /// Reads, and snapshots that a program may hold for long.
    Read,
}
