//! Connections above TLS: what is sent leaves at once, and the head of an answer has a greatest size.

use std::time::Duration;

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, time};

use super::attempt::{self, Phase};

/// How large the head of an answer may be, with all the provisional ones before it.
pub(super) const HEAD: usize = 64 * 1024;
/// How much is read or sent at once.
pub(super) const CHUNK: usize = 8 * 1024;
/// Room for the line with the longest URL, and for any header.
const LINE: usize = 16 * 1024;

/// Makes a [`Wire`] of each connection.
#[derive(Debug)]
pub(super) struct Wiring;

impl<T: Transport> Connector<T> for Wiring {
    type Out = Wire<T>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<T>) -> Result<Option<Wire<T>>, Error> {
        Ok(chained.map(|inner| Wire { inner, buffers: no_buffers(), unsent: Vec::new(), received: 0 }))
    }
}

/// Buffers that take no memory until they are used.
fn no_buffers() -> LazyBuffers {
    LazyBuffers::new(HEAD + CHUNK, LINE)
}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire<T> {
    inner: T,
    buffers: LazyBuffers,
    /// Head and body of the request: a receiver that answers early and closes has all of it by then.
    unsent: Vec<u8>,
    /// How much of the answer came.
    received: usize,
}

impl<T: Transport> Wire<T> {
    fn send(&mut self, timeout: NextTimeout) -> Result<(), Error> {
        self.received = 0;
        for chunk in std::mem::take(&mut self.unsent).chunks(CHUNK) {
            self.inner.buffers().output()[..chunk.len()].copy_from_slice(chunk);
            self.inner.transmit_output(chunk.len(), timeout)?;
        }
        attempt::with(|attempt| attempt.phase = Phase::Waiting);
        Ok(())
    }

    /// Whether more came than the answer, or the end. TLS may hold what left the socket long ago: the next request must not
    /// have it for its answer.
    fn has_more(&mut self) -> bool {
        let at_once = NextTimeout { after: time::Duration::Exact(Duration::ZERO), ..NextTimeout::default() };
        !matches!(self.inner.await_input(at_once), Err(Error::Timeout(_)))
    }
}

impl<T: Transport> Transport for Wire<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        attempt::with(|attempt| (attempt.phase, attempt.tried) = (Phase::Sending, true));
        self.unsent.extend_from_slice(&self.buffers.output()[..amount]);
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        if !self.unsent.is_empty() {
            self.send(timeout)?;
        }
        if self.received >= HEAD && attempt::with(|attempt| attempt.phase == Phase::Waiting) {
            return Err(Error::LargeResponseHeader(self.received, HEAD));
        }
        if self.inner.buffers().input().is_empty() && !self.inner.await_input(timeout)? {
            return Ok(false);
        }
        let room = self.buffers.input_append_buf();
        let input = self.inner.buffers().input();
        let amount = input.len().min(room.len());
        room[..amount].copy_from_slice(&input[..amount]);
        self.inner.buffers().input_consume(amount);
        self.buffers.input_appended(amount);
        self.received += amount;
        attempt::with(|attempt| attempt.answered |= amount > 0);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.inner.buffers().input().is_empty() && self.inner.is_open() && !self.has_more()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
