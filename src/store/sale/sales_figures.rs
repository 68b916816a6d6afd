//! The sales figures of ticket types that change without their seats. `seat_counts` has the others.
//!
//! An order and its refunds are counted in the row of its first ticket type, the one with the lowest id. Sums stop at
//! 2^63 - 1.

use crate::error::Result;
use crate::model::sale::order::OrderStatus;
use crate::model::values::id::{OrderId, TicketTypeId};
use crate::store::columns::row_struct;
use crate::store::{LockedEvent, Transaction};

const CANCEL: &str = "UPDATE ticket_types SET completed_orders = completed_orders - ?2,
        expired_orders = expired_orders - ?3, cancelled_orders = cancelled_orders + 1
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)";
const MOVE: &str = "UPDATE ticket_types SET
        refunded_total = CASE WHEN ?2 > 0 AND refunded_total > 9223372036854775807 - ?2
            THEN 9223372036854775807 ELSE refunded_total + ?2 END,
        manually_refunded_total = CASE WHEN ?3 > 0 AND manually_refunded_total > 9223372036854775807 - ?3
            THEN 9223372036854775807 ELSE manually_refunded_total + ?3 END,
        manual_refund_total = CASE WHEN ?4 > 0 AND manual_refund_total > 9223372036854775807 - ?4
            THEN 9223372036854775807 ELSE manual_refund_total + ?4 END,
        owed_total = CASE WHEN ?5 > 0 AND owed_total > 9223372036854775807 - ?5
            THEN 9223372036854775807 ELSE owed_total + ?5 END,
        disputed_total = CASE WHEN ?6 > 0 AND disputed_total > 9223372036854775807 - ?6
            THEN 9223372036854775807 ELSE disputed_total + ?6 END
    WHERE id = (SELECT MIN(ticket_type_id) FROM order_items WHERE order_id = ?1)
        AND (SELECT currency FROM orders WHERE id = ?1) = ?7";
const COUNT_SCAN: &str = "UPDATE ticket_types SET checked_in_tickets = checked_in_tickets + ?2 WHERE id = ?1";

/// Counts an order as cancelled that had this status before: COMPLETED or EXPIRED.
pub(crate) fn order_cancelled(tx: &LockedEvent<'_>, order: OrderId, status: OrderStatus) -> Result<()> {
    let orders_before = |counted: OrderStatus| i64::from(counted == status);
    let (completed, expired) = (orders_before(OrderStatus::Completed), orders_before(OrderStatus::Expired));
    tx.execute(CANCEL, &[order.into(), completed.into(), expired.into()])
}

row_struct! {
    /// Changes of the figures of an event's refunds and disputes, in minor units.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct MoneyFigures(row) {
        /// What the gateway has refunded of payments that completed orders.
        pub(crate) refunded: i64,
        /// What was returned manually of payments that completed orders.
        pub(crate) manually_refunded: i64,
        /// What has to be returned manually of payments that completed orders.
        pub(crate) manual_refund: i64,
        /// What has to be returned manually of all payments.
        pub(crate) owed: i64,
        /// What banks have taken.
        pub(crate) disputed: i64,
    }
}

/// Adds to the figures of refunds and disputes. Those of an event are in the currency of its orders: a payment in another
/// one does not count.
pub(crate) fn money_moved(tx: &LockedEvent<'_>, order: OrderId, currency: &str, change: &MoneyFigures) -> Result<()> {
    if *change == MoneyFigures::default() {
        return Ok(());
    }
    let MoneyFigures { refunded, manually_refunded, manual_refund, owed, disputed } = *change;
    let binds = [
        order.into(),
        refunded.into(),
        manually_refunded.into(),
        manual_refund.into(),
        owed.into(),
        disputed.into(),
        currency.into(),
    ];
    tx.execute(MOVE, &binds)
}

/// Changes the number of tickets of a ticket type that are checked in.
pub(crate) fn inside_changed(tx: &Transaction<'_>, ticket_type: TicketTypeId, by: i64) -> Result<()> {
    tx.execute(COUNT_SCAN, &[ticket_type.into(), by.into()])
}
