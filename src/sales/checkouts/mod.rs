//! Checkouts: the transactions before and after the gateway is asked for one, or about one.

pub(crate) mod checkout_attempts;
pub(crate) mod checkout_links;
pub(crate) mod checkout_renewal;
pub(crate) mod hosted_checkout;
