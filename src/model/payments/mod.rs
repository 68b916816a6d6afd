//! Payments: checkouts, refunds, disputes, the ledger, and what a gateway reports.

pub(crate) mod checkout;
pub(crate) mod dispute;
pub(crate) mod gateway_report;
pub(crate) mod ledger_entry;
pub(crate) mod notice;
pub(crate) mod order_balance;
pub(crate) mod reconciliation;
pub(crate) mod statement;
