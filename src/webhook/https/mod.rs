//! The HTTPS transport, which sends notifications to public addresses only.
//!
//! It is built on `ureq`, which does HTTP/1.1, TLS (with rustls) and connection pooling. Around it, this module has:
//!
//! - **A bounded lookup pool** ([`lookup_pool`]). ureq starts a thread for each lookup, and a lookup whose DNS server
//!   hangs keeps its thread. The pool has a limit, and leaves half of its threads to names that resolve fast.
//! - **Checked addresses** ([`tcp`]). Every address of a name is checked before ureq is called, and ureq can connect
//!   only to those: a name cannot resolve to a public address for the check and to a private one for the connection.
//! - **One deadline for everything** ([`exchange`]). It covers the lookup, the connection, the TLS handshake, the
//!   request and the response. ureq has timeouts too, but one per request would cost a new TLS configuration per
//!   connection.
//! - **A connection layer above TLS** ([`http_connection`]). It sends the request in one go, limits the response head
//!   including 1xx responses, and does not reuse a connection that has data left. ureq lets a receiver send 1xx
//!   responses without end.
//! - **Error messages** ([`failure`]) that say what failed without revealing anything about the sender's network.

mod builder;
mod client;
mod exchange;
mod failure;
mod http_connection;
mod lookup_pool;
mod resolver;
mod tcp;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::rules::webhook_url::{ReceiverHost, ReceiverUrl, is_allowed};
use crate::webhook::transport::{Transport, WebhookFailure, WebhookRequest, WebhookResponse};
pub use builder::{CertificatesError, HttpsTransportBuilder};
use client::Client;
use exchange::Exchange;
use lookup_pool::LookupPool;
pub use resolver::{Resolver, SystemResolver};

/// Sends over HTTPS, to public addresses only.
///
/// Every attempt resolves the host name, checks all of its addresses, and connects to one of the checked addresses. A
/// name with any address that is not public is refused, and a name whose addresses change after the check leads
/// nowhere else. Proxies from the environment are not used, redirects are not followed, and cookies are not kept.
///
/// The transport logs nothing, but the underlying `ureq` does, through the crate `log`: host names at level debug,
/// and whole URLs at level trace. A program that collects these records should filter out the target `ureq`.
///
/// ```
/// use ticketing::webhook::HttpsTransport;
///
/// let production = HttpsTransport::default();
/// let development = HttpsTransport::builder().allow_local(true).build();
/// ```
pub struct HttpsTransport {
    settings: HttpsTransportBuilder,
    /// Replaced by a new one when it is interrupted.
    client: RwLock<Arc<Client>>,
}

impl HttpsTransport {
    /// Returns a builder with the default settings.
    #[must_use]
    pub fn builder() -> HttpsTransportBuilder {
        HttpsTransportBuilder::new()
    }

    fn new(settings: HttpsTransportBuilder) -> Self {
        Self { client: RwLock::new(Arc::new(Client::new(&settings))), settings }
    }

    fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Resolves the host of a URL and checks that every address is allowed.
    fn checked_addresses(
        &self,
        lookups: &LookupPool,
        url: ReceiverUrl<'_>,
        timeout: Duration,
    ) -> Result<Vec<SocketAddr>, WebhookFailure> {
        let addresses = match url.host {
            ReceiverHost::Address(address) => vec![address],
            ReceiverHost::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ReceiverHost::Name(name) => {
                lookups.resolve(name, timeout).map_err(|error| WebhookFailure::of_lookup(error, timeout))?
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
        let deadline = exchange::now().saturating_add(timeout);
        let client = self.client();
        let url = ReceiverUrl::parse(&request.url, self.settings.allow_local);
        let url = url.ok_or_else(WebhookFailure::url_refused)?;
        let addresses = self.checked_addresses(&client.lookups, url, timeout)?;
        let finished = client.send(request, Exchange { addresses, deadline, ..Exchange::default() });
        finished.result.map_err(|error| {
            if client.is_interrupted() {
                WebhookFailure::interrupted(finished.exchange.connection_tried)
            } else {
                WebhookFailure::of_exchange(&error, &finished.exchange, timeout)
            }
        })
    }

    fn interrupt(&self) {
        let next = Arc::new(Client::new(&self.settings));
        let interrupted = std::mem::replace(&mut *self.client.write().unwrap_or_else(PoisonError::into_inner), next);
        interrupted.interrupt();
    }
}

impl fmt::Debug for HttpsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsTransport").field("allow_local", &self.settings.allow_local).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ureq::http;

    use super::*;

    const NAME: &str = "[a-zA-Z0-9_-]{1,5}(\\.[a-zA-Z0-9-]{1,5}){0,3}\\.?";
    const IPV4: &str = "127\\.0\\.0\\.[0-9]{1,3}";
    const IPV6: &str = "\\[[0-9a-f:]{2,12}\\]";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The check and ureq parse a URL with different parsers: they must agree on host and port.
        #[test]
        fn ureq_reads_an_accepted_url_as_the_check_does(
            scheme in "https|HTTPS|http|Http",
            host in prop_oneof![NAME, IPV4, IPV6],
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
