//! Operations on disputes, payments, the ledger and balances.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::OrdersRead;
use crate::model::payments::dispute::ListDisputes;
use crate::model::payments::ledger_entry::ListLedgerEntries;
use crate::model::sale::received_payment::ListPayments;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_disputes::<ListDisputes>(caller), "/disputes", OrdersRead).docs(
            "List disputes",
            "Payments that a customer's bank has taken back, or may take back, newest first. The tickets of a \
             disputed order stay valid.",
        ),
        operation!(list, list_payments::<ListPayments>(caller), "/payments", OrdersRead).docs(
            "List payments",
            "Money that was received for orders, through a payment gateway or manually, newest first. One that \
             did not complete its order goes back: see the refunds.",
        ),
        operation!(list, list_ledger_entries::<ListLedgerEntries>(caller), "/ledger-entries", OrdersRead).docs(
            "List ledger entries",
            "Every movement of money, newest first. An amount is more than 0 if the organizer got it, and less if \
             the organizer gave it. No entry is ever changed or removed, so that their sum is what the organizer \
             has.",
        ),
        operation!(get, get_order_balance(caller, id), "/orders/{orderId}/balance", OrdersRead).docs(
            "Get the balance of an order",
            "What was received for it, what went back, what was decided to go back, and what of that is being \
             asked of the payment gateway, waits for the decision of a bank, or is to be returned manually.",
        ),
    ]
}
