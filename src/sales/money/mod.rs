//! Payments and refunds: what is decided, what the gateway says, and what follows.

pub(crate) mod manual_payments;
pub(super) mod money_notifications;
pub(crate) mod order_balances;
pub(crate) mod refund_lifecycle;
pub(crate) mod refund_outcomes;
pub(crate) mod statement_lines;
