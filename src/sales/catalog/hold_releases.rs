//! Expired holds in the way of a transaction that needs their seats or discount uses.
//!
//! What an expired hold still reserves is available, so the transaction that needs it marks the order as expired first.
//! It does so for a few orders only, because other writes wait for it: see [`ReleaseLimit`]. If that is not enough, it
//! fails with an error that [`exceeds_release_limit`] recognizes. Its caller then releases a batch of the event's
//! expired holds with [`release_batch`], in a transaction of its own, and tries again from the end of the batch.

use std::cell::Cell;

use super::holds::expire_all;
use crate::error::{Error, ResourceKind, Result, Unavailable};
use crate::model::values::id::{DiscountId, EventId, TicketTypeId};
use crate::sales::each_row::SkippedRow;
pub(crate) use crate::store::order::order_status::ExpiredHold;
use crate::store::order::order_status::{self, ExpiredReservation};
use crate::store::sale::events;
use crate::store::{EventKey, LockedEvent, Transaction};

/// How many expired holds a transaction looks at, for all its ticket types and its discount, and at once.
const MAX_HOLDS: i64 = 500;
const MAX_AT_ONCE: i64 = 100;

/// How many statements a transaction may spend on releasing holds.
const MAX_STATEMENTS: i64 = 400;

/// How many statements it takes to release a hold, without those for its items.
const STATEMENTS_PER_HOLD: i64 = 8;

/// How many expired uses of a discount a transaction counts. It needs more than one only if the usage limit was set
/// below the number of uses.
const MAX_COUNTED: i64 = 1000;

/// How many holds a batch releases, and fewer if they have many items.
const BATCH: i64 = 200;

/// The expired holds that a transaction may release, and how many.
#[derive(Debug)]
pub(crate) struct ReleaseLimit {
    /// Only those after this one. The others were released, or cannot be.
    after: Option<ExpiredHold>,
    holds: Cell<i64>,
    statements: Cell<i64>,
    counted: i64,
}

impl ReleaseLimit {
    /// The limit of a transaction, for expired holds after this one.
    pub(crate) fn after(after: Option<ExpiredHold>) -> Self {
        Self { after, holds: Cell::new(MAX_HOLDS), statements: Cell::new(MAX_STATEMENTS), counted: MAX_COUNTED }
    }

    /// Of work that only reads: it counts expired holds without a limit, and releases none.
    pub(crate) fn of_reader() -> Self {
        Self { holds: Cell::new(0), counted: i64::MAX, ..Self::after(None) }
    }

    /// Spends statements on releasing holds. Fails if there are not as many left.
    fn spend(&self, statements: i64) -> Result<()> {
        let left = self.statements.get() - statements;
        if left < 0 {
            return Err(Error::Unavailable(Unavailable::HoldsExpiring));
        }
        self.statements.set(left);
        Ok(())
    }
}

/// Whether a transaction failed because it needs more expired holds than its limit allows to release.
pub(crate) fn exceeds_release_limit(error: &Error) -> bool {
    *error == Error::Unavailable(Unavailable::HoldsExpiring)
}

/// Releases seats of a ticket type that expired holds still reserve, so that `needed` more are available. Returns how
/// many there are: if they are fewer than `needed`, none is released.
///
/// It marks only as many orders as expired as are needed, those that expired first.
pub(in crate::sales) fn release_seats(
    tx: &LockedEvent<'_>,
    event: EventId,
    ticket_type: TicketTypeId,
    needed: i64,
    release_limit: &ReleaseLimit,
) -> Result<i64> {
    release(tx, needed, release_limit, |after, limit| order_status::expired_seats(tx, event, ticket_type, after, limit))
}

/// Releases uses of a discount like [`release_seats`].
pub(in crate::sales) fn release_uses(
    tx: &LockedEvent<'_>,
    discount: DiscountId,
    needed: i64,
    release_limit: &ReleaseLimit,
) -> Result<i64> {
    release(tx, needed, release_limit, |after, limit| order_status::expired_uses(tx, discount, after, limit))
}

/// Marks the first orders that `read` returns as expired, until they have reserved `needed` seats or uses. An order
/// that cannot be expired keeps what it reserves; the maintenance reports it.
fn release(
    tx: &LockedEvent<'_>,
    needed: i64,
    release_limit: &ReleaseLimit,
    read: impl Fn(Option<ExpiredHold>, i64) -> Result<Vec<ExpiredReservation>>,
) -> Result<i64> {
    let mut released = 0;
    let mut after = release_limit.after;
    while released < needed {
        let limit = release_limit.holds.get().min(MAX_AT_ONCE);
        let found = read(after, limit)?;
        let looked_at = i64::try_from(found.len()).unwrap_or(i64::MAX);
        release_limit.holds.set(release_limit.holds.get() - looked_at);

        let chosen = first_with(&found, needed - released);
        let available = released + chosen.iter().map(|chosen| chosen.reserved).sum::<i64>();
        if available < needed {
            return if looked_at < limit { Ok(available) } else { Err(Error::Unavailable(Unavailable::HoldsExpiring)) };
        }
        release_limit.spend(chosen.iter().map(|chosen| chosen.items + STATEMENTS_PER_HOLD).sum())?;
        for ExpiredReservation { hold, reserved, .. } in chosen {
            if expire_all(tx, &[hold])?.changed > 0 {
                released += reserved;
            }
            after = Some(hold);
        }
    }
    Ok(released)
}

/// The first holds that together reserve `needed` seats or uses, without those that reserve none. All, if that is not
/// enough.
fn first_with(found: &[ExpiredReservation], needed: i64) -> Vec<ExpiredReservation> {
    let mut sum = 0;
    let mut chosen = Vec::new();
    for reservation in found.iter().filter(|reservation| reservation.reserved > 0) {
        if sum >= needed {
            break;
        }
        sum += reservation.reserved;
        chosen.push(*reservation);
    }
    chosen
}

/// Counts the uses of a discount that expired holds still have, up to `needed`.
pub(in crate::sales) fn count_uses(
    tx: &Transaction<'_>,
    discount: DiscountId,
    needed: i64,
    release_limit: &ReleaseLimit,
) -> Result<i64> {
    let limit = needed.min(release_limit.counted);
    let uses = order_status::count_expired_uses(tx, discount, release_limit.after, limit)?;
    if uses == limit && limit < needed { Err(Error::Unavailable(Unavailable::HoldsExpiring)) } else { Ok(uses) }
}

pub(crate) struct ReleasedBatch {
    /// The last hold of the batch. `None` if there was none.
    pub(crate) last: Option<ExpiredHold>,
    /// Those that could not be released.
    pub(crate) skipped: Vec<SkippedRow<ExpiredHold>>,
}

/// Releases a batch of the expired holds of an event, those after `after` that expired first.
pub(crate) fn release_batch(
    tx: &LockedEvent<'_>,
    event: EventKey,
    after: Option<ExpiredHold>,
) -> Result<ReleasedBatch> {
    let event = events::owner_of(tx, event)?.ok_or(Error::NotFound(ResourceKind::Event))?.event;
    let holds = order_status::expired_holds_of_event(tx, event, after, BATCH)?;
    let batch = expire_all(tx, &holds)?;
    let done = holds.len() - batch.remaining.len();
    Ok(ReleasedBatch { last: holds[..done].last().copied(), skipped: batch.skipped })
}
