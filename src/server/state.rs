//! The state that all routes share.

use std::sync::Arc;

use super::blocking::BlockingService;
use super::metrics::Metrics;
use super::rate_limit::RateLimits;

#[derive(Debug, Clone)]
pub(super) struct AppState {
    pub(super) service: BlockingService,
    pub(super) limits: Arc<RateLimits>,
    pub(super) metrics: Arc<Metrics>,
}
