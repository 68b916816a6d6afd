//! The summary of an event: its orders, tickets and revenue.

use super::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::{EventId, TicketTypeId};
use crate::model::values::responses::responses;

responses! {
    /// The sales figures of an event. All of them are from one consistent state of its orders and tickets.
    ///
    /// Amounts are in the currency of the event. A sum of more than 2^63 - 1 minor units is reported as that number.
    pub struct EventSummary {
        /// The event.
        pub event_id: EventId,
        /// The currency of all amounts.
        pub currency: String,
        /// Whether the amounts are real money: LIVE if any was received for the event, and TEST if only tests were
        /// paid. Not set if nothing was received. Real money and that of tests are never added up.
        pub mode: Option<PaymentMode> [default],
        /// The number of orders by status.
        pub orders_by_status: OrdersByStatus,
        /// The sum of the totals of all orders that were ever completed, even if they were cancelled later.
        pub gross_revenue: Amount,
        /// The sum of the discounts of the same orders.
        pub discount_total: Amount,
        /// What the gateway has refunded of the payments of the same orders. A payment that did not complete its order,
        /// because it came too late or the order was marked as paid, is not included.
        pub refunded_total: Amount,
        /// The part of the gross revenue that was not paid through the gateway: the sum of the totals of the same
        /// orders that were marked as paid.
        pub manual_payment_total: Amount [default],
        /// What is still to be returned manually: what was decided to be refunded of the same orders, and what the
        /// gateway does not refund, because they were marked as paid, or because the gateway cannot refund or has
        /// refused to. It no longer counts when the order is marked as refunded.
        pub manual_refund_total: Amount [default],
        /// What was returned manually of the payments of the same orders.
        pub manually_refunded_total: Amount [default],
        /// What has to be returned manually of all payments in this currency for orders of the event, also of those
        /// that did not complete their order.
        pub owed_total: Amount [default],
        /// What banks have taken for disputes and have not given back.
        pub disputed_total: Amount [default],
        /// The number of tickets, including cancelled ones.
        pub tickets_issued: i64,
        /// The number of tickets that are currently checked in.
        pub tickets_checked_in: i64,
        /// The number of cancelled tickets.
        pub tickets_cancelled: i64,
        /// All ticket types, sorted like the list of ticket types.
        pub ticket_types: Vec<TicketTypeSummary>,
    }

    /// The number of orders of an event by status. A pending order counts as EXPIRED as soon as its hold has expired.
    #[derive(Copy)]
    pub struct OrdersByStatus {
        /// Orders that reserve their seats and wait for the payment.
        #[serde(rename = "PENDING")]
        pub pending: i64,
        /// Orders that are paid, or free of charge.
        #[serde(rename = "COMPLETED")]
        pub completed: i64,
        /// Orders that were cancelled.
        #[serde(rename = "CANCELLED")]
        pub cancelled: i64,
        /// Orders that were not paid in time.
        #[serde(rename = "EXPIRED")]
        pub expired: i64,
    }

    /// The figures of one ticket type.
    pub struct TicketTypeSummary {
        /// The id.
        #[serde(rename = "ticketId")]
        pub ticket_type_id: TicketTypeId,
        /// The name.
        pub name: String,
        /// The number of seats.
        pub quantity: i64,
        /// The number of seats taken by tickets that are not cancelled: sold in orders, issued by the
        /// organizer, or imported.
        pub sold: i64,
        /// The number of these whose tickets the organizer has issued without an order, also for allocations. Without
        /// imported ones.
        pub issued_without_order: i64 [default],
        /// The number of these whose tickets were sold elsewhere and imported.
        pub imported: i64 [default],
        /// The number of seats reserved by pending orders, and by allocations whose tickets are being issued.
        pub reserved: i64,
        /// The number of seats that are neither sold nor reserved.
        pub available: i64,
        /// The number of tickets that are currently checked in.
        pub checked_in: i64,
        /// The sum of the items of this type after discounts, in all orders that were ever completed, even if they were
        /// cancelled later. Refunds are not subtracted. The sum over all ticket types is the gross revenue.
        pub revenue: Amount,
    }
}
