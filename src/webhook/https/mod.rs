//! The transport that comes with the crate.

mod attempt;
mod dial;
mod failure;
mod lookups;
mod resolver;
mod wire;

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ureq::config::{AutoHeaderValue, Config};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::{Connector, RustlsConnector};
use ureq::{Agent, Body, http};

use crate::rules::webhook_url::{ReceiverHost, ReceiverUrl, is_allowed};
use crate::webhook::transport::{BODY_KEPT, Transport, WebhookFailure, WebhookRequest, WebhookResponse};
use attempt::{Attempt, Phase};
use dial::{CheckedAddresses, Dialer};
use lookups::Lookups;
pub use resolver::{Resolver, SystemResolver};
use wire::Wiring;

/// How many connections are kept, if nothing else is said. Many endpoints may be paths of one receiver, so all of them may
/// be that one's.
const IDLE: usize = 128;
/// How long a connection is kept. Many servers close theirs after 60 seconds without a request, or after 5.
const IDLE_AGE: Duration = Duration::from_secs(30);

/// Sends over HTTPS, to public addresses alone.
///
/// Every attempt looks the name up, checks every address it has, and connects to one of those that it checked: a name
/// whose addresses change in between leads nowhere else, and one with a single address that is not public is refused.
/// Proxies that the environment names are not used, no redirect is followed, no cookie is kept.
///
/// It writes nothing into a log, but ureq, which it is made of, does through the crate `log`: at the level of debug the names
/// of receivers, and at that of trace their whole URLs. A program that takes these up should leave `ureq` out.
///
/// ```
/// use ticketing::webhook::HttpsTransport;
///
/// let production = HttpsTransport::default();
/// let development = HttpsTransport::builder().allow_local(true).build();
/// ```
pub struct HttpsTransport {
    settings: HttpsTransportBuilder,
    line: RwLock<Arc<Line>>,
}

/// What carries notifications until it is interrupted; whoever sends next has another.
struct Line {
    agent: Agent,
    lookups: Lookups,
    interrupted: AtomicBool,
}

/// Settings of an [`HttpsTransport`].
#[derive(Debug, Clone)]
pub struct HttpsTransportBuilder {
    allow_local: bool,
    resolver: Arc<dyn Resolver>,
    roots: RootCerts,
    idle_connections: usize,
}

/// Why certificates could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// There is none in the text.
    #[error("there is no certificate in the text")]
    Missing,
    /// The text is not PEM.
    #[error("the text is not PEM")]
    Malformed,
}

impl HttpsTransportBuilder {
    /// Whether this machine and plain HTTP are allowed, for development. They are not.
    #[must_use]
    pub fn allow_local(mut self, allow: bool) -> Self {
        self.allow_local = allow;
        self
    }

    /// Looks names up, instead of the operating system. What it says is checked like any other answer.
    ///
    /// ```
    /// use std::io;
    /// use std::net::IpAddr;
    /// use std::time::Duration;
    ///
    /// use ticketing::webhook::{FailureKind, HttpsTransport, WebhookRequest, Resolver, Transport};
    ///
    /// #[derive(Debug)]
    /// struct Inside;
    ///
    /// impl Resolver for Inside {
    ///     fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
    ///         Ok(vec![[10, 0, 0, 7].into()])
    ///     }
    /// }
    ///
    /// let transport = HttpsTransport::builder().resolver(Inside).build();
    /// let url = "https://hooks.example.com/".to_owned();
    /// let request = WebhookRequest { url, headers: Vec::new(), body: "{}".to_owned() };
    /// let failure = transport.send(&request, Duration::from_secs(10)).unwrap_err();
    /// assert_eq!((failure.kind, failure.connection_tried), (FailureKind::Refused, false));
    /// ```
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Trusts the issuers of this PEM text, and no longer those that Mozilla trusts.
    ///
    /// ```
    /// use ticketing::webhook::{CertificatesError, HttpsTransport};
    /// let nothing = HttpsTransport::builder().root_certificates("");
    /// assert_eq!(nothing.unwrap_err(), CertificatesError::Missing);
    /// ```
    ///
    /// # Errors
    /// There is no certificate in the text.
    pub fn root_certificates(mut self, pem: &str) -> Result<Self, CertificatesError> {
        let mut certificates: Vec<Certificate<'static>> = Vec::new();
        for item in parse_pem(pem.as_bytes()) {
            if let PemItem::Certificate(certificate) = item.map_err(|_| CertificatesError::Malformed)? {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(CertificatesError::Missing);
        }
        self.roots = RootCerts::from(certificates);
        Ok(self)
    }

    /// How many connections are kept for the next notification: 128, if nothing else is said.
    #[must_use]
    pub fn idle_connections(mut self, most: usize) -> Self {
        self.idle_connections = most;
        self
    }

    /// The transport.
    #[must_use]
    pub fn build(self) -> HttpsTransport {
        HttpsTransport { line: RwLock::new(Arc::new(self.line())), settings: self }
    }

    fn line(&self) -> Line {
        let connector = Dialer::default().chain(RustlsConnector::default()).chain(Wiring);
        // There are no timeouts in here: the attempt has one, which no step begins anew.
        let config = Config::builder()
            .proxy(None)
            .https_only(!self.allow_local)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(self.roots.clone()).build())
            .user_agent(AutoHeaderValue::None)
            .accept(AutoHeaderValue::None)
            .accept_encoding(AutoHeaderValue::None)
            .max_response_header_size(wire::HEAD)
            .input_buffer_size(wire::CHUNK)
            .output_buffer_size(wire::CHUNK)
            .max_idle_connections(self.idle_connections)
            .max_idle_connections_per_host(self.idle_connections)
            .max_idle_age(IDLE_AGE)
            .build();
        Line {
            agent: Agent::with_parts(config, connector, CheckedAddresses),
            lookups: Lookups::new(Arc::clone(&self.resolver), lookups::AT_ONCE),
            interrupted: AtomicBool::new(false),
        }
    }
}

