//! From names to addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// Looks up the addresses of a name. It is called on threads of its own, of which there is a limited number, and may
/// block.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    /// The addresses of `host`, the ones to try first in front.
    ///
    /// # Errors
    /// The name has none, or nobody answered.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}
