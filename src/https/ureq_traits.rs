//! The part of ureq that has no stable API. No other file names it.
//!
//! ureq keeps the traits for resolvers and connectors in its module `unversioned`. They are the only way to connect to
//! checked addresses and to see the bytes of an exchange. ureq changes them in minor versions, but not in patch
//! versions. It also raises the version of rustls, whose [`CryptoProvider`] is passed on here, in minor versions.
//! Therefore `Cargo.toml` accepts the patch with which this crate was tested, and newer patches of the same minor
//! version. ureq has [`Agent::shutdown`](ureq::Agent::shutdown), which interrupts requests in progress, since 3.5.
//!
//! To change to another minor version of ureq: change `Cargo.toml`, run the tests of webhooks and Stripe, and adapt
//! this file and the implementations of the traits.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use ureq::tls::{RootCerts, TlsConfig};
#[cfg(feature = "stripe")]
pub(crate) use ureq::unversioned::resolver::DefaultResolver;
pub(crate) use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
pub(crate) use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport,
};
pub(crate) use ureq::unversioned::transport::{LazyBuffers, time};

/// Returns the TLS configuration with these certificate authorities and this implementation of cryptography.
pub(crate) fn tls_config(roots: RootCerts, provider: Arc<CryptoProvider>) -> TlsConfig {
    TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build()
}
