//! Tickets: check-in, tickets without an order, and what a link leads to.

pub(crate) mod check_in;
#[cfg(feature = "documents")]
pub(crate) mod linked_documents;
pub(crate) mod ticket_issuing;
