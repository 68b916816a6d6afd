//! [`HttpsTransport`] and its builder.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

#[cfg(feature = "documents")]
use super::transport::FailureKind;
use super::transport::{BODY_KEPT, Transport, WebhookFailure, WebhookRequest, WebhookResponse};
use crate::error::Error;
use crate::fair::Tenant;
use crate::https::client::{Client, Settings};
use crate::https::crypto_provider;
use crate::https::endpoint_url::{ReceiverHost, ReceiverUrl, is_allowed};
use crate::https::exchange::{self, Exchange, Finished};
use crate::https::lookup_pool::LookupPool;
use crate::https::resolver::Resolver;
#[cfg(feature = "documents")]
use crate::model::values::id::OrganizationId;

/// Sends over HTTPS, to public addresses only.
///
/// Every attempt resolves the host name, checks all of its addresses, and connects to one of the checked addresses. A
/// name with any address that is not public is refused. If the addresses of a name change after the check, this does
/// not affect the attempt. Proxies from the environment are not used, redirects are not followed, and cookies are not
/// kept.
///
/// rustls does the TLS, with the cryptography of the program: see
/// [`crypto_provider`](HttpsTransportBuilder::crypto_provider).
///
/// The transport logs nothing, but the underlying `ureq` does, through the crate `log`: host names at level debug,
/// and whole URLs at level trace. A program that collects these records should filter out the target `ureq`.
///
/// ```
/// use ticketing::webhook::HttpsTransport;
///
/// # let _ = rustls::crypto::ring::default_provider().install_default();
/// let production = HttpsTransport::builder().build()?;
/// let development = HttpsTransport::builder().allow_local(true).build()?;
/// # Ok::<(), ticketing::Error>(())
/// ```
pub struct HttpsTransport {
    settings: Settings,
    provider: Arc<CryptoProvider>,
    /// The current client. [`Transport::interrupt`] replaces it.
    client: RwLock<Arc<Client>>,
}

impl HttpsTransport {
    /// Returns a builder with the default settings.
    #[must_use]
    pub fn builder() -> HttpsTransportBuilder {
        HttpsTransportBuilder { settings: Settings::default(), provider: None }
    }

    fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks the URL and the addresses of its host, and performs a request that may take this long in total.
    fn perform<R>(
        &self,
        tenant: Tenant,
        url: &str,
        timeout: Duration,
        request: impl FnOnce(&Client, Exchange) -> Finished<Result<R, ureq::Error>>,
    ) -> Result<(R, Exchange), WebhookFailure> {
        let deadline = exchange::now().saturating_add(timeout);
        let client = self.client();
        let url = ReceiverUrl::parse(url, self.settings.allow_local);
        let url = url.ok_or_else(WebhookFailure::url_refused)?;
        let addresses = self.checked_addresses(&client.lookups, tenant, url, timeout)?;
        let Finished { result, exchange } = request(&client, Exchange { addresses, deadline, ..Exchange::default() });
        match result {
            Ok(response) => Ok((response, exchange)),
            Err(_) if client.is_interrupted() => Err(WebhookFailure::interrupted(exchange.connection_tried)),
            Err(error) => Err(WebhookFailure::of_exchange(&error, &exchange, timeout)),
        }
    }

    /// Requests a file with GET, and returns it if the status is 200 and the file is complete and has at most
    /// `most_bytes`.
    #[cfg(feature = "documents")]
    pub(crate) fn download(
        &self,
        organization: OrganizationId,
        url: &str,
        headers: &[(&str, &str)],
        most_bytes: usize,
        timeout: Duration,
    ) -> Result<Vec<u8>, WebhookFailure> {
        let get = |client: &Client, exchange| client.get(url, headers, most_bytes, exchange);
        let ((status, file), _) = self.perform(Some(organization), url, timeout, get)?;
        let failed = |message| Err(WebhookFailure::new(FailureKind::ConnectionFailed, message));
        if status != 200 {
            return failed(format!("the status of the response is {status}, and not 200"));
        }
        if file.len() > most_bytes {
            return failed(format!("the file is larger than {} KiB", most_bytes / 1024));
        }
        Ok(file)
    }

    /// Resolves the host of a URL and checks that every address is allowed.
    fn checked_addresses(
        &self,
        lookups: &LookupPool,
        tenant: Tenant,
        url: ReceiverUrl<'_>,
        timeout: Duration,
    ) -> Result<Vec<SocketAddr>, WebhookFailure> {
        let addresses = match url.host {
            ReceiverHost::Address(address) => vec![address],
            ReceiverHost::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ReceiverHost::Name(name) => {
                lookups.resolve(tenant, name, timeout).map_err(|error| WebhookFailure::of_lookup(error, timeout))?
            }
        };
        let allowed = |address: &IpAddr| is_allowed(*address, self.settings.allow_local);
        if !addresses.iter().all(allowed) {
            return Err(WebhookFailure::not_public());
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, url.port)).collect())
    }
}

