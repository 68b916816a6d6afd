//! The byte stream of a connection: reports what is received and sent, and closes in a way that lets the client read
//! the last response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::client_connection::ClientConnection;
use super::shared_stream::SharedStream;

/// How long the server reads and discards what the client still sends after the last response.
const LINGER: Duration = Duration::from_secs(2);

/// A TCP stream that reports to its [`ClientConnection`].
pub(in crate::server) struct Transport {
    stream: SharedStream,
    connection: Arc<ClientConnection>,
    /// Set once the write half is shut down.
    linger: Option<Pin<Box<Sleep>>>,
}

impl Transport {
    pub(in crate::server) fn new(stream: SharedStream, connection: Arc<ClientConnection>) -> Self {
        Self { stream, connection, linger: None }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut *self.stream.lock()).poll_read(cx, buffer))?;
        if let Some(received @ [_, ..]) = buffer.filled().get(before..) {
            self.connection.bytes_received(received);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.stream.lock()).poll_write(cx, bytes));
        self.connection.bytes_sent();
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.stream.lock()).poll_write_vectored(cx, slices));
        self.connection.bytes_sent();
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.lock().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.lock()).poll_flush(cx)
    }

    /// Lingering close: shuts down the write half, then reads and discards what the client still sends. Closing a
    /// socket with unread bytes resets the connection, and the client may lose the response that reports why its body
    /// was refused.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            ready!(Pin::new(&mut *this.stream.lock()).poll_shutdown(cx))?;
            if !this.connection.may_have_unread_bytes() {
                return Poll::Ready(Ok(()));
            }
        }
        let linger = this.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        let mut discarded = [0; 4096];
        loop {
            if linger.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut *this.stream.lock()).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// A request body that reports its end to its [`ClientConnection`].
pub(in crate::server) struct WatchedBody {
    body: Incoming,
    connection: Arc<ClientConnection>,
}

impl WatchedBody {
    pub(in crate::server) fn wrap(body: Incoming, connection: &Arc<ClientConnection>) -> Body {
        if body.is_end_stream() {
            return Body::empty();
        }
        Body::new(Self { body, connection: Arc::clone(connection) })
    }
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.connection.body_received();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            self.connection.body_dropped();
        }
    }
}
