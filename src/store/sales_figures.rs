//! The sales figures of ticket types that change without their seats. `seat_counts` has the others.
//!
//! An order and its refunds are counted in the row of its first ticket type, the one with the lowest id. Sums stop at
//! 2^63 - 1.

use super::Transaction;
use crate::error::Result;
use crate::model::id::{OrderId, TicketTypeId};

const CANCEL_COMPLETED: &str = "UPDATE ticket_types
    SET completed_orders = completed_orders - 1, cancelled_orders = cancelled_orders + 1
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)";
const CANCEL_EXPIRED: &str = "UPDATE ticket_types
    SET expired_orders = expired_orders - 1, cancelled_orders = cancelled_orders + 1
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)";
const REFUND: &str = "UPDATE ticket_types SET refunded_total =
        CASE WHEN ?2 > 0 AND refunded_total > 9223372036854775807 - ?2 THEN 9223372036854775807 ELSE refunded_total + ?2 END
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)";
const REFUND_MANUALLY: &str = "UPDATE ticket_types SET manual_refund_total =
        CASE WHEN ?2 > 0 AND manual_refund_total > 9223372036854775807 - ?2 THEN 9223372036854775807 ELSE manual_refund_total + ?2 END
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)";
const COUNT_SCAN: &str = "UPDATE ticket_types SET checked_in_tickets = checked_in_tickets + ?2 WHERE id = ?1";

/// Counts a completed order as cancelled.
pub(crate) fn completed_order_cancelled(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    count(tx, CANCEL_COMPLETED, order)
}

/// Counts an expired order as cancelled.
pub(crate) fn expired_order_cancelled(tx: &Transaction<'_>, order: OrderId) -> Result<()> {
    count(tx, CANCEL_EXPIRED, order)
}

/// Adds an amount, in minor units, to what the gateway has refunded of the prices of orders. It is negative for a refund
/// that has failed later.
pub(crate) fn refunded(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<()> {
    add(tx, REFUND, order, amount)
}

/// Adds an amount, in minor units, to what is to be given back by hand. It is negative for money that was given back.
pub(crate) fn refund_manual(tx: &Transaction<'_>, order: OrderId, amount: i64) -> Result<()> {
    add(tx, REFUND_MANUALLY, order, amount)
}

fn add(tx: &Transaction<'_>, sql: &str, order: OrderId, amount: i64) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute_later(sql, &[order.into(), amount.into()])
}

fn count(tx: &Transaction<'_>, sql: &str, order: OrderId) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute_later(sql, &[order.into()])
}

/// Counts a ticket that was checked in.
pub(crate) fn checked_in(tx: &Transaction<'_>, ticket_type: TicketTypeId) -> Result<()> {
    tx.execute_later(COUNT_SCAN, &[ticket_type.into(), 1_i64.into()])
}

/// Counts a ticket that was checked out.
pub(crate) fn checked_out(tx: &Transaction<'_>, ticket_type: TicketTypeId) -> Result<()> {
    tx.execute_later(COUNT_SCAN, &[ticket_type.into(), (-1_i64).into()])
}
