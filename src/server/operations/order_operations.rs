//! Operations on orders.

use super::operation::Operation;
use crate::enums::scope::Scope::{OrdersRead, OrdersWrite, PaymentsWrite};
use crate::error::Reason::{
    CheckoutInProgress, DiscountUsedUp, EventCancelled, EventNotOnSale, LimitReached, MaxPerOrderExceeded,
    OrderNotCancellable, OrderNotPending, PaymentInProgress, SaleEnded, SaleNotStarted, SoldOut, TicketTypeNotOnSale,
};
use crate::form::request::Request;
use crate::model::payments::received_payment::MarkPaid;
use crate::model::sale::new_order::CreateOrder;
use crate::model::sale::order::ListOrders;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_orders", "/orders", OrdersRead, |call, request: ListOrders| {
            call.service.list_orders(call.caller, request)
        })
        .docs("List orders", "Newest first, without their tickets."),
        Operation::create(
            "create_order",
            "/orders",
            OrdersWrite,
            |call, request: Request<CreateOrder>| call.service.create_order(call.keyed, request),
            |created| format!("orders/{}", created.order.id),
        )
        .starts_checkout()
        .docs(
            "Create an order",
            "An order with a total of 0 is COMPLETED at once. Any other order is PENDING: it reserves its seats for a \
             limited time and waits for payment at `checkoutUrl`. With the payment PAID, which also needs the scope \
             `payments:write`, it is COMPLETED at once: the money was received, in cash for example. If several conflicts apply, the response reports the \
             one that comes first in the list of reasons.",
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
        Operation::get("get_order", "/orders/{orderId}", OrdersRead, |call| {
            call.service.get_order(call.caller, call.id())
        })
        .docs("Get an order", ""),
        Operation::get("get_order_details", "/orders/{orderId}/details", OrdersRead, |call| {
            call.service.get_order_details(call.caller, call.id())
        })
        .docs(
            "Get an order's details",
            "What the order itself does not contain: fields of its request, when it was completed and cancelled, how it \
             was paid, and what of it was given back.",
        ),
        Operation::get("get_checkout", "/orders/{orderId}/checkout", OrdersRead, |call| {
            call.service.get_checkout(call.caller, call.id())
        })
        .docs(
            "Get an order's checkout",
            "Whether the payment gateway still has to close it, when it ends, and the gateway's ids of the checkout and \
             of the payment. An order for which the gateway was not asked for a checkout has none (404).",
        ),
        Operation::action_on("renew_checkout", "/orders/{orderId}/checkout", OrdersWrite, |call| {
            call.service.renew_checkout(call.keyed, call.id())
        })
        .starts_checkout()
        .docs(
            "Renew an order's checkout",
            "For a PENDING order whose checkout has failed or ended: returns a new URL at which the customer can pay. A \
             checkout that is still open is returned as it is, so that an order is never payable at two URLs. The seats \
             stay reserved until the same time as before. A checkout can be renewed 10 times.",
        )
        .conflicts(&[OrderNotPending, CheckoutInProgress, PaymentInProgress, LimitReached]),
        Operation::action_on("cancel_order", "/orders/{orderId}/cancel", OrdersWrite, |call| {
            call.service.cancel_order(call.keyed, call.id())
        })
        .calls_gateway()
        .docs(
            "Cancel an order",
            "Releases its seats and its discount use, cancels its tickets, and refunds a payment made through the \
             payment gateway. If the order is COMPLETED and cost something, this needs the scope `payments:write` too: \
             its payment goes back.",
        )
        .conflicts(&[OrderNotCancellable]),
        Operation::action_with_options(
            "mark_order_paid",
            "/orders/{orderId}/mark-paid",
            PaymentsWrite,
            |call, request: Request<MarkPaid>| call.service.mark_order_paid(call.keyed, call.id(), request),
        )
        .docs(
            "Mark an order as paid",
            "For a payment that was not made through the payment gateway. An EXPIRED order is completed too if its \
             seats and its discount use are still available.",
        )
        .conflicts(&[OrderNotPending, EventCancelled, SoldOut, DiscountUsedUp]),
        Operation::action_on("mark_checkout_reminder_sent", "/orders/{orderId}/reminder-sent", OrdersWrite, |call| {
            call.service.mark_checkout_reminder_sent(call.keyed, call.id())
        })
        .docs("Mark a checkout reminder as sent", "Sets the order's `checkoutReminderSent`.")
        .conflicts(&[OrderNotPending]),
    ]
}
