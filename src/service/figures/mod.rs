//! Figures: sales of an event, usage of organizations, statistics, subscriptions.

pub(super) mod event_summary;
pub(super) mod organization_usage;
pub(super) mod statistics;
pub(super) mod subscriptions;
