//! The HTTP client: a configured ureq agent and the threads that resolve names.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use ureq::config::{AutoHeaderValue, Config};
use ureq::tls::RootCerts;
use ureq::{Agent, Body, http};

use super::exchange::{self, Exchange, Finished, Phase};
use super::http_connection::{CHUNK, HttpConnector, MAX_HEAD};
use super::lookup_pool::{LookupPool, MAX_THREADS};
use super::resolver::{Resolver, SystemResolver};
use super::tcp::{CheckedAddresses, CheckedConnector};
use super::ureq_traits::{self, Connector, RustlsConnector};

/// How long an idle connection is kept. Many servers close theirs after 60 seconds without a request, or after 5.
const IDLE_AGE: Duration = Duration::from_secs(30);

/// The default number of idle connections. Many endpoints may share one receiver, so all of them may be to the same
/// one.
const IDLE_CONNECTIONS: usize = 128;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Whether loopback addresses and plain HTTP are allowed.
    pub(crate) allow_local: bool,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) roots: RootCerts,
    /// How many connections are kept open between notifications.
    pub(crate) idle_connections: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow_local: false,
            resolver: Arc::new(SystemResolver),
            roots: RootCerts::WebPki,
            idle_connections: IDLE_CONNECTIONS,
        }
    }
}

/// A client, used until it is interrupted.
pub(crate) struct Client {
    agent: Agent,
    pub(crate) lookups: LookupPool,
    interrupted: AtomicBool,
}

impl Client {
    pub(crate) fn new(settings: &Settings, provider: &Arc<CryptoProvider>) -> Self {
        let connector = CheckedConnector::default().chain(RustlsConnector::default()).chain(HttpConnector);
        // No timeouts here: each exchange has its deadline.
        let config = Config::builder()
            .proxy(None)
            .https_only(!settings.allow_local)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .tls_config(ureq_traits::tls_config(settings.roots.clone(), Arc::clone(provider)))
            .user_agent(AutoHeaderValue::None)
            .accept(AutoHeaderValue::None)
            .accept_encoding(AutoHeaderValue::None)
            .max_response_header_size(MAX_HEAD)
            .input_buffer_size(CHUNK)
            .output_buffer_size(CHUNK)
            .max_idle_connections(settings.idle_connections)
            .max_idle_connections_per_host(settings.idle_connections)
            .max_idle_age(IDLE_AGE)
            .build();
        Self {
            agent: Agent::with_parts(config, connector, CheckedAddresses),
            lookups: LookupPool::new(Arc::clone(&settings.resolver), MAX_THREADS),
            interrupted: AtomicBool::new(false),
        }
    }

    /// Sends a request and reads the first `most_bytes` of the response's body, or as many as arrive. Returns the status
    /// too. The connection
    /// can be reused only if the body is not longer. A request over a connection that the receiver had closed in the
    /// meantime is repeated once over a new one.
    pub(crate) fn post<V: AsRef<str>>(
        &self,
        url: &str,
        headers: &[(&'static str, V)],
        body: &str,
        most_bytes: usize,
        exchange: Exchange,
    ) -> Finished<Result<(u16, Vec<u8>), ureq::Error>> {
        self.run(exchange, || {
            let mut message = http::Request::post(url);
            for (name, value) in headers {
                message = message.header(*name, value.as_ref());
            }
            let mut response = self.agent.run(message.body(body)?)?;
            // The head is complete, so this counts as a response, even if the body is interrupted.
            exchange::with_current(|exchange| exchange.phase = Phase::Reading);
            let body = read_body(response.body_mut(), most_bytes);
            Ok((response.status().as_u16(), body))
        })
    }

    /// Runs an exchange, and once more over a new connection if the receiver had closed the one that it used.
    fn run<R>(
        &self,
        exchange: Exchange,
        request: impl Fn() -> Result<R, ureq::Error>,
    ) -> Finished<Result<R, ureq::Error>> {
        let repeated = Exchange { needs_new_connection: true, ..exchange.clone() };
        let first = exchange::run(exchange, &request);
        let state = &first.exchange;
        let reused_connection = state.connection_tried && !state.connected;
        let closed_before = reused_connection && !state.response_begun && !state.timed_out;
        if first.result.is_err() && closed_before && !self.is_interrupted() {
            exchange::run(repeated, request)
        } else {
            first
        }
    }

    /// Requests a file and reads it, but at most a byte more than `most_bytes`. Returns the status too.
    #[cfg(feature = "documents")]
    pub(crate) fn get(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        most_bytes: usize,
        exchange: Exchange,
    ) -> Finished<Result<(u16, Vec<u8>), ureq::Error>> {
        // A file arrives in many parts.
        let free_reads = u32::try_from(most_bytes / 512).unwrap_or(u32::MAX);
        self.run(Exchange { more_free_reads: free_reads, ..exchange }, || {
            let mut message = http::Request::get(url);
            for (name, value) in headers {
                message = message.header(*name, *value);
            }
            let mut response = self.agent.run(message.body(())?)?;
            exchange::with_current(|exchange| exchange.phase = Phase::Reading);
            let mut file = Vec::new();
            let most = u64::try_from(most_bytes).unwrap_or(u64::MAX).saturating_add(1);
            response.body_mut().as_reader().take(most).read_to_end(&mut file)?;
            Ok((response.status().as_u16(), file))
        })
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Fails all requests in progress and later ones.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.lookups.close();
        self.agent.clone().shutdown();
    }
}

fn read_body(body: &mut Body, most_bytes: usize) -> Vec<u8> {
    let mut kept = vec![0; most_bytes];
    let mut length = 0;
    let mut reader = body.as_reader();
    while length < most_bytes
        && let Ok(amount @ 1..) = reader.read(&mut kept[length..])
    {
        length += amount;
    }
    kept.truncate(length);
    kept
}
