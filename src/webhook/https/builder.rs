//! Settings of an [`HttpsTransport`].

use std::sync::Arc;

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use super::HttpsTransport;
use super::resolver::{Resolver, SystemResolver};

/// The default number of idle connections. Many endpoints may share one receiver, so all of them may be to the same
/// one.
const IDLE_CONNECTIONS: usize = 128;

/// Settings of an [`HttpsTransport`], from [`HttpsTransport::builder`].
#[derive(Debug, Clone)]
pub struct HttpsTransportBuilder {
    pub(super) allow_local: bool,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) roots: RootCerts,
    pub(super) idle_connections: usize,
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
    pub(super) fn new() -> Self {
        Self {
            allow_local: false,
            resolver: Arc::new(SystemResolver),
            roots: RootCerts::WebPki,
            idle_connections: IDLE_CONNECTIONS,
        }
    }

    /// Allows loopback addresses and plain HTTP, for development. By default they are refused.
    #[must_use]
    pub fn allow_local(mut self, allow: bool) -> Self {
        self.allow_local = allow;
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
    /// let transport = HttpsTransport::builder().resolver(PrivateResolver).build();
    /// let url = "https://hooks.example.com/".to_owned();
    /// let request = WebhookRequest { url, headers: Vec::new(), body: "{}".to_owned() };
    /// let failure = transport.send(&request, Duration::from_secs(10)).unwrap_err();
    /// assert_eq!(failure.kind, FailureKind::Refused);
    /// assert!(!failure.connection_tried);
    /// ```
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = Arc::new(resolver);
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
        self.roots = RootCerts::from(certificates);
        Ok(self)
    }

    /// Sets how many connections are kept open between notifications: by default 128.
    #[must_use]
    pub fn idle_connections(mut self, most: usize) -> Self {
        self.idle_connections = most;
        self
    }

    /// Creates the transport.
    #[must_use]
    pub fn build(self) -> HttpsTransport {
        HttpsTransport::new(self)
    }
}