impl HttpsTransport {
    /// Settings that begin with the default ones.
    #[must_use]
    pub fn builder() -> HttpsTransportBuilder {
        let resolver = Arc::new(SystemResolver);
        HttpsTransportBuilder { allow_local: false, resolver, roots: RootCerts::WebPki, idle_connections: IDLE }
    }

    /// Every address of the receiver; all of them are allowed.
    fn addresses(
        &self,
        line: &Line,
        url: ReceiverUrl<'_>,
        timeout: Duration,
    ) -> Result<Vec<SocketAddr>, WebhookFailure> {
        let addresses = match url.host {
            ReceiverHost::Address(address) => vec![address],
            ReceiverHost::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ReceiverHost::Name(name) => {
                line.lookups.find(name, timeout).map_err(|why| WebhookFailure::no_address(why, timeout))?
            }
        };
        let allowed = |address: &IpAddr| is_allowed(*address, self.settings.allow_local);
        if !addresses.iter().all(allowed) {
            return Err(WebhookFailure::not_public());
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, url.port)).collect())
    }
}

impl Default for HttpsTransport {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl Transport for HttpsTransport {
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        let deadline = attempt::now().saturating_add(timeout);
        let line = Arc::clone(&self.line.read().unwrap_or_else(PoisonError::into_inner));
        let interrupted = || line.interrupted.load(Ordering::Relaxed);
        let url = ReceiverUrl::parse(&request.url, self.settings.allow_local).ok_or_else(WebhookFailure::refused)?;
        let addresses = self.addresses(&line, url, timeout)?;
        let first = Attempt { addresses, deadline, ..Attempt::default() };
        let again = Attempt { fresh: true, ..first.clone() };
        let (mut result, mut came) = exchange(&line.agent, request, first);
        // A connection that the receiver closed while nobody used it says nothing about the receiver.
        let stale = came.tried && !came.dialed && !came.answered && !came.timed_out;
        if stale && result.is_err() && !interrupted() {
            (result, came) = exchange(&line.agent, request, again);
        }
        result.map_err(|error| match interrupted() {
            true => WebhookFailure::interrupted(came.tried),
            false => WebhookFailure::of(&error, &came, timeout),
        })
    }

    fn interrupt(&self) {
        let next = Arc::new(self.settings.line());
        let line = std::mem::replace(&mut *self.line.write().unwrap_or_else(PoisonError::into_inner), next);
        line.interrupted.store(true, Ordering::Relaxed);
        line.lookups.close();
        line.agent.clone().shutdown();
    }
}

/// Sends the request and reads the answer.
fn exchange(
    agent: &Agent,
    request: &WebhookRequest,
    attempt: Attempt,
) -> (Result<WebhookResponse, ureq::Error>, Attempt) {
    let (result, attempt) = attempt::run(attempt, || {
        let mut message = http::Request::post(&request.url);
        for (name, value) in &request.headers {
            message = message.header(*name, value);
        }
        let mut answer = agent.run(message.body(request.body.as_str())?)?;
        // From here on it is an answer, whatever becomes of its body.
        attempt::with(|attempt| attempt.phase = Phase::Reading);
        let body = read(answer.body_mut());
        Ok(WebhookResponse { status: answer.status().as_u16(), body, timed_out: false })
    });
    (result.map(|answer| WebhookResponse { timed_out: attempt.timed_out, ..answer }), attempt)
}

/// The beginning of the body, as far as it comes. A body that ends in it frees the connection for the next request.
fn read(body: &mut Body) -> Vec<u8> {
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

impl fmt::Debug for HttpsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsTransport").field("allow_local", &self.settings.allow_local).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The guard and the sender read with two parsers.
        #[test]
        fn what_the_guard_accepts_the_sender_reads_alike(
            scheme in "https|HTTPS|http|Http",
            host in prop_oneof!["[a-zA-Z0-9_-]{1,5}(\\.[a-zA-Z0-9-]{1,5}){0,3}\\.?", "127\\.0\\.0\\.[0-9]{1,3}", "\\[[0-9a-f:]{2,12}\\]"],
            port in prop_oneof![Just(String::new()), ":[0-9]{0,6}"],
            rest in "(/[!-~]{0,12})?(\\?[!-~]{0,12})?(#[!-~]{0,12})?",
        ) {
            let url = format!("{scheme}://{host}{port}{rest}");
            if let Some(accepted) = ReceiverUrl::parse(&url, true) {
                let read: http::Uri = url.parse().map_err(|error| TestCaseError::fail(format!("{url}: {error}")))?;
                prop_assert_eq!(read.host(), Some(host.as_str()), "{}", url);
                let default = if read.scheme_str() == Some("https") { 443 } else { 80 };
                prop_assert_eq!(read.port_u16().unwrap_or(default), accepted.port, "{}", url);
            }
        }
    }
}
