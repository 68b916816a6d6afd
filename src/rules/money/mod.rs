//! Rules about money: prices, the balance of a payment, and when a gateway is asked.

pub(crate) mod amount_limits;
pub(crate) mod balance;
pub(crate) mod checkout_schedule;
pub(crate) mod gateway_choice;
pub(crate) mod payment_check;
pub(crate) mod pricing;
pub(crate) mod refund_share;
