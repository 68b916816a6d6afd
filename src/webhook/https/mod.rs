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
//! - **The choice of cryptography** ([`provider`]), which is the program's and not this crate's.
//! - **Error messages** ([`failure`]) that say what failed without revealing anything about the sender's network.

mod client;
mod exchange;
mod failure;
mod http_connection;
mod https_transport;
mod lookup_pool;
mod resolver;
mod settings;
mod tcp;
pub(crate) mod ureq_traits;

pub use https_transport::{CertificatesError, HttpsTransport, HttpsTransportBuilder};
pub use resolver::{Resolver, SystemResolver};
