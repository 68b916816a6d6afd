//! What a read sees.

/// Which state of the database the statements of a read see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Isolation {
    /// All statements see the state at the first of them.
    Snapshot,
    /// Each statement sees the newest state. This saves the statements that begin and end a transaction.
    Statement,
}
