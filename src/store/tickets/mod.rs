//! The tables of tickets and scans, and the links of documents.

pub(crate) mod allocations;
pub(crate) mod arrivals;
#[cfg(feature = "documents")]
pub(crate) mod document_links;
pub(crate) mod imported_tickets;
pub(crate) mod issued_tickets;
pub(crate) mod link_secret;
#[cfg(feature = "documents")]
pub(crate) mod link_versions;
pub(crate) mod report_links;
pub(crate) mod roster;
pub(crate) mod scan_log;
pub(crate) mod scans;
pub(crate) mod ticket_codes;
pub(crate) mod ticket_lists;
