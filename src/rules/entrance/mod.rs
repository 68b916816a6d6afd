//! The entrance: whether a ticket admits its holder, and what follows from scans that are reported later.

pub(crate) mod admission;
pub(crate) mod door;
pub(crate) mod scan_log;
