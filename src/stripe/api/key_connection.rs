//! Writes the secret key into requests, below ureq.
//!
//! At level trace, ureq logs each byte that it writes. Therefore it writes a placeholder, and the connection replaces
//! it by the key.

use ureq::http::HeaderValue;
use ureq::{Error, http};

use crate::https::ureq_traits::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};
use crate::model::values::secret::Secret;

/// The value of the header `Authorization` with a secret key, and a placeholder of the same length.
#[derive(Debug, Clone)]
pub(in crate::stripe) struct Authorization {
    value: Secret,
    placeholder: String,
}

impl Authorization {
    pub(in crate::stripe) fn new(key: &Secret) -> Self {
        // The text of a request's body is encoded: it has no space, no brace and no end of a line.
        let placeholder = format!("Bearer {}\r\n", "{".repeat(key.expose().len()));
        Self { value: format!("Bearer {}\r\n", key.expose()).into(), placeholder }
    }

    /// What ureq writes.
    ///
    /// # Errors
    /// If the key has characters that cannot be sent.
    pub(in crate::stripe) fn header(&self) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
        HeaderValue::from_str(self.value.expose().trim_end_matches("\r\n"))?;
        HeaderValue::from_str(self.placeholder.trim_end_matches("\r\n"))
    }

    /// Replaces the placeholder in the head of a request.
    fn insert(&self, output: &mut [u8]) {
        let placeholder = self.placeholder.as_bytes();
        if let Some(at) = output.windows(placeholder.len()).position(|part| part == placeholder) {
            output[at..at + placeholder.len()].copy_from_slice(self.value.expose().as_bytes());
        }
    }
}

/// Wraps each connection into a [`KeyConnection`].
#[derive(Debug)]
pub(in crate::stripe) struct KeyConnector(pub(in crate::stripe) Authorization);

impl<T: Transport> Connector<T> for KeyConnector {
    type Out = KeyConnection<T>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<T>) -> Result<Option<KeyConnection<T>>, Error> {
        Ok(chained.map(|inner| KeyConnection { inner, authorization: self.0.clone() }))
    }
}

#[derive(Debug)]
pub(in crate::stripe) struct KeyConnection<T> {
    inner: T,
    authorization: Authorization,
}

impl<T: Transport> Transport for KeyConnection<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.authorization.insert(&mut self.inner.buffers().output()[..amount]);
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
