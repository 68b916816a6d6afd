//! Tickets: check-in, tickets without an order, and what a link leads to.

pub(crate) mod check_in;
pub(crate) mod report_links;
pub(crate) mod scan_uploads;
pub(crate) mod server_scans;
pub(crate) mod ticket_allocation;
pub(crate) mod ticket_imports;
pub(crate) mod ticket_issuing;
