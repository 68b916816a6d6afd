//! The connection layer between HTTP and TLS.
//!
//! This layer has three features that ureq does not have:
//!
//! - It sends head and body of the request together. A receiver that answers early and closes the connection has the
//!   whole request by then.
//! - It limits the size of a response's head, including all provisional (1xx) responses before it.
//! - It does not reuse a connection on which more than the response has arrived, even if TLS has already read it from
//!   the socket: the next request would take it for its response.

use std::time::Duration;

use ureq::Error;

use super::exchange::{self, Phase};
use super::ureq_traits::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, time};

/// The largest response head in bytes, including provisional responses.
pub(crate) const MAX_HEAD: usize = 64 * 1024;

/// How many bytes are read or written at once.
pub(crate) const CHUNK: usize = 8 * 1024;

/// The size of the output buffer in bytes: ureq needs room for the request line, with a URL of up to 8 KiB, and for
/// each header line.
const OUTPUT: usize = 16 * 1024;

/// Wraps each connection into an [`HttpConnection`].
#[derive(Debug)]
pub(crate) struct HttpConnector;

impl<T: Transport> Connector<T> for HttpConnector {
    type Out = HttpConnection<T>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<T>) -> Result<Option<HttpConnection<T>>, Error> {
        Ok(chained.map(|inner| HttpConnection {
            inner,
            buffers: LazyBuffers::new(MAX_HEAD + CHUNK, OUTPUT),
            unsent: Vec::new(),
            received: 0,
        }))
    }
}

#[derive(Debug)]
pub(crate) struct HttpConnection<T> {
    inner: T,
    buffers: LazyBuffers,
    /// The part of the request that ureq has written so far.
    unsent: Vec<u8>,
    /// How many bytes of the response were received.
    received: usize,
}

impl<T: Transport> HttpConnection<T> {
    /// Sends the whole request.
    fn send(&mut self, timeout: NextTimeout) -> Result<(), Error> {
        self.received = 0;
        for chunk in std::mem::take(&mut self.unsent).chunks(CHUNK) {
            self.inner.buffers().output()[..chunk.len()].copy_from_slice(chunk);
            self.inner.transmit_output(chunk.len(), timeout)?;
        }
        exchange::with_current(|exchange| exchange.phase = Phase::Waiting);
        Ok(())
    }

    /// Whether anything arrived after the response, or the connection has ended. TLS may hold bytes that it has read
    /// from the socket long ago.
    fn has_more(&mut self) -> bool {
        let at_once = NextTimeout { after: time::Duration::Exact(Duration::ZERO), ..NextTimeout::default() };
        !matches!(self.inner.await_input(at_once), Err(Error::Timeout(_)))
    }
}

impl<T: Transport> Transport for HttpConnection<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        exchange::with_current(|exchange| {
            exchange.phase = Phase::Sending;
            exchange.connection_tried = true;
        });
        self.unsent.extend_from_slice(&self.buffers.output()[..amount]);
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        if !self.unsent.is_empty() {
            self.send(timeout)?;
        }
        let in_head = exchange::with_current(|exchange| exchange.phase == Phase::Waiting);
        if in_head && self.received >= MAX_HEAD {
            return Err(Error::LargeResponseHeader(self.received, MAX_HEAD));
        }
        if self.inner.buffers().input().is_empty() && !self.inner.await_input(timeout)? {
            return Ok(false);
        }
        let free = self.buffers.input_append_buf();
        let input = self.inner.buffers().input();
        let amount = input.len().min(free.len());
        free[..amount].copy_from_slice(&input[..amount]);
        self.inner.buffers().input_consume(amount);
        self.buffers.input_appended(amount);
        self.received += amount;
        if amount > 0 {
            exchange::with_current(|exchange| exchange.response_begun = true);
        }
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.inner.buffers().input().is_empty() && self.inner.is_open() && !self.has_more()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
