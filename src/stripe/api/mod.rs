//! Calls of Stripe's API: the client, its rate, the encoding, and failures.

pub(super) mod client;
pub(super) mod clock_difference;
pub(super) mod failure;
pub(super) mod form;
pub(super) mod key_connection;
