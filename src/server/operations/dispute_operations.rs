//! Operations on disputes.

use super::operation::Operation;
use crate::enums::scope::Scope::OrdersRead;
use crate::model::payments::dispute::ListDisputes;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_disputes", "/disputes", OrdersRead, |call, request: ListDisputes| {
            call.service.list_disputes(call.caller, request)
        })
        .docs(
            "List disputes",
            "Payments that a customer's bank has taken back, or may take back, newest first. The tickets of a disputed \
             order stay valid.",
        ),
    ]
}
