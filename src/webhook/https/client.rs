//! The HTTP client of a transport: a configured ureq agent and the threads that resolve names.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use ureq::config::{AutoHeaderValue, Config};
use ureq::{Agent, Body, http};

use super::exchange::{self, Exchange, Finished, Phase};
use super::http_connection::{CHUNK, HttpConnector, MAX_HEAD};
use super::lookup_pool::{LookupPool, MAX_THREADS};
use super::settings::Settings;
use super::tcp::{CheckedAddresses, CheckedConnector};
use super::ureq_traits::{self, Connector, RustlsConnector};
use crate::webhook::transport::{BODY_KEPT, WebhookRequest, WebhookResponse};

/// How long an idle connection is kept. Many servers close theirs after 60 seconds without a request, or after 5.
const IDLE_AGE: Duration = Duration::from_secs(30);

/// A client, used until it is interrupted.
pub(super) struct Client {
    agent: Agent,
    pub(super) lookups: LookupPool,
    interrupted: AtomicBool,
}

impl Client {
    pub(super) fn new(settings: &Settings, provider: &Arc<CryptoProvider>) -> Self {
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

    /// Sends the request and reads the response. A request over a connection that the receiver had closed in the
    /// meantime is repeated once over a new one.
    pub(super) fn send(
        &self,
        request: &WebhookRequest,
        exchange: Exchange,
    ) -> Finished<Result<WebhookResponse, ureq::Error>> {
        let repeated = Exchange { needs_new_connection: true, ..exchange.clone() };
        let first = self.exchange(request, exchange);
        let state = &first.exchange;
        let reused_connection = state.connection_tried && !state.connected;
        let closed_before = reused_connection && !state.response_begun && !state.timed_out;
        if first.result.is_err() && closed_before && !self.is_interrupted() {
            self.exchange(request, repeated)
        } else {
            first
        }
    }

    fn exchange(&self, request: &WebhookRequest, exchange: Exchange) -> Finished<Result<WebhookResponse, ureq::Error>> {
        let mut finished = exchange::run(exchange, || self.post(request));
        if let Ok(response) = &mut finished.result {
            response.timed_out = finished.exchange.timed_out;
        }
        finished
    }

    fn post(&self, request: &WebhookRequest) -> Result<WebhookResponse, ureq::Error> {
        let mut message = http::Request::post(&request.url);
        for (name, value) in &request.headers {
            message = message.header(*name, value);
        }
        let mut response = self.agent.run(message.body(request.body.as_str())?)?;
        // The head is complete, so this counts as a response, even if the body is interrupted.
        exchange::with_current(|exchange| exchange.phase = Phase::Reading);
        let body = read_body(response.body_mut());
        Ok(WebhookResponse { status: response.status().as_u16(), body, timed_out: false })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Fails all requests in progress and later ones.
    pub(super) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.lookups.close();
        self.agent.clone().shutdown();
    }
}

/// Reads the first [`BODY_KEPT`] bytes of the body, or as many as arrive. The connection can be reused only if the body
/// is not longer.
fn read_body(body: &mut Body) -> Vec<u8> {
    let mut kept = vec![0; BODY_KEPT];
    let mut length = 0;
    let mut reader = body.as_reader();
    while length < BODY_KEPT
        && let Ok(amount @ 1..) = reader.read(&mut kept[length..])
    {
        length += amount;
    }
    kept.truncate(length);
    kept
}
