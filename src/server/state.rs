//! The state that all routes share.

#[cfg(feature = "documents")]
use std::hash::RandomState;
use std::sync::Arc;

use super::http::base_path::path_of_url;
use super::http::blocking::BlockingService;
use super::http::rate_limit::RateLimits;
use super::http::refusal_log::RefusalLog;
use super::net::body_budget::BodyBudget;
use super::options::ServerOptions;
use super::public::files::Files;
#[cfg(feature = "documents")]
use super::public::link_permits::LinkPermits;
use super::public::metrics::Metrics;
use crate::service::TicketingService;

pub(super) type AppState = Arc<ServerState>;

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) service: BlockingService,
    pub(super) limits: RateLimits,
    /// For notices of the payment gateway until their signature was verified.
    pub(super) unverified_bodies: BodyBudget,
    pub(super) metrics: Metrics,
    pub(super) refusal_log: RefusalLog,
    /// The links of tickets and orders that are being read.
    #[cfg(feature = "documents")]
    pub(super) link_permits: LinkPermits,
    /// Hashes versions of pages into their tags. Other processes, which may show the same in another way, have other
    /// tags.
    #[cfg(feature = "documents")]
    pub(super) page_tags: RandomState,
    pub(super) files: Files,
    /// The service's public URL, if one is set.
    pub(super) public_url: Option<String>,
    /// The path of the public URL.
    pub(super) public_path: String,
}

impl ServerState {
    pub(super) fn new(service: TicketingService, options: &ServerOptions) -> Self {
        Self {
            #[cfg(feature = "documents")]
            link_permits: LinkPermits::default(),
            #[cfg(feature = "documents")]
            page_tags: RandomState::new(),
            limits: RateLimits::new(options),
            files: Files::default(),
            refusal_log: RefusalLog::default(),
            unverified_bodies: BodyBudget::default(),
            metrics: Metrics::new(service.clone(), options.open_connections.clone()),
            public_path: service.public_url().map(path_of_url).unwrap_or_default(),
            public_url: service.public_url().map(str::to_owned),
            service: BlockingService::new(service, options.calls),
        }
    }
}
