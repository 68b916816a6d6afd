//! Figures: sales of an event, exports, usage of organizations, statistics, subscriptions.

pub(super) mod event_summary;
#[cfg(feature = "exports")]
mod exports;
pub(super) mod organization_usage;
pub(super) mod statistics;
pub(super) mod subscriptions;
