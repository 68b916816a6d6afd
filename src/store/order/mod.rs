//! The tables of orders, and what is read together with them.

pub(in crate::store) mod lists_of_orders;
pub(crate) mod mails;
pub(crate) mod order_details;
pub(crate) mod order_lists;
pub(crate) mod order_status;
pub(crate) mod orders;
#[cfg(feature = "documents")]
pub(crate) mod printed_tickets;
