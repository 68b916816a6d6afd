//! Operations that need the seats or discount uses of expired holds.
//!
//! The maintenance releases expired holds every second. If it is behind, an operation may need more of them than its
//! transaction may release: other writes would wait for it. Then the expired holds of the event are released in
//! batches. Each batch is a transaction of its own, and the operation is tried again after each one.
//!
//! Between two of these transactions, others get their turn, and may take what was released. What they see is the same
//! before and after a hold is released: its order is reported as expired, and its seats are available.

use std::sync::Arc;

use crate::error::Result;
use crate::model::tenants::caller::Identity;
use crate::model::values::id::OrganizationId;
use crate::sales::catalog::hold_releases::{ReleaseLimit, exceeds_release_limit, release_batch};
use crate::service::TicketingService;
use crate::service::state::skipped_rows::SkippedTable;
use crate::store::order::order_status::ExpiredHold;
use crate::store::{EventKey, LockedEvent};

impl TicketingService {
    /// Runs `attempt`, whose transaction may release expired holds of the event after the one that it is given. As long
    /// as the transaction needs more than its release limit, releases a batch and runs it again.
    pub(in crate::service) fn with_expired_holds<T>(
        &self,
        organization: OrganizationId,
        event: impl Into<EventKey>,
        attempt: impl Fn(Option<ExpiredHold>) -> Result<T>,
    ) -> Result<T> {
        let event = event.into();
        let mut after = None;
        loop {
            match attempt(after) {
                Err(error) if exceeds_release_limit(&error) => {}
                result => return result,
            }
            let batch = self.store()?.write_event(organization, event, move |tx| release_batch(tx, event, after))?;
            for skipped in batch.skipped {
                self.skip_row(SkippedTable::Orders, skipped.row.order.raw(), &skipped.error);
            }
            // After each batch there are fewer expired holds left, also if other operations release them meanwhile.
            after = batch.last.or(after);
        }
    }

    /// Like [`write_for`](Self::write_for), for a change that may release expired holds of the event.
    pub(in crate::service) fn write_with_expired_holds<T: Send + 'static>(
        &self,
        caller: Identity,
        event: impl Into<EventKey>,
        work: impl Fn(&LockedEvent<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let work = Arc::new(work);
        let event = event.into();
        self.with_expired_holds(caller.organization, event, |after| {
            let work = Arc::clone(&work);
            self.write_event_for(caller, event, move |tx| work(tx, &ReleaseLimit::after(after)))
        })
    }
}
