//! Requests over HTTPS to public addresses only: webhooks, Stripe, the logos of tickets.
//!
//! The client is built on `ureq`, which does HTTP/1.1, TLS (with rustls) and connection pooling. Around it, this module
//! has a bounded pool of threads that resolve names ([`lookup_pool`]), connections to checked addresses only ([`tcp`],
//! with the rules in [`endpoint_url`] and [`public_address`]), one deadline for everything ([`exchange`]), a connection
//! layer above TLS ([`http_connection`]), and the choice of cryptography ([`crypto_provider`]), which is the program's
//! and not this crate's. Each of them says why what ureq has does not suffice.

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
mod tcp;
#[cfg(feature = "webhooks")]
pub(crate) mod ureq_traits;
