//! Issued tickets, and the links that lead to them.

#[cfg(feature = "documents")]
pub(crate) mod document_link;
#[cfg(feature = "documents")]
pub(crate) mod linked;
pub(crate) mod roster;
pub(crate) mod scan;
pub(crate) mod ticket;
