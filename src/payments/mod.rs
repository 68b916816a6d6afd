//! What the payment gateway is asked, and when. What its answers mean is in `sales`.

pub(crate) mod checkout_attempts;
pub(crate) mod checkout_lease;
pub(crate) mod checkout_links;
pub(crate) mod checkout_renewal;
pub(crate) mod checkout_settlement;
pub(crate) mod gateway_facts;
pub(crate) mod gateway_notices;
pub(crate) mod gateway_questions;
pub(crate) mod gateway_work;
pub(crate) mod hosted_checkout;
pub(crate) mod look_up_limit;
pub(crate) mod open_checkouts;
pub(crate) mod payment_checks;
pub(crate) mod refund_attempts;
pub(crate) mod reported_payments;

pub(crate) use gateway_questions::Payments;
