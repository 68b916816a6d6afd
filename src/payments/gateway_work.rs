//! Work that asks the gateway: what it begins with, and what it comes to.

use crate::error::Result;
use crate::model::values::id::EventId;
use crate::payments::Payments;
use crate::store::LockedEvent;
use crate::store::work::ClaimedWork;

/// The result of asking the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The gateway answered, or there was nothing to ask.
    Answered,
    /// The gateway was unavailable.
    Unavailable,
    /// The gateway was not asked: the work is not due any more, or another process has claimed it.
    NotDue,
    /// The gateway was not asked: another transaction keeps the event locked.
    Busy,
}

impl Payments {
    /// Loads what claimed work is about, in a transaction that locks its event. Fails with the progress if there
    /// is nothing to do now.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        work: &ClaimedWork,
        load: impl Fn(&LockedEvent<'_>) -> Result<Option<T>> + Send + 'static,
    ) -> Result<Result<T, Progress>> {
        let event = work.work.event_id.unwrap_or(EventId::UNKNOWN);
        Ok(match self.writes.store()?.write_unless_locked(None, event.into(), load)? {
            Some(Some(begun)) => Ok(begun),
            Some(None) => Err(Progress::NotDue),
            None => Err(Progress::Busy),
        })
    }
}
