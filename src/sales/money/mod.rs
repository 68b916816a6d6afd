//! Payments and refunds: what is decided, what the gateway says, and what follows.

pub(crate) mod gateway_facts;
pub(crate) mod manual_payments;
pub(crate) mod manual_refunds;
pub(super) mod money_notifications;
pub(crate) mod order_balances;
pub(crate) mod partial_refunds;
pub(crate) mod payment_checks;
pub(crate) mod received_payments;
pub(crate) mod refund_attempts;
pub(crate) mod refund_lifecycle;
pub(crate) mod refund_outcomes;
pub(crate) mod statement_lines;
