//! Connections below TLS: made only to addresses that were checked, and used only as long as the attempt has time.

use std::net::SocketAddr;
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport, time};

use super::attempt::{self, Phase};

/// How many addresses of a name are tried: as many as ureq has room for.
const ADDRESSES: usize = 16;

/// Tells ureq the addresses that the attempt checked, and looks nothing up.
#[derive(Debug)]
pub(super) struct CheckedAddresses;

impl Resolver for CheckedAddresses {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        attempt::with(|attempt| attempt.addresses.iter().take(ADDRESSES).for_each(|address| addresses.push(*address)));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

/// Connects to the first address that answers.
#[derive(Debug, Default)]
pub(super) struct Dialer(TcpConnector);

impl Connector for Dialer {
    type Out = Socket;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<Socket>, Error> {
        attempt::with(|attempt| (attempt.phase, attempt.tried) = (Phase::Connecting, true));
        let mut result = Err(Error::ConnectionFailed);
        for (index, address) in details.addrs.iter().enumerate() {
            result = self.dial(details, *address, details.addrs.len() - index);
            if result.is_ok() {
                break;
            }
        }
        let socket = attempt::note(result)?;
        attempt::with(|attempt| {
            attempt.dialed = true;
            attempt.phase = if details.needs_tls() { Phase::Securing } else { Phase::Sending };
        });
        Ok(Some(socket))
    }
}

impl Dialer {
    /// Connects to one address, in its share of the time: of `left` addresses all get as much.
    fn dial(&self, details: &ConnectionDetails, address: SocketAddr, left: usize) -> Result<Socket, Error> {
        let mut addrs = details.resolver.empty();
        addrs.push(address);
        let timeout = attempt::limit(details.timeout)?;
        let share = *timeout.after / u32::try_from(left).unwrap_or(u32::MAX);
        let one = ConnectionDetails {
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
        let inner = self.0.connect(&one, None)?.ok_or(Error::ConnectionFailed)?;
        Ok(Socket { inner, peer: address })
    }
}

/// A connection, and to whom.
#[derive(Debug)]
pub(super) struct Socket {
    inner: <TcpConnector as Connector>::Out,
    peer: SocketAddr,
}

impl Transport for Socket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        attempt::note(self.inner.transmit_output(amount, attempt::limit(timeout)?))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = attempt::limit(timeout)?;
        attempt::pace();
        attempt::note(self.inner.await_input(timeout))
    }

    /// Whether the attempt under way may use it: its name may have another address by now.
    fn is_open(&mut self) -> bool {
        let nothing_left = self.inner.buffers().input().is_empty();
        nothing_left && attempt::with(|attempt| attempt.may_use(self.peer)) && self.inner.is_open()
    }
}
