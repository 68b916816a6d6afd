//! Resolution of host names.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

/// Resolves host names. It is called on a limited number of threads that do nothing else, so it may block.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    /// Returns the addresses of `host`, in the order in which they should be tried.
    ///
    /// # Errors
    /// The name has no addresses, or the DNS servers did not answer.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

impl<T: Resolver + ?Sized> Resolver for Arc<T> {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        (**self).resolve(host)
    }
}

impl<T: Resolver + ?Sized> Resolver for Box<T> {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        (**self).resolve(host)
    }
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "programs name it as a value; it can have no options")]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = (host, 0).to_socket_addrs()?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}
