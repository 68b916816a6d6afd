//! How many seats of a ticket type are sold and reserved, and the other sales figures of a ticket type that change with
//! its seats. Every change is one conditional UPDATE, so that `sold + held <= quantity` holds under any concurrency.
//!
//! The figures are what the summary of an event reads. They are kept in the row that the transaction updates anyway, so
//! that they cost a sale no statement. Sums stop at 2^63 - 1. `sales_figures` changes the figures that change without
//! seats.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::{EventId, TicketTypeId};
use crate::rules::money::pricing::ItemPrice;
use crate::store::columns::row_struct;
use crate::store::{Bind, LockedEvent, Query, Transaction};

const SELL: &str = "UPDATE ticket_types SET sold = sold + ?3, used = 1,
        completed_orders = completed_orders + ?4, expired_orders = expired_orders - ?5,
        revenue = CASE WHEN revenue > 9223372036854775807 - ?6 THEN 9223372036854775807 ELSE revenue + ?6 END,
        discount_total = CASE WHEN discount_total > 9223372036854775807 - ?7 THEN 9223372036854775807
            ELSE discount_total + ?7 END,
        manual_payment_total = CASE WHEN manual_payment_total > 9223372036854775807 - ?8 THEN 9223372036854775807
            ELSE manual_payment_total + ?8 END,
        issued_tickets = issued_tickets + ?9, imported_tickets = imported_tickets + ?10
    WHERE id = ?1 AND +event_id = ?2 AND sold + held + ?3 <= quantity RETURNING quantity - sold AS unsold";
const RESERVE: &str = "UPDATE ticket_types SET held = held + ?3, used = 1, pending_orders = pending_orders + ?4
    WHERE id = ?1 AND +event_id = ?2 AND sold + held + ?3 <= quantity RETURNING quantity - sold AS unsold";
const SELL_RESERVED: &str = "UPDATE ticket_types SET sold = sold + ?3, held = held - ?3,
        pending_orders = pending_orders - ?4, completed_orders = completed_orders + ?4,
        revenue = CASE WHEN revenue > 9223372036854775807 - ?5 THEN 9223372036854775807 ELSE revenue + ?5 END,
        discount_total = CASE WHEN discount_total > 9223372036854775807 - ?6 THEN 9223372036854775807
            ELSE discount_total + ?6 END,
        manual_payment_total = CASE WHEN manual_payment_total > 9223372036854775807 - ?7 THEN 9223372036854775807
            ELSE manual_payment_total + ?7 END,
        issued_tickets = issued_tickets + ?8
    WHERE id = ?1 AND +event_id = ?2 AND held >= ?3 RETURNING quantity - sold AS unsold";
const RELEASE: &str = "UPDATE ticket_types SET held = held - ?3, pending_orders = pending_orders - ?4,
        expired_orders = expired_orders + ?5, cancelled_orders = cancelled_orders + ?6
    WHERE id = ?1 AND +event_id = ?2 AND held >= ?3";
const RESTOCK: &str = "UPDATE ticket_types SET sold = sold - ?3, cancelled_tickets = cancelled_tickets + ?3,
        checked_in_tickets = checked_in_tickets - ?4, issued_tickets = issued_tickets - ?5,
        imported_tickets = imported_tickets - ?6
    WHERE id = ?1 AND +event_id = ?2 AND sold >= ?3 RETURNING quantity - sold AS unsold";

const AVAILABLE: &str = "SELECT id, name, quantity - sold - held AS available, held FROM ticket_types
    WHERE id = ?1 AND +event_id = ?2";

// `held` still includes pending orders whose hold has expired. There are few of those, and few ticket types, so that
// this reads far fewer rows than the order items of all pending orders.
const RESERVED: &str = "SELECT CAST((SELECT COALESCE(SUM(held), 0) FROM ticket_types) - (
        SELECT COALESCE(SUM(i.quantity), 0) FROM orders o JOIN order_items i ON i.order_id = o.id
        WHERE o.status = 'PENDING' AND o.hold_until <= ?1) AS BIGINT) AS reserved";

/// A number of seats of one ticket type, and the other figures of the order that they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seats {
    pub(crate) event: EventId,
    pub(crate) ticket_type: TicketTypeId,
    pub(crate) count: i64,
    /// How many orders are counted with the seats: 1 for the first ticket type of an order, so that each order is
    /// counted once, and otherwise 0.
    pub(crate) orders: i64,
    /// What the seats cost after the discount, in minor units.
    pub(crate) revenue: i64,
    /// The discount on the seats, in minor units.
    pub(crate) discount: i64,
    /// How many of the seats are for tickets that the organizer issues without an order.
    pub(crate) issued: i64,
    /// How many of the seats are for tickets that are imported.
    pub(crate) imported: i64,
}

impl Seats {
    /// Seats that belong to no order, or whose order is counted apart from them.
    pub(crate) fn uncounted(event: EventId, ticket_type: TicketTypeId, count: i64) -> Self {
        Self { event, ticket_type, count, orders: 0, revenue: 0, discount: 0, issued: 0, imported: 0 }
    }

    /// Seats for tickets that the organizer issues without an order.
    pub(crate) fn without_order(event: EventId, ticket_type: TicketTypeId, count: i64) -> Self {
        Self { issued: count, ..Self::uncounted(event, ticket_type, count) }
    }

    /// Seats for tickets that are imported.
    pub(crate) fn of_import(event: EventId, ticket_type: TicketTypeId, count: i64) -> Self {
        Self { imported: count, ..Self::uncounted(event, ticket_type, count) }
    }

