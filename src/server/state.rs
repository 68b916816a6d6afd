//! The state that all routes share.

#[cfg(feature = "documents")]
use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::Arc;

use super::http::base_path::path_of_url;
use super::http::blocking::BlockingService;
use super::http::body_memory::BodyMemory;
use super::http::rate_limit::RateLimits;
use super::http::refusal_log::RefusalLog;
use super::options::ServerOptions;
use super::public::files::Files;
use super::public::metrics::Metrics;
use crate::fair::InUse;
use crate::service::TicketingService;

pub(super) type AppState = Arc<ServerState>;

/// How many bytes unverified bodies may have together: 16 MiB. Those of one client network may have an eighth.
const MAX_UNVERIFIED_BYTES: usize = 16 * 1024 * 1024;

/// How many requests of one link are answered at the same time.
#[cfg(feature = "documents")]
pub(super) const MAX_REQUESTS_OF_LINK: usize = 4;

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) service: BlockingService,
    pub(super) limits: RateLimits,
    /// The memory for notices of the payment gateway until their signature was verified, by client network; `None` for
    /// clients without a known address.
    pub(super) unverified_bodies: InUse<Option<IpAddr>>,
    pub(super) body_memory: BodyMemory,
    pub(super) metrics: Metrics,
    pub(super) refusal_log: RefusalLog,
    /// The requests in progress by the token of their link. A link has no API key and so no rate limit: without this, a
    /// thousand requests of one link would keep those of all others waiting.
    #[cfg(feature = "documents")]
    pub(super) requests_of_links: InUse<String>,
    /// Hashes versions of pages into their tags. Other processes, which may show the same in another way, have other
    /// tags.
    #[cfg(feature = "documents")]
    pub(super) page_tags: RandomState,
    pub(super) files: Files,
    /// The service's public URL, if one is set.
    pub(super) public_url: Option<String>,
    pub(super) public_path: String,
}

impl ServerState {
    pub(super) fn new(service: TicketingService, options: &ServerOptions) -> Self {
        Self {
            #[cfg(feature = "documents")]
            requests_of_links: InUse::new(MAX_REQUESTS_OF_LINK, usize::MAX),
            #[cfg(feature = "documents")]
            page_tags: RandomState::new(),
            limits: RateLimits::new(options),
            files: Files::default(),
            refusal_log: RefusalLog::default(),
            unverified_bodies: InUse::new(MAX_UNVERIFIED_BYTES / 8, MAX_UNVERIFIED_BYTES),
            body_memory: BodyMemory::new(),
            metrics: Metrics::new(service.clone(), options.open_connections.clone()),
            public_path: service.public_url().map(path_of_url).unwrap_or_default(),
            public_url: service.public_url().map(str::to_owned),
            service: BlockingService::new(service, options.calls),
        }
    }
}
