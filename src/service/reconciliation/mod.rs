//! Reconciliation: the statements of the payment gateway are compared with what is recorded.

pub(super) mod account;
pub(super) mod lines;
pub(super) mod orphans;
pub(super) mod progress;
pub(super) mod run;
