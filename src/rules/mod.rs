//! Pure decisions: what a request may hold, which status may follow which, what an order costs, who enters. Nothing here
//! reads a clock, draws random bytes or queries a database.

pub(crate) mod admission;
pub(crate) mod api_key;
pub(crate) mod calendar;
pub(crate) mod delivery;
pub(crate) mod discount;
pub(crate) mod event;
pub(crate) mod money;
pub(crate) mod order;
pub(crate) mod organization;
pub(crate) mod page;
pub(crate) mod pricing;
pub(crate) mod public_address;
pub(crate) mod refund;
pub(crate) mod text;
pub(crate) mod ticket;
pub(crate) mod ticket_type;
pub(crate) mod webhook;
pub(crate) mod webhook_url;

/// A value that passed its check. Only this module makes one, so only what was checked can be stored.
#[derive(Debug, Clone)]
pub(crate) struct Checked<T>(T);

impl<T> std::ops::Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
