//! The seats of ticket types: selling, reserving and restocking them.
//!
//! `store::sale::seat_counts` changes the counts. This file adds two rules: the seats of expired holds are available,
//! and an event becomes `SOLD_OUT` with its last seat, and `PUBLISHED` again when a seat is restocked.

use super::hold_releases::{ReleaseLimit, release_seats};
use crate::error::{Error, Reason, Result};
use crate::model::sale::order::OrderStatus;
use crate::store::order::order_status;
use crate::store::sale::events;
use crate::store::sale::seat_counts::{self, AvailableSeats, PaidThrough, Seats};
use crate::store::{LockedEvent, Transaction};

/// Sells available seats. Fails with the conflict `sold-out` if there are too few.
pub(in crate::sales) fn sell(tx: &LockedEvent<'_>, seats: Seats, release_limit: &ReleaseLimit) -> Result<()> {
    let sell = |tx: &LockedEvent<'_>, seats| seat_counts::sell(tx, seats, 0, PaidThrough::Gateway);
    let unsold = claim(tx, seats, release_limit, sell)?;
    close_if_sold_out(tx, seats, unsold)
}

/// Reserves available seats for a pending order. Fails with the conflict `sold-out` if there are too few.
pub(in crate::sales) fn reserve(tx: &LockedEvent<'_>, seats: Seats, release_limit: &ReleaseLimit) -> Result<()> {
    claim(tx, seats, release_limit, seat_counts::reserve)?;
    Ok(())
}

/// Fails with the conflict `sold-out` if too few seats are available, unless holds of the event have expired: their seats
/// may be enough.
pub(in crate::sales) fn check_available(tx: &Transaction<'_>, seats: Seats) -> Result<()> {
    let found = seat_counts::available(tx, seats)?;
    if found.available >= seats.count
        || (found.reserved > 0 && !order_status::expired_holds_of_event(tx, seats.event, None, 1)?.is_empty())
    {
        return Ok(());
    }
    Err(sold_out(seats.count, &found))
}

/// Sells available seats to an order that has expired. Fails with the conflict `sold-out` if there are too few.
pub(in crate::sales) fn sell_to_expired(
    tx: &LockedEvent<'_>,
    seats: Seats,
    paid_through: PaidThrough,
    release_limit: &ReleaseLimit,
) -> Result<()> {
    let sell = |tx: &LockedEvent<'_>, seats: Seats| seat_counts::sell(tx, seats, seats.orders, paid_through);
    let unsold = claim(tx, seats, release_limit, sell)?;
    close_if_sold_out(tx, seats, unsold)
}

/// Sells available seats without an order. Fails with the conflict `sold-out`, which tells how many are left, if there are
/// too few.
pub(in crate::sales) fn sell_without_order(
    tx: &LockedEvent<'_>,
    seats: Seats,
    release_limit: &ReleaseLimit,
) -> Result<()> {
    let sell = |tx: &LockedEvent<'_>, seats| seat_counts::sell(tx, seats, 0, PaidThrough::Gateway);
    match try_claim(tx, seats, release_limit, sell)? {
        Claim::Unsold(unsold) => close_if_sold_out(tx, seats, unsold),
        Claim::TooFew(found) => Err(too_few_left(&found)),
    }
}

/// Reserves available seats for tickets that are issued later. Fails like [`sell_without_order`].
pub(in crate::sales) fn set_aside(tx: &LockedEvent<'_>, seats: Seats, release_limit: &ReleaseLimit) -> Result<()> {
    match try_claim(tx, seats, release_limit, seat_counts::reserve)? {
        Claim::Unsold(_) => Ok(()),
        Claim::TooFew(found) => Err(too_few_left(&found)),
    }
}

/// Makes seats available again that were set aside.
pub(in crate::sales) fn return_set_aside(tx: &LockedEvent<'_>, seats: Seats) -> Result<()> {
    seat_counts::release(tx, seats, OrderStatus::Cancelled)
}

