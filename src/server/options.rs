//! The settings of a server.

use std::time::Duration;

use axum::http::HeaderName;
use prometheus_client::metrics::gauge::Gauge;

/// Limits and timeouts of a server. The defaults suit a server that is reachable from the internet.
///
/// [`router`](super::router) and [`Routes`](super::Routes) use [`calls`](Self::calls), [`rate_limit`](Self::rate_limit)
/// and [`failed_authentications`](Self::failed_authentications); [`serve`](super::serve) uses the others. Clones share
/// a count of the open connections: pass clones of the same options to all of them, so that the metric
/// `ticketing_http_connections` is right.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The maximum time for the head of a request, from its first byte on; of the first request, from the start of the
    /// connection. Default: 10 seconds.
    pub head_timeout: Duration,
    /// The maximum time for receiving a request, from the first byte of its head to the last byte of its body. Default:
    /// 20 seconds.
    pub request_timeout: Duration,
    /// How long a connection may be idle between two requests. Default: 60 seconds.
    pub idle_timeout: Duration,
    /// How long the server waits for requests in progress when it shuts down. Default: 10 seconds.
    pub shutdown_timeout: Duration,
    /// The maximum number of open connections of one [`serve`](super::serve). Default: 4096, or fewer if the system
    /// runs out of file handles. At the limit, a new connection replaces one without a request in progress, of the
    /// client address that has the most connections: the one that has waited longest for its client. An IPv6 network of
    /// 64 bits counts as one address, and so do all clients behind a proxy: a proxy should limit the connections of
    /// each client.
    pub connections: usize,
    /// The maximum number of requests that call the service at once, most on a blocking thread of the runtime. Default:
    /// 256, at least 4. Further requests are refused with 503. An eighth is kept for pages for customers, authentication
    /// and reads of one resource. Of the rest, an organization may hold at most as many as are free, so at most half. If
    /// all of its requests wait, for a lock of its own or for the gateway, other organizations still have the other
    /// half. Requests that may call the payment gateway can use three quarters of the rest. Keep the [calls to the
    /// gateway](crate::Builder::gateway_calls) (128 by default) below these, so that free orders need not wait for it.
    /// Health checks and metrics need none of them. The runtime's `max_blocking_threads` (512 by default) must not be
    /// lower, or requests wait.
    pub calls: usize,
    /// The maximum number of requests per minute for each API key, or `None` for no limit. Default: 1,200. The minute
    /// starts with the first request. The key of a door link may make at most 300. Each process counts for itself. A [caller of the
    /// application](super#a-login-of-your-own) without an API key has no limit.
    pub rate_limit: Option<u32>,
    /// The maximum number of requests per minute without a valid API key from one client address; further ones are
    /// refused with 429. Default: 60. Requests with wrong links of tickets and orders count too. Requests with a valid
    /// key or link are not affected, except at ten times the limit, and at least 1,000: then only keys that this
    /// process has accepted before are looked up. An IPv6 network of 64 bits counts as one address. A server other than
    /// [`serve`](super::serve) must provide axum's `ConnectInfo<SocketAddr>`; otherwise all clients count as one.
    pub failed_authentications: u32,
    /// The maximum number of requests per minute of links of tickets and orders from one client address; further ones
    /// are refused with 429. Default: 6,000. One link is answered 60 times in a minute, from whatever addresses.
    /// Addresses count as for [`failed_authentications`](Self::failed_authentications): behind a proxy, all clients
    /// count as one.
    pub link_requests: u32,
    /// The maximum number of orders that one client network may make with the form of an [event
    /// page](crate::guide::event_pages) in 10 minutes, for each event. Forms that are sent twice count once. Default: 60.
    /// Addresses count as for [`failed_authentications`](Self::failed_authentications).
    #[cfg(feature = "event-pages")]
    pub orders_per_network: u32,
    /// The header with the address of the client, such as `X-Forwarded-For`, whose last entry counts. Set it only behind a
    /// proxy that sets or extends this header: otherwise all clients choose the address for which they are counted.
    /// Default: `None`, the address of the connection.
    pub client_address_header: Option<HeaderName>,
    /// The number of open connections, for the metrics.
    pub(super) open_connections: Gauge,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(10),
            connections: 4096,
            calls: 256,
            rate_limit: Some(1200),
            failed_authentications: 60,
            link_requests: 6000,
            #[cfg(feature = "event-pages")]
            orders_per_network: 60,
            client_address_header: None,
            open_connections: Gauge::default(),
        }
    }
}
