//! Requests over HTTPS to public addresses only: webhooks, Stripe, the logos of tickets.
//!
//! The client is built on `ureq`, which does HTTP/1.1, TLS (with rustls) and connection pooling. Around it, this module
//! has:
//!
//! - **A bounded lookup pool** ([`lookup_pool`]). ureq starts a thread for each lookup, and a lookup whose DNS server
//!   hangs keeps its thread. The pool has a limit, and leaves half of its threads to names that resolve fast.
//! - **Checked addresses** ([`tcp`]). Every address of a name is checked before ureq is called, and ureq can connect
//!   only to those: a name cannot resolve to a public address for the check and to a private one for the connection.
//!   [`endpoint_url`] has the rules for URLs, and [`public_address`] those for addresses.
//! - **One deadline for everything** ([`exchange`]). It covers the lookup, the connection, the TLS handshake, the
//!   request and the response. ureq has timeouts too, but one per request would cost a new TLS configuration per
//!   connection.
//! - **A connection layer above TLS** ([`http_connection`]). It sends the request in one go, limits the response head
//!   including 1xx responses, and does not reuse a connection that has data left. ureq lets a receiver send 1xx
//!   responses without end.
//! - **The choice of cryptography** ([`crypto_provider`]), which is the program's and not this crate's.

#[cfg(feature = "webhooks")]
pub(crate) mod client;
#[cfg(any(feature = "postgres", feature = "webhooks"))]
pub(crate) mod crypto_provider;
pub(crate) mod endpoint_url;
#[cfg(feature = "webhooks")]
pub(crate) mod exchange;
#[cfg(feature = "webhooks")]
pub(crate) mod http_connection;
#[cfg(feature = "webhooks")]
pub(crate) mod lookup_pool;
mod public_address;
#[cfg(feature = "webhooks")]
pub(crate) mod resolver;
#[cfg(feature = "webhooks")]
pub(crate) mod settings;
#[cfg(feature = "webhooks")]
mod tcp;
#[cfg(feature = "webhooks")]
pub(crate) mod ureq_traits;