pub(in crate::sales) fn sell_reserved(tx: &LockedEvent<'_>, seats: Seats, paid_through: PaidThrough) -> Result<()> {
    let unsold = seat_counts::sell_reserved(tx, seats, paid_through)?;
    close_if_sold_out(tx, seats, unsold)
}

/// Frees the seats of cancelled tickets, of which `checked_in` were checked in.
pub(in crate::sales) fn restock(tx: &LockedEvent<'_>, seats: Seats, checked_in: i64) -> Result<()> {
    let unsold = seat_counts::restock(tx, seats, checked_in)?;
    // If this type had unsold seats before, the event was not sold out.
    if unsold == seats.count {
        events::reopen_if_first_unsold(tx, seats.event, seats.count)?;
    }
    Ok(())
}

/// The outcome of an attempt to claim seats.
enum Claim {
    /// They are claimed. This many seats of the type are unsold now.
    Unsold(i64),
    /// There are too few, and nothing was claimed.
    TooFew(AvailableSeats),
}

/// Claims available seats with `claim`, and returns the number of unsold seats of the type. Fails if there are too few.
fn claim(
    tx: &LockedEvent<'_>,
    seats: Seats,
    release_limit: &ReleaseLimit,
    claim: impl Fn(&LockedEvent<'_>, Seats) -> Result<Option<i64>>,
) -> Result<i64> {
    match try_claim(tx, seats, release_limit, claim)? {
        Claim::Unsold(unsold) => Ok(unsold),
        Claim::TooFew(found) => Err(sold_out(seats.count, &found)),
    }
}

/// Claims available seats with `claim`. If there are too few, releases seats of expired holds and tries once more.
fn try_claim(
    tx: &LockedEvent<'_>,
    seats: Seats,
    release_limit: &ReleaseLimit,
    claim: impl Fn(&LockedEvent<'_>, Seats) -> Result<Option<i64>>,
) -> Result<Claim> {
    if let Some(unsold) = claim(tx, seats)? {
        return Ok(Claim::Unsold(unsold));
    }
    let found = make_available(tx, seats, release_limit)?;
    if found.available >= seats.count
        && let Some(unsold) = claim(tx, seats)?
    {
        return Ok(Claim::Unsold(unsold));
    }
    Ok(Claim::TooFew(found))
}

/// Releases seats of expired holds, so that this number of seats is available. If there are too few, changes nothing.
/// Returns how many are available, with those of expired holds if they are needed.
pub(in crate::sales) fn make_available(
    tx: &LockedEvent<'_>,
    seats: Seats,
    release_limit: &ReleaseLimit,
) -> Result<AvailableSeats> {
    let mut found = seat_counts::available(tx, seats)?;
    let needed = seats.count - found.available;
    // Usually a ticket type that is sold out has no reserved seats, and there is nothing to look for.
    if needed > 0 && found.reserved > 0 {
        found.available += release_seats(tx, seats.event, seats.ticket_type, needed, release_limit)?;
    }
    Ok(found)
}

fn sold_out(wanted: i64, found: &AvailableSeats) -> Error {
    let AvailableSeats { ticket_type, available, .. } = found;
    let detail = match available {
        1.. => format!("fewer than {wanted} seats of the ticket type {ticket_type} are available"),
        _ => format!("the ticket type {ticket_type} is sold out"),
    };
    Error::conflict(Reason::SoldOut, detail)
}

/// For the organizer, who may know how many seats are left.
fn too_few_left(AvailableSeats { ticket_type, available, .. }: &AvailableSeats) -> Error {
    let detail = match available {
        1 => format!("1 seat of the ticket type {ticket_type} is left"),
        2.. => format!("{available} seats of the ticket type {ticket_type} are left"),
        _ => format!("the ticket type {ticket_type} is sold out"),
    };
    Error::conflict(Reason::SoldOut, detail)
}

fn close_if_sold_out(tx: &LockedEvent<'_>, seats: Seats, unsold: i64) -> Result<()> {
    if unsold == 0 { events::close_if_sold_out(tx, seats.event) } else { Ok(()) }
}
