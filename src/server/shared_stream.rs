//! The TCP stream of a connection, shared by hyper and by the requests that watch whether their client is still there.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How often a request looks whether its client is still there.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long a client that has closed its side may wait for the response to a read.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(1);

/// A TCP stream. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct SharedStream(Arc<Mutex<TcpStream>>);

/// What is known of the client at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Present,
    /// It sends nothing more, and may or may not wait for the response: both look the same on TCP.
    HalfClosed,
    Gone,
}

impl SharedStream {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes when the client has reset the connection, or has closed its side for a second.
    ///
    /// hyper does not read while a request is handled, because a client that has closed its side still gets the
    /// response. So this looks at the stream itself. A client that sent more bytes before it left is not noticed.
    pub(super) async fn client_left(&self) {
        let mut half_closed_since: Option<Instant> = None;
        loop {
            sleep(CHECK_INTERVAL).await;
            match self.client().await {
                Client::Present => {}
                Client::HalfClosed => {
                    let since = half_closed_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= HALF_CLOSED_TIME {
                        return;
                    }
                }
                Client::Gone => return,
            }
        }
    }

    /// Looks at the next byte without taking it, and does not wait for one.
    async fn client(&self) -> Client {
        poll_fn(|cx| {
            let mut byte = [0];
            let mut byte = ReadBuf::new(&mut byte);
            Poll::Ready(match self.lock().poll_peek(cx, &mut byte) {
                Poll::Pending | Poll::Ready(Ok(1..)) => Client::Present,
                Poll::Ready(Ok(0)) => Client::HalfClosed,
                Poll::Ready(Err(_)) => Client::Gone,
            })
        })
        .await
    }
}
