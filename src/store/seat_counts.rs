//! How many seats of a ticket type are sold and reserved. Every change is one conditional UPDATE, so that
//! `sold + held <= quantity` holds under any concurrency.

use super::Transaction;
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::{EventId, TicketTypeId};

const SELL: &str = "UPDATE ticket_types SET sold = sold + ?3, used = 1
    WHERE id = ?1 AND event_id = ?2 AND sold + held + ?3 <= quantity RETURNING quantity - sold AS unsold";
const RESERVE: &str = "UPDATE ticket_types SET held = held + ?3, used = 1
    WHERE id = ?1 AND event_id = ?2 AND sold + held + ?3 <= quantity RETURNING quantity - sold AS unsold";
const SELL_RESERVED: &str = "UPDATE ticket_types SET sold = sold + ?3, held = held - ?3
    WHERE id = ?1 AND event_id = ?2 AND held >= ?3 RETURNING quantity - sold AS unsold";
const RELEASE: &str = "UPDATE ticket_types SET held = held - ?3 WHERE id = ?1 AND event_id = ?2 AND held >= ?3";
const RESTOCK: &str = "UPDATE ticket_types SET sold = sold - ?3
    WHERE id = ?1 AND event_id = ?2 AND sold >= ?3 RETURNING quantity - sold AS unsold";

const AVAILABLE: &str = "SELECT id, name, quantity - sold - held AS available FROM ticket_types
    WHERE id = ?1 AND event_id = ?2";

// `held` still includes pending orders whose hold has expired. There are few of those, and few ticket types, so that
// this reads far fewer rows than the order items of all pending orders.
const RESERVED: &str = "SELECT CAST((SELECT COALESCE(SUM(held), 0) FROM ticket_types) - (
        SELECT COALESCE(SUM(i.quantity), 0) FROM orders o JOIN order_items i ON i.order_id = o.id
        WHERE o.status = 'PENDING' AND o.hold_until <= ?1) AS BIGINT) AS reserved";

/// A number of seats of one ticket type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seats {
    pub(crate) event: EventId,
    pub(crate) ticket_type: TicketTypeId,
    pub(crate) count: i64,
}

impl Seats {
    /// Adds up seats by ticket type. The types stay in the order in which they first occur.
    pub(crate) fn add_up(seats: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for seats in seats {
            match sums.iter_mut().find(|sum| sum.ticket_type == seats.ticket_type) {
                Some(same_type) => same_type.count = same_type.count.saturating_add(seats.count),
                None => sums.push(seats),
            }
        }
        sums
    }
}

/// Sells available seats. Returns how many seats of the type are unsold now, or `None` if too few were available.
pub(crate) fn sell(tx: &Transaction<'_>, seats: Seats) -> Result<Option<i64>> {
    update_if_possible(tx, SELL, seats)
}

/// Reserves available seats for a pending order. Returns `None` if too few were available.
pub(crate) fn reserve(tx: &Transaction<'_>, seats: Seats) -> Result<Option<i64>> {
    update_if_possible(tx, RESERVE, seats)
}

/// Turns reserved seats into sold ones. Returns how many seats of the type are unsold now.
pub(crate) fn sell_reserved(tx: &Transaction<'_>, seats: Seats) -> Result<i64> {
    update_if_possible(tx, SELL_RESERVED, seats)?.ok_or_else(|| inconsistent(seats))
}

/// Frees reserved seats.
pub(crate) fn release(tx: &Transaction<'_>, seats: Seats) -> Result<()> {
    tx.debug_assert_event_locked();
    match tx.execute(RELEASE, &[seats.ticket_type.into(), seats.event.into(), seats.count.into()])? {
        0 => Err(inconsistent(seats)),
        _ => Ok(()),
    }
}

/// Frees sold seats. Returns how many seats of the type are unsold now.
pub(crate) fn restock(tx: &Transaction<'_>, seats: Seats) -> Result<i64> {
    update_if_possible(tx, RESTOCK, seats)?.ok_or_else(|| inconsistent(seats))
}

/// Returns the number of unsold seats after the update, or `None` if its condition did not hold.
fn update_if_possible(tx: &Transaction<'_>, sql: &str, seats: Seats) -> Result<Option<i64>> {
    tx.debug_assert_event_locked();
    let binds = [seats.ticket_type.into(), seats.event.into(), seats.count.into()];
    tx.query_opt(sql, &binds, |row| row.get("unsold"))
}

/// A ticket type of which there are too few available seats.
pub(crate) struct TooFewSeats {
    /// The name of the ticket type.
    pub(crate) ticket_type: String,
    pub(crate) available: i64,
}

/// Returns the name of a ticket type and the number of its available seats.
pub(crate) fn too_few(tx: &Transaction<'_>, seats: Seats) -> Result<TooFewSeats> {
    let found = tx.query_opt(AVAILABLE, &[seats.ticket_type.into(), seats.event.into()], |row| {
        Ok(TooFewSeats { ticket_type: row.get("name")?, available: row.get("available")? })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::TicketType))
}

/// How many seats pending orders reserve now, over all organizations.
pub(crate) fn reserved(tx: &Transaction<'_>) -> Result<u64> {
    tx.query_opt(RESERVED, &[tx.now().into()], |row| row.count("reserved")).map(Option::unwrap_or_default)
}

fn inconsistent(seats: Seats) -> Error {
    Error::Internal(format!("the seat counts of {} are lower than its orders and tickets require", seats.ticket_type))
}
