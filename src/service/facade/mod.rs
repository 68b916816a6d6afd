//! The operations: a file for each resource.

// rustdoc shows the methods in the order of these modules.

pub(super) mod organizations;

pub(super) mod allocations;
mod api_keys;

pub(super) mod events;

pub(super) mod ticket_types;

pub(super) mod discounts;

pub(super) mod orders;

pub(super) mod payment_links;

pub(super) mod payments;

pub(super) mod refunds;

pub(super) mod disputes;

pub(super) mod cancelled_events;

pub(super) mod ledger;

pub(super) mod tickets;

pub(super) mod door;

pub(super) mod reports;

#[cfg(feature = "documents")]
pub(super) mod document_links;
#[cfg(feature = "documents")]
pub(super) mod documents;
#[cfg(feature = "event-pages")]
mod event_covers;

#[cfg(feature = "event-pages")]
pub(crate) mod event_pages;

pub(super) mod webhooks;

#[cfg(feature = "mail")]
pub(super) mod mails;
