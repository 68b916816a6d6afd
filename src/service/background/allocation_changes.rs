//! The work that issues and cancels the tickets of allocations, in batches.

use std::time::Duration;

use crate::error::Result;
use crate::model::values::id::{AllocationId, EventId};
use crate::sales::tickets::ticket_allocation;
use crate::service::TicketingService;
use crate::store::LockedEvent;
use crate::store::work::ClaimedWork;
use crate::write::batches::Run;

/// Issues or cancels tickets of an allocation, as its state says.
pub(super) fn change_allocation(
    service: &TicketingService,
    run: &mut Run<'_>,
    claimed: &ClaimedWork,
) -> Result<(usize, Option<Duration>)> {
    let id = AllocationId::from_raw(claimed.work.key.unwrap_or_default());
    let event = claimed.work.event_id.unwrap_or(EventId::UNKNOWN);
    let mut changed = 0;
    while !run.stops() {
        let change = move |tx: &LockedEvent<'_>| ticket_allocation::change_batch(tx, id);
        let Some(batch) = service.store()?.write_unless_locked(run.tenant, event.into(), change)? else {
            return Ok((changed, Some(Duration::ZERO)));
        };
        changed += batch.tickets;
        if batch.is_finished {
            return Ok((changed, None));
        }
    }
    Ok((changed, Some(Duration::ZERO)))
}
