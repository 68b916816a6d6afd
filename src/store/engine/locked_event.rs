//! The proof that an event is locked.

use std::ops::Deref;

use super::transaction::Transaction;

/// A transaction that has locked an event, so that no other transaction changes its sale before this one ends. Functions
/// that change a sale, or read before they change it, take it in place of the transaction.
///
/// SQLite has only one write transaction at a time, so that nothing is locked there.
pub(crate) struct LockedEvent<'t> {
    transaction: &'t Transaction<'t>,
}

impl<'t> LockedEvent<'t> {
    /// For a transaction that has [locked](Transaction::lock_event) the event.
    pub(super) fn new(transaction: &'t Transaction<'t>) -> Self {
        Self { transaction }
    }
}

impl<'t> Deref for LockedEvent<'t> {
    type Target = Transaction<'t>;

    fn deref(&self) -> &Transaction<'t> {
        self.transaction
    }
}
