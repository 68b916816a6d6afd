//! The TCP stream of a connection, shared by hyper and by the requests that watch whether their client is still there.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::environment::Locked;

/// How often a request looks whether its client is still there.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long a client that has closed its side may wait for the response to a read.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(1);

/// A TCP stream. Clones share it.
#[derive(Debug, Clone)]
pub(in crate::server) struct SharedStream(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stream: Mutex<TcpStream>,
    /// When to look next whether the client is still there. It is set again when it has passed, and not for each
    /// request: most requests are over before.
    next_check: Mutex<Pin<Box<Sleep>>>,
}

impl SharedStream {
    pub(in crate::server) fn new(stream: TcpStream) -> Self {
        let next_check = Mutex::new(Box::pin(sleep(CHECK_INTERVAL)));
        Self(Arc::new(Shared { stream: Mutex::new(stream), next_check }))
    }

    pub(in crate::server) fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.stream.locked()
    }

    /// Completes when the client has reset the connection, or has closed its side for a second.
    ///
    /// hyper does not read while a request is handled, because a client that has closed its side still gets the
    /// response. So this looks at the stream itself. A client that sent more bytes before it left is not noticed.
    pub(in crate::server) async fn client_left(&self) {
        let mut half_closed_since: Option<Instant> = None;
        loop {
            poll_fn(|cx| self.poll_next_check(cx)).await;
            let mut byte = [0];
            // Looks at the next byte without taking it, and does not wait for one.
            match poll_fn(|cx| Poll::Ready(self.lock().poll_peek(cx, &mut ReadBuf::new(&mut byte)))).await {
                Poll::Pending | Poll::Ready(Ok(1..)) => {}
                // It sends nothing more, and may or may not wait for the response: both look the same on TCP.
                Poll::Ready(Ok(0)) => {
                    let since = half_closed_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= HALF_CLOSED_TIME {
                        return;
                    }
                }
                Poll::Ready(Err(_)) => return,
            }
        }
    }

    /// Waits until it is time to look for the client.
    fn poll_next_check(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut next_check = self.0.next_check.locked();
        ready!(next_check.as_mut().poll(cx));
        next_check.as_mut().reset(Instant::now() + CHECK_INTERVAL);
        Poll::Ready(())
    }
}
