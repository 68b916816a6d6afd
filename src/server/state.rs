//! The state that all routes share.

#[cfg(feature = "documents")]
use std::hash::RandomState;
use std::sync::Arc;

use axum::http::HeaderName;

use super::http::base_path::path_of_url;
use super::http::blocking::BlockingService;
use super::http::held_bytes::HeldBytes;
use super::http::rate_limit::RateLimits;
use super::http::refusal_log::RefusalLog;
#[cfg(feature = "event-pages")]
use super::http::representation::Representation;
use super::options::ServerOptions;
use super::prometheus::metrics::Metrics;
use super::public::files::Files;
use super::public::page_cache::PageCache;
use crate::fair::InUse;
use crate::model::sale::event_report::EventReport;
use crate::model::tickets::arrivals::ReportedArrivals;
use crate::service::TicketingService;

pub(super) type AppState = Arc<ServerState>;

/// How many requests of one link are answered at the same time.
pub(super) const MAX_REQUESTS_OF_LINK: usize = 4;

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) service: BlockingService,
    pub(super) limits: RateLimits,
    /// Large bodies in memory: 512 MiB.
    pub(super) memory: HeldBytes,
    /// Files of exports: 8 GiB, two of an organization.
    #[cfg(feature = "exports")]
    pub(super) export_files: HeldBytes,
    pub(super) metrics: Metrics,
    pub(super) refusal_log: RefusalLog,
    /// The requests in progress by the token of their link. A link has no API key and so no rate limit: without this, a
    /// thousand requests of one link would keep those of all others waiting.
    pub(super) requests_of_links: InUse<String>,
    /// Hashes versions of pages into their tags. Other processes, which may show the same in another way, have other
    /// tags.
    #[cfg(feature = "documents")]
    pub(super) page_tags: RandomState,
    pub(super) files: Files,
    /// Pages of events.
    #[cfg(feature = "event-pages")]
    pub(super) kept_pages: PageCache<Representation>,
    /// What reports show.
    pub(super) kept_reports: PageCache<Arc<EventReport<ReportedArrivals>>>,
    /// The service's public URL, if one is set.
    pub(super) public_url: Option<String>,
    pub(super) public_path: String,
    pub(super) client_address_header: Option<HeaderName>,
}

impl ServerState {
    pub(super) fn new(service: TicketingService, options: &ServerOptions) -> Self {
        Self {
            requests_of_links: InUse::new(MAX_REQUESTS_OF_LINK),
            #[cfg(feature = "documents")]
            page_tags: RandomState::new(),
            client_address_header: options.client_address_header.clone(),
            limits: RateLimits::new(options),
            files: Files::default(),
            #[cfg(feature = "event-pages")]
            kept_pages: PageCache::default(),
            kept_reports: PageCache::default(),
            refusal_log: RefusalLog::default(),
            memory: HeldBytes::new(512 << 20, usize::MAX),
            #[cfg(feature = "exports")]
            export_files: HeldBytes::new(8 << 30, 2),
            metrics: Metrics::new(service.clone(), options.open_connections.clone()),
            public_path: service.public_url().map(path_of_url).unwrap_or_default(),
            public_url: service.public_url().map(str::to_owned),
            service: BlockingService::new(service, options.calls),
        }
    }
}
