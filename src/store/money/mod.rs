//! The tables of payments, checkouts, refunds and disputes, and the ledger.

pub(crate) mod checkout_attempts;
pub(crate) mod checkout_parameters;
pub(crate) mod checkout_renewals;
pub(crate) mod checkouts;
pub(crate) mod disputes;
pub(crate) mod ledger;
pub(in crate::store) mod lists_of_money;
pub(crate) mod payments;
pub(crate) mod reconciliation;
pub(crate) mod refunds;
