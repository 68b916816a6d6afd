//! Operations on orders.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{OrdersRead, OrdersWrite, PaymentsWrite};
use crate::error::Reason::{
    CheckoutInProgress, DiscountUsedUp, EventCancelled, EventNotOnSale, LimitReached, MaxPerOrderExceeded,
    OrderNotCancellable, OrderNotPending, PaymentInProgress, SaleEnded, SaleNotStarted, SoldOut, TicketTypeNotOnSale,
};
use crate::model::sale::new_order::CreateOrder;
use crate::model::sale::order::ListOrders;
use crate::model::sale::received_payment::MarkPaid;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_orders::<ListOrders>(caller), "/orders", OrdersRead)
            .docs("List orders", "Newest first, without their tickets."),
        operation!(
            create_prepared,
            create_order by prepare_order::<CreateOrder>(keyed),
            "/orders",
            OrdersWrite,
            |created| &created.order.id
        )
        .starts_checkout()
        .docs(
            "Create an order",
            "An order with a total of 0 is COMPLETED at once. Any other order is PENDING: it reserves its seats \
                 for a limited time and waits for payment at `checkoutUrl`. With the payment PAID, which also needs \
                 the scope `payments:write`, it is COMPLETED at once: the money was received, in cash for example. If \
                 several conflicts apply, the response reports the one that comes first in the list of reasons.",
        )
        .conflicts(&[
            EventNotOnSale,
            TicketTypeNotOnSale,
            SaleNotStarted,
            SaleEnded,
            MaxPerOrderExceeded,
            LimitReached,
            SoldOut,
        ]),
        operation!(get, get_order(caller, id), "/orders/{orderId}", OrdersRead).docs("Get an order", ""),
        operation!(get, get_order_details(caller, id), "/orders/{orderId}/details", OrdersRead).docs(
            "Get an order's details",
            "What the order itself does not contain: fields of its request, when it was completed and cancelled, \
             how it was paid, and what of it was given back.",
        ),
        operation!(get, get_checkout(caller, id), "/orders/{orderId}/checkout", OrdersRead).docs(
            "Get an order's checkout",
            "Whether the payment gateway still has to close it, when it ends, and the gateway's ids of the \
             checkout and of the payment. An order for which the gateway was not asked for a checkout has none \
             (404).",
        ),
        operation!(action_on, renew_checkout(keyed, id), "/orders/{orderId}/checkout", OrdersWrite)
            .starts_checkout()
            .docs(
                "Renew an order's checkout",
                "For a PENDING order whose checkout has failed or ended: returns a new URL at which the customer can \
                 pay. A checkout that is still open is returned as it is, so that an order is never payable at two \
                 URLs. The seats stay reserved until the same time as before. A checkout can be renewed 10 times.",
            )
            .conflicts(&[OrderNotPending, CheckoutInProgress, PaymentInProgress, LimitReached]),
        operation!(action_on, cancel_order(keyed, id), "/orders/{orderId}/cancel", OrdersWrite)
            .calls_gateway()
            .docs(
                "Cancel an order",
                "Releases its seats and its discount use, cancels its tickets, and refunds a payment made through the \
                 payment gateway. If the order is COMPLETED and cost something, this needs the scope `payments:write` \
                 too: its payment goes back.",
            )
            .conflicts(&[OrderNotCancellable]),
        operation!(
            action_with_options,
            mark_order_paid::<MarkPaid>(keyed, id),
            "/orders/{orderId}/mark-paid",
            PaymentsWrite
        )
        .docs(
            "Mark an order as paid",
            "For a payment that was not made through the payment gateway. An EXPIRED order is completed too if \
             its seats and its discount use are still available.",
        )
        .conflicts(&[OrderNotPending, EventCancelled, SoldOut, DiscountUsedUp]),
        operation!(action_on, mark_checkout_reminder_sent(keyed, id), "/orders/{orderId}/reminder-sent", OrdersWrite)
            .docs("Mark a checkout reminder as sent", "Sets the order's `checkoutReminderSent`.")
            .conflicts(&[OrderNotPending]),
    ]
}
