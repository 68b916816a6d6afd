//! Routes without an API key: pages, documents, payment webhooks, files, health checks and metrics.

pub(super) mod checkout_return;
pub(super) mod checkout_routes;
#[cfg(feature = "docs-page")]
pub(super) mod docs;
#[cfg(feature = "documents")]
pub(super) mod document_routes;
pub(super) mod door_routes;
#[cfg(feature = "event-pages")]
pub(super) mod event_pages;
pub(super) mod files;
pub(super) mod monitoring;
pub(super) mod notice_routes;
pub(super) mod page_cache;
pub(super) mod report_routes;
mod wrong_tokens;
