//! Orders over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::order::{CreateOrder, ListOrders};
use crate::model::scope::Scope::{OrdersRead, OrdersWrite};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(("list_orders", "/orders", OrdersRead), |call, request: Request<ListOrders>| {
            call.service.list_orders(call.caller, request)
        }),
        Operation::create(
            ("create_order", "/orders", OrdersWrite),
            |call, request: Request<CreateOrder>| call.service.create_order(call.caller, request),
            |placed| format!("orders/{}", placed.order.id),
        )
        .that_may_wait_for_the_gateway(),
        Operation::get(("get_order", "/orders/{orderId}", OrdersRead), |call| {
            call.service.get_order(call.caller, call.id())
        }),
        Operation::get(("get_order_details", "/orders/{orderId}/details", OrdersRead), |call| {
            call.service.get_order_details(call.caller, call.id())
        }),
        Operation::act_on(("cancel_order", "/orders/{orderId}/cancel", OrdersWrite), |call| {
            call.service.cancel_order(call.caller, call.id())
        })
        .that_may_wait_for_the_gateway(),
        Operation::act_on(("mark_order_paid", "/orders/{orderId}/mark-paid", OrdersWrite), |call| {
            call.service.mark_order_paid(call.caller, call.id())
        }),
        Operation::act_on(("mark_checkout_reminder_sent", "/orders/{orderId}/reminder-sent", OrdersWrite), |call| {
            call.service.mark_checkout_reminder_sent(call.caller, call.id())
        }),
    ]
}
