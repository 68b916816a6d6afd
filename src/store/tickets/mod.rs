//! The tables of tickets and scans, and the links of documents.

#[cfg(feature = "documents")]
pub(crate) mod document_links;
pub(crate) mod issued_tickets;
pub(super) mod link_urls;
#[cfg(feature = "documents")]
pub(crate) mod link_versions;
#[cfg(feature = "documents")]
pub(crate) mod printed_tickets;
pub(crate) mod roster;
pub(crate) mod scan_log;
pub(crate) mod scans;
