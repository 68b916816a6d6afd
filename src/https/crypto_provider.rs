//! Chooses the implementation of cryptography for TLS.
//!
//! rustls has several, called providers, and the program decides which of them it is compiled with. If this crate
//! enabled one, a program that uses another would have two. rustls then chooses no default by itself:
//! `rustls::ServerConfig::builder()` would panic in that program.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;

use crate::error::{Error, Result};

const MISSING: &str = "must be set, because this process has no default: enable the feature `ring` of the crate \
    `ticketing`, or call rustls::crypto::CryptoProvider::install_default() first, or pass a provider to";

/// Returns the provider `chosen`, or else the default of the process, or else *ring* if it is compiled in. `setting` is
/// the method with which one can be chosen, such as `PostgresDatabase::crypto_provider`.
pub(crate) fn choose(chosen: Option<Arc<CryptoProvider>>, setting: &str) -> Result<Arc<CryptoProvider>> {
    let (_, field) = setting.split_once("::").unwrap_or(("", setting));
    let provider = chosen.or_else(|| CryptoProvider::get_default().cloned()).or_else(ring);
    let provider = provider.ok_or_else(|| Error::field(field, format!("{MISSING} {setting}")))?;
    // ureq expects that this succeeds when it makes its first connection.
    match ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(rustls::ALL_VERSIONS) {
        Ok(_) => Ok(provider),
        Err(error) => Err(Error::field(field, format!("must be able to negotiate TLS: {error}"))),
    }
}

#[cfg(feature = "ring")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
fn ring() -> Option<Arc<CryptoProvider>> {
    Some(Arc::new(rustls::crypto::ring::default_provider()))
}

#[cfg(not(feature = "ring"))]
fn ring() -> Option<Arc<CryptoProvider>> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_cannot_negotiate_tls_is_refused() {
        let mut provider = rustls::crypto::ring::default_provider();
        provider.cipher_suites.clear();
        let error = choose(Some(Arc::new(provider)), "HttpsTransportBuilder::crypto_provider").unwrap_err();
        assert_eq!(error.fields()[0].path, "crypto_provider");
        assert!(error.fields()[0].message.starts_with("must be able to negotiate TLS: "), "{error}");
    }
}
