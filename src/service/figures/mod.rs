//! Figures: exports, usage of organizations, statistics, subscriptions.

#[cfg(feature = "exports")]
mod exports;
pub(super) mod organization_usage;
pub(super) mod statistics;
