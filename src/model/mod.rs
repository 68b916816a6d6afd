//! The types of the public API: resources, requests, ids, amounts, timestamps and pages, with their JSON. No I/O.
//!
//! How to add a field is described in [`crate::form`].

pub(crate) mod notifications;
pub(crate) mod operation;
pub(crate) mod payments;
pub(crate) mod sale;
pub(crate) mod tenants;
pub(crate) mod tickets;
pub(crate) mod values;
