//! Places of a ticket type: taken, held and given back by conditional updates, so that `sold + held` never passes the
//! quantity, whoever else is at it.

use super::{Transaction, events, settlement};
use crate::error::{Error, Reason, Result};
use crate::model::id::{EventId, TicketTypeId};

const SELL: &str = "UPDATE ticket_types SET sold = sold + ?3, used = 1
    WHERE id = ?1 AND event_id = ?2 AND sold + held + ?3 <= quantity RETURNING id, quantity - sold";
const HOLD: &str = "UPDATE ticket_types SET held = held + ?3, used = 1
    WHERE id = ?1 AND event_id = ?2 AND sold + held + ?3 <= quantity RETURNING id, quantity - sold";
const SELL_HELD: &str = "UPDATE ticket_types SET sold = sold + ?3, held = held - ?3
    WHERE id = ?1 AND event_id = ?2 AND held >= ?3 RETURNING id, quantity - sold";
const RELEASE: &str = "UPDATE ticket_types SET held = held - ?3 WHERE id = ?1 AND event_id = ?2 AND held >= ?3";
const RETURN: &str = "UPDATE ticket_types SET sold = sold - ?3
    WHERE id = ?1 AND event_id = ?2 AND sold >= ?3 RETURNING id, quantity - sold";

// The ticket types, which are few, know what stored orders hold; of the orders, only those are read that have lapsed since.
const HELD: &str = "SELECT CAST((SELECT COALESCE(SUM(held), 0) FROM ticket_types) - (
        SELECT COALESCE(SUM(i.quantity), 0) FROM orders o JOIN order_items i ON i.order_id = o.id
        WHERE o.status = 'PENDING' AND o.hold_until <= ?1) AS BIGINT)";

/// Places of one ticket type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) event: EventId,
    pub(crate) ticket_type: TicketTypeId,
    pub(crate) number: i64,
}

/// Takes free places for tickets that are issued now.
pub(crate) fn sell(tx: &Transaction<'_>, places: Places) -> Result<()> {
    let unsold = take(tx, SELL, places)?;
    close_if_last(tx, places, unsold)
}

/// Takes free places for an order that waits for its payment.
pub(crate) fn hold(tx: &Transaction<'_>, places: Places) -> Result<()> {
    take(tx, HOLD, places).map(drop)
}

/// Sells the places that an order holds.
pub(crate) fn sell_held(tx: &Transaction<'_>, places: Places) -> Result<()> {
    let unsold = claim(tx, SELL_HELD, places)?.ok_or_else(|| miscounted(places))?;
    close_if_last(tx, places, unsold)
}

/// Frees the places that an order holds.
pub(crate) fn release(tx: &Transaction<'_>, places: Places) -> Result<()> {
    match tx.execute(RELEASE, &[places.ticket_type.into(), places.event.into(), places.number.into()])? {
        0 => Err(miscounted(places)),
        _ => Ok(()),
    }
}

/// Frees the places of cancelled tickets.
pub(crate) fn give_back(tx: &Transaction<'_>, places: Places) -> Result<()> {
    let unsold = claim(tx, RETURN, places)?.ok_or_else(|| miscounted(places))?;
    // Only where this type had none left can these places be the first that are unsold.
    if unsold == places.number {
        events::reopen_if_first_unsold(tx, places.event, places.number)?;
    }
    Ok(())
}

/// Takes free places. A place whose hold has run out is free: where there is none else, those are collected first.
fn take(tx: &Transaction<'_>, sql: &str, places: Places) -> Result<i64> {
    if let Some(unsold) = claim(tx, sql, places)? {
        return Ok(unsold);
    }
    let freed = settlement::expire_holds_of(tx, places.event)? > 0;
    let unsold = if freed { claim(tx, sql, places)? } else { None };
    unsold.ok_or_else(|| Error::conflict(Reason::SoldOut, "there are not enough places left"))
}

/// Runs one of the conditional updates; `None` where its condition does not hold, else the type's unsold places.
fn claim(tx: &Transaction<'_>, sql: &str, places: Places) -> Result<Option<i64>> {
    let binds = [places.ticket_type.into(), places.event.into(), places.number.into()];
    tx.one(sql, &binds, |row| row.get(1))
}

/// How many places orders hold now, over all organizations.
pub(crate) fn held(tx: &Transaction<'_>) -> Result<u64> {
    tx.one(HELD, &[tx.now().into()], |row| row.count(0)).map(Option::unwrap_or_default)
}

fn close_if_last(tx: &Transaction<'_>, places: Places, unsold: i64) -> Result<()> {
    if unsold == 0 { events::close_if_sold_out(tx, places.event) } else { Ok(()) }
}

fn miscounted(places: Places) -> Error {
    Error::Internal(format!("{} has fewer places counted than it has orders and tickets", places.ticket_type))
}
