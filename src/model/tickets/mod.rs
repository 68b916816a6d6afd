//! Issued tickets, and the links that lead to them.

pub(crate) mod arrivals;
#[cfg(feature = "documents")]
pub(crate) mod document_link;
#[cfg(feature = "event-pages")]
pub(crate) mod form_token;
pub(crate) mod link_token;
#[cfg(feature = "documents")]
pub(crate) mod linked;
#[cfg(feature = "mail")]
pub(crate) mod mail_facts;
pub(crate) mod report_link;
pub(crate) mod roster;
pub(crate) mod scan;
