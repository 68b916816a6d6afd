//! Operations on payments, the ledger and balances.

use super::operation::Operation;
use crate::enums::scope::Scope::OrdersRead;
use crate::model::payments::ledger_entry::ListLedgerEntries;
use crate::model::payments::received_payment::ListPayments;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_payments", "/payments", OrdersRead, |call, request: ListPayments| {
            call.service.list_payments(call.caller, request)
        })
        .docs(
            "List payments",
            "Money that was received for orders, through a payment gateway or manually, newest first. One that did not \
             complete its order goes back: see the refunds.",
        ),
        Operation::list("list_ledger_entries", "/ledger-entries", OrdersRead, |call, request: ListLedgerEntries| {
            call.service.list_ledger_entries(call.caller, request)
        })
        .docs(
            "List ledger entries",
            "Every movement of money, newest first. An amount is more than 0 if the organizer got it, and less if the \
             organizer gave it. No entry is ever changed or removed, so that their sum is what the organizer has.",
        ),
        Operation::get("get_order_balance", "/orders/{orderId}/balance", OrdersRead, |call| {
            call.service.get_order_balance(call.caller, call.id())
        })
        .docs(
            "Get the balance of an order",
            "What was received for it, what went back, what was decided to go back, and what of that is being asked of the \
             payment gateway, waits for the decision of a bank, or is to be returned manually.",
        ),
    ]
}
