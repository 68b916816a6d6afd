//! What a transaction locks, and the proof that an event is locked.

use std::ops::Deref;

use super::lock::{EventKey, Lock};
use super::transaction::Transaction;
use crate::error::Result;

/// A transaction that has locked an event, so that no other transaction changes its sale before this one ends.
/// Functions that change a sale, or read before they change it, take it in place of the transaction.
///
/// SQLite has only one write transaction at a time, so that nothing is locked there.
pub(crate) struct LockedEvent<'t> {
    transaction: &'t Transaction<'t>,
}

impl<'t> Deref for LockedEvent<'t> {
    type Target = Transaction<'t>;

    fn deref(&self) -> &Transaction<'t> {
        self.transaction
    }
}

impl Transaction<'_> {
    /// Locks the event for the rest of the transaction, so that no other transaction changes its sale. A job that reads
    /// before it changes an event's sale calls this first. [`Store::write_event`](crate::store::Store::write_event)
    /// does so for its jobs.
    ///
    /// SQLite has only one write transaction at a time, so this does nothing there.
    pub(crate) fn lock_event(&self, event: impl Into<EventKey>) -> Result<LockedEvent<'_>> {
        self.connection.lock(Lock::Event(event.into()))?;
        Ok(LockedEvent { transaction: self })
    }

    /// Locks something else than an event for the rest of the transaction. A job that reads it before it changes it calls
    /// this first.
    pub(crate) fn lock(&self, lock: Lock<'_>) -> Result<()> {
        self.connection.lock(lock)
    }

    /// Makes this transaction the only one that deletes old rows, until it ends. Returns `false` if another one is.
    pub(in crate::store) fn try_lock_cleanup(&self) -> Result<bool> {
        self.connection.try_lock_cleanup()
    }
}