    /// The seats of an order by ticket type, in the order in which ticket types are locked. The order is counted in the
    /// first.
    pub(crate) fn of_order(event: EventId, items: impl IntoIterator<Item = (TicketTypeId, ItemPrice)>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for (ticket_type, item) in items {
            let index = match sums.iter().position(|sum| sum.ticket_type == ticket_type) {
                Some(index) => index,
                None => {
                    sums.push(Self::uncounted(event, ticket_type, 0));
                    sums.len() - 1
                }
            };
            let sum = &mut sums[index];
            sum.count = sum.count.saturating_add(item.quantity);
            sum.revenue = sum.revenue.saturating_add(item.final_amount());
            sum.discount = sum.discount.saturating_add(item.discount);
        }
        sums.sort_by_key(|sum| sum.ticket_type);
        if let Some(first) = sums.first_mut() {
            first.orders = 1;
        }
        sums
    }
}

/// How the order was paid that seats are sold to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaidThrough {
    /// The payment gateway. Also used for orders that cost nothing, and for seats without an order.
    Gateway,
    /// The organizer marked the order as paid.
    AnotherWay,
}

impl PaidThrough {
    /// The part of the revenue of these seats that was not paid through the gateway.
    fn manual_payment(self, seats: &Seats) -> i64 {
        match self {
            Self::Gateway => 0,
            Self::AnotherWay => seats.revenue,
        }
    }
}

/// Sells available seats, and counts their order as completed. `expired_orders` is the number of orders that were
/// counted as expired before. Returns how many seats of the type are unsold now, or `None` if too few were available.
pub(crate) fn sell(
    tx: &LockedEvent<'_>,
    seats: Seats,
    expired_orders: i64,
    paid_through: PaidThrough,
) -> Result<Option<i64>> {
    let figures = [
        seats.orders.into(),
        expired_orders.into(),
        seats.revenue.into(),
        seats.discount.into(),
        paid_through.manual_payment(&seats).into(),
        seats.issued.into(),
        seats.imported.into(),
    ];
    update_if_possible(tx, SELL, seats, figures)
}

/// Reserves available seats for a pending order. Returns `None` if too few were available.
pub(crate) fn reserve(tx: &LockedEvent<'_>, seats: Seats) -> Result<Option<i64>> {
    update_if_possible(tx, RESERVE, seats, [seats.orders.into()])
}

/// Turns reserved seats into sold ones, and counts their order as completed. Returns how many seats of the type are
/// unsold now.
pub(crate) fn sell_reserved(tx: &LockedEvent<'_>, seats: Seats, paid_through: PaidThrough) -> Result<i64> {
    let figures = [
        seats.orders.into(),
        seats.revenue.into(),
        seats.discount.into(),
        paid_through.manual_payment(&seats).into(),
        seats.issued.into(),
    ];
    update_if_possible(tx, SELL_RESERVED, seats, figures)?.ok_or_else(|| inconsistent(seats))
}

/// Frees the reserved seats of an order, and counts it with its new status: EXPIRED or CANCELLED.
pub(crate) fn release(tx: &LockedEvent<'_>, seats: Seats, status: OrderStatus) -> Result<()> {
    let orders_now = |counted: OrderStatus| if counted == status { seats.orders } else { 0 };
    let binds = [
        seats.ticket_type.into(),
        seats.event.into(),
        seats.count.into(),
        seats.orders.into(),
        orders_now(OrderStatus::Expired).into(),
        orders_now(OrderStatus::Cancelled).into(),
    ];
    match tx.execute_counted(RELEASE, &binds)? {
        0 => Err(inconsistent(seats)),
        _ => Ok(()),
    }
}

/// Frees the seats of cancelled tickets. `checked_in` is the number of these tickets that were checked in. Returns how
/// many seats of the type are unsold now.
pub(crate) fn restock(tx: &LockedEvent<'_>, seats: Seats, checked_in: i64) -> Result<i64> {
    let figures = [checked_in.into(), seats.issued.into(), seats.imported.into()];
    update_if_possible(tx, RESTOCK, seats, figures)?.ok_or_else(|| inconsistent(seats))
}

/// Returns the number of unsold seats after the update, or `None` if its condition did not hold.
fn update_if_possible<const N: usize>(
    tx: &LockedEvent<'_>,
    sql: &str,
    seats: Seats,
    figures: [Bind<'_>; N],
) -> Result<Option<i64>> {
    let mut binds = vec![seats.ticket_type.into(), seats.event.into(), seats.count.into()];
    binds.extend(figures);
    tx.query_opt(Query::changing(sql), &binds, |row| row.get("unsold"))
}

row_struct! {
    /// The seats of a ticket type that are not sold.
    pub(crate) struct AvailableSeats(row) {
        /// The name of the ticket type.
        pub(crate) ticket_type: String => name,
        /// Without those of expired holds.
        pub(crate) available: i64,
        /// With those of expired holds.
        pub(crate) reserved: i64 => held,
    }
}

/// Returns the name of a ticket type and the numbers of its available and reserved seats.
pub(crate) fn available(tx: &Transaction<'_>, seats: Seats) -> Result<AvailableSeats> {
    let binds = [seats.ticket_type.into(), seats.event.into()];
    let found = tx.query_opt(AVAILABLE, &binds, AvailableSeats::read)?;
    found.ok_or(Error::NotFound(ResourceKind::TicketType))
}

/// How many seats pending orders reserve now, and allocations whose tickets are being issued, over all organizations.
pub(crate) fn reserved(tx: &Transaction<'_>) -> Result<u64> {
    tx.query_opt(RESERVED, &[tx.now().into()], |row| row.count("reserved")).map(Option::unwrap_or_default)
}

fn inconsistent(seats: Seats) -> Error {
    Error::Internal(format!("the seat counts of {} are lower than its orders and tickets require", seats.ticket_type))
}
