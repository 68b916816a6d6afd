//! Orders over HTTP.

use super::operation::{Answer, Call, Operation};
use super::problem::Problem;
use crate::model::scope::Scope::{OrdersRead, OrdersWrite};

pub(super) const OPERATIONS: [Operation; 7] = [
    Operation::get("/orders", OrdersRead, list),
    Operation::post("/orders", OrdersWrite, create).that_may_wait_for_the_gateway(),
    Operation::get("/orders/{orderId}", OrdersRead, get),
    Operation::get("/orders/{orderId}/details", OrdersRead, get_details),
    Operation::act("/orders/{orderId}/cancel", OrdersWrite, cancel).that_may_wait_for_the_gateway(),
    Operation::act("/orders/{orderId}/mark-paid", OrdersWrite, mark_paid),
    Operation::act("/orders/{orderId}/reminder-sent", OrdersWrite, mark_reminder_sent),
];

fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.list_orders(call.caller, call.query()?)?)
}

fn create(call: &Call<'_>) -> Result<Answer, Problem> {
    let placed = call.service.create_order(call.caller, call.json()?)?;
    Ok(Answer::created(&placed)?.at("orders", placed.order.id))
}

fn get(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_order(call.caller, call.id()?)?)
}

fn get_details(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_order_details(call.caller, call.id()?)?)
}

fn cancel(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.cancel_order(call.caller, call.id()?)?)
}

fn mark_paid(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.mark_order_paid(call.caller, call.id()?)?)
}

fn mark_reminder_sent(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.mark_checkout_reminder_sent(call.caller, call.id()?)?)
}
