//! TCP connections, below TLS: made only to the addresses that were checked, and limited to the time of the exchange.
//!
//! ureq's own resolver and TCP connector do not suffice. Its connector does not report which of several addresses it
//! has connected to, so a pooled connection could not be checked against the current addresses of the name. It also
//! spends most of the time on the first address. [`CheckedConnector`] therefore passes it one address at a time.

use std::net::SocketAddr;
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;

use super::exchange::{self, Phase};
use super::ureq_traits::{
    Buffers, ConnectionDetails, Connector, NextTimeout, ResolvedSocketAddrs, Resolver, TcpConnector, Transport, time,
};

/// How many addresses of a name are tried: the capacity of ureq's list.
const MAX_ADDRESSES: usize = 16;

/// Returns the addresses that were checked for the current exchange. It looks nothing up, so that ureq cannot connect
/// anywhere else.
#[derive(Debug)]
pub(crate) struct CheckedAddresses;

impl Resolver for CheckedAddresses {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        exchange::with_current(|exchange| {
            for address in exchange.addresses.iter().take(MAX_ADDRESSES) {
                addresses.push(*address);
            }
        });
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

/// Connects to the first address that accepts.
#[derive(Debug, Default)]
pub(crate) struct CheckedConnector(TcpConnector);

impl Connector for CheckedConnector {
    type Out = CheckedConnection;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<CheckedConnection>, Error> {
        exchange::with_current(|exchange| {
            exchange.phase = Phase::Connecting;
            exchange.connection_tried = true;
        });
        let mut result = Err(Error::ConnectionFailed);
        for (index, address) in details.addrs.iter().enumerate() {
            result = self.connect_to(details, *address, details.addrs.len() - index);
            if result.is_ok() {
                break;
            }
        }
        let connection = exchange::record_timeout(result)?;
        exchange::with_current(|exchange| {
            exchange.connected = true;
            exchange.phase = if details.needs_tls() { Phase::Handshaking } else { Phase::Sending };
        });
        Ok(Some(connection))
    }
}

impl CheckedConnector {
    /// Connects to the first of `untried` addresses. The time that is left is divided equally among them.
    fn connect_to(
        &self,
        details: &ConnectionDetails,
        address: SocketAddr,
        untried: usize,
    ) -> Result<CheckedConnection, Error> {
        let mut addrs = details.resolver.empty();
        addrs.push(address);
        let timeout = exchange::limit_timeout(details.timeout)?;
        let share = *timeout.after / u32::try_from(untried).unwrap_or(u32::MAX);
        let one_address = ConnectionDetails {
            uri: details.uri,
            addrs,
            config: details.config,
            request_level: details.request_level,
            resolver: details.resolver,
            now: time::Instant::now(),
            timeout: NextTimeout { after: time::Duration::Exact(share), ..timeout },
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
        };
        let inner = self.0.connect(&one_address, None)?.ok_or(Error::ConnectionFailed)?;
        Ok(CheckedConnection { inner, peer: address })
    }
}

/// A TCP connection that knows its peer.
#[derive(Debug)]
pub(crate) struct CheckedConnection {
    inner: <TcpConnector as Connector>::Out,
    peer: SocketAddr,
}

impl Transport for CheckedConnection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        exchange::record_timeout(self.inner.transmit_output(amount, exchange::limit_timeout(timeout)?))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = exchange::limit_timeout(timeout)?;
        exchange::pace_reads();
        exchange::record_timeout(self.inner.await_input(timeout))
    }

    /// Whether the current exchange may use the connection: the name may have other addresses by now.
    fn is_open(&mut self) -> bool {
        let nothing_unread = self.inner.buffers().input().is_empty();
        nothing_unread && exchange::with_current(|exchange| exchange.may_use(self.peer)) && self.inner.is_open()
    }
}
