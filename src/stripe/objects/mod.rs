//! What Stripe's API and events contain: sessions, refunds, disputes, statements.

pub(super) mod balance_statement;
pub(super) mod dispute;
pub(super) mod notices;
pub(super) mod refunds_of_payment;
pub(super) mod session;
pub(super) mod session_state;
