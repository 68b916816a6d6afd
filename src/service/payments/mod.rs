//! When the payment gateway is asked. What its answers mean is in `sales`.

pub(super) mod checkout_links;
pub(super) mod checkout_renewal;
pub(super) mod checkout_settlement;
pub(super) mod claims;
pub(super) mod gateway_facts;
pub(super) mod gateway_groups;
pub(super) mod gateway_notices;
pub(super) mod hosted_checkout;
pub(super) mod open_checkout_attempts;
pub(super) mod open_checkouts;
pub(super) mod payment_checks;
pub(super) mod payment_steps;
pub(super) mod refund_attempts;
