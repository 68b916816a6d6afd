//! Settings of an HTTPS transport.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use ureq::tls::RootCerts;

use super::resolver::{Resolver, SystemResolver};

/// The default number of idle connections. Many endpoints may share one receiver, so all of them may be to the same
/// one.
const IDLE_CONNECTIONS: usize = 128;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Whether loopback addresses and plain HTTP are allowed.
    pub(crate) allow_local: bool,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) roots: RootCerts,
    /// The implementation of cryptography; `None` for the default.
    pub(crate) provider: Option<Arc<CryptoProvider>>,
    /// How many connections are kept open between notifications.
    pub(crate) idle_connections: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow_local: false,
            resolver: Arc::new(SystemResolver),
            roots: RootCerts::WebPki,
            provider: None,
            idle_connections: IDLE_CONNECTIONS,
        }
    }
}