impl Transport for HttpsTransport {
    fn send(&self, request: &WebhookRequest, timeout: Duration) -> Result<WebhookResponse, WebhookFailure> {
        let WebhookRequest { url, headers, body, organization_id } = request;
        let post = |client: &Client, exchange| client.post(url, headers, body, BODY_KEPT, exchange);
        let ((status, body), exchange) = self.perform(*organization_id, url, timeout, post)?;
        Ok(WebhookResponse::new(status, body).timed_out(exchange.timed_out))
    }

    fn interrupt(&self) {
        let next = Arc::new(Client::new(&self.settings, &self.provider));
        let interrupted = std::mem::replace(&mut *self.client.write().unwrap_or_else(PoisonError::into_inner), next);
        interrupted.interrupt();
    }
}

impl fmt::Debug for HttpsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsTransport").field("allow_local", &self.settings.allow_local).finish_non_exhaustive()
    }
}

/// Settings of an [`HttpsTransport`], from [`HttpsTransport::builder`].
#[derive(Debug, Clone)]
pub struct HttpsTransportBuilder {
    settings: Settings,
    provider: Option<Arc<CryptoProvider>>,
}

/// Why certificates were not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// The text contains no certificate.
    #[error("the text contains no certificate")]
    Missing,
    /// The text is not valid PEM.
    #[error("the text is not valid PEM")]
    Malformed,
}

impl HttpsTransportBuilder {
    /// Allows loopback addresses and plain HTTP, for development. By default they are refused.
    #[must_use]
    pub fn allow_local(mut self, allow: bool) -> Self {
        self.settings.allow_local = allow;
        self
    }

    /// Resolves host names with `resolver` instead of the operating system. The addresses that it returns are checked
    /// like any others.
    ///
    /// ```
    /// use std::io;
    /// use std::net::IpAddr;
    /// use std::time::Duration;
    ///
    /// use ticketing::webhook::{FailureKind, HttpsTransport, Resolver, Transport, WebhookRequest};
    ///
    /// #[derive(Debug)]
    /// struct PrivateResolver;
    ///
    /// impl Resolver for PrivateResolver {
    ///     fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
    ///         Ok(vec![[10, 0, 0, 7].into()])
    ///     }
    /// }
    ///
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let transport = HttpsTransport::builder().resolver(PrivateResolver).build()?;
    /// let request = WebhookRequest::new("https://hooks.example.com/", [], "{}");
    /// let failure = transport.send(&request, Duration::from_secs(10)).unwrap_err();
    /// assert_eq!(failure.kind, FailureKind::AddressNotAllowed);
    /// assert!(!failure.connection_tried);
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.settings.resolver = Arc::new(resolver);
        self
    }

    /// Trusts the certificate authorities in this PEM text instead of those that Mozilla trusts.
    ///
    /// ```
    /// use ticketing::webhook::{CertificatesError, HttpsTransport};
    ///
    /// let result = HttpsTransport::builder().root_certificates("");
    /// assert_eq!(result.unwrap_err(), CertificatesError::Missing);
    /// ```
    ///
    /// # Errors
    /// The text is not valid PEM, or contains no certificate.
    pub fn root_certificates(mut self, pem: &str) -> Result<Self, CertificatesError> {
        let mut certificates: Vec<Certificate<'static>> = Vec::new();
        for item in parse_pem(pem.as_bytes()) {
            let item = item.map_err(|_| CertificatesError::Malformed)?;
            if let PemItem::Certificate(certificate) = item {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(CertificatesError::Missing);
        }
        self.settings.roots = RootCerts::from(certificates);
        Ok(self)
    }

    /// Sets how many connections are kept open between notifications: by default 128.
    #[must_use]
    pub fn idle_connections(mut self, most: usize) -> Self {
        self.settings.idle_connections = most;
        self
    }

    /// Sets the implementation of cryptography, which rustls calls a provider. Default: the default of the process at
    /// the time of [`build`](Self::build), or *ring* if the process has none and the feature `ring` is enabled.
    ///
    /// A process has a default after a call of [`CryptoProvider::install_default`], or after its first TLS
    /// configuration for which rustls had to choose one.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rustls::crypto::ring; // or aws_lc_rs
    /// use ticketing::webhook::HttpsTransport;
    ///
    /// let transport = HttpsTransport::builder().crypto_provider(Arc::new(ring::default_provider())).build()?;
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    #[must_use]
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Creates the transport.
    ///
    /// # Errors
    /// [`Error::Validation`](crate::Error::Validation) if there is no implementation of cryptography (see
    /// [`crypto_provider`](Self::crypto_provider)), or if it has no cipher suites for TLS.
    pub fn build(self) -> Result<HttpsTransport, Error> {
        let provider = crypto_provider::choose(self.provider, "HttpsTransportBuilder::crypto_provider")?;
        let client = RwLock::new(Arc::new(Client::new(&self.settings, &provider)));
        Ok(HttpsTransport { settings: self.settings, provider, client })
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
