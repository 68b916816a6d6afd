//! The bytes that the server holds for its clients: large bodies of requests as they arrive, large bodies of responses and
//! the files of exports until they are sent. What a client only announces is not counted.
//!
//! If there is no room for more, connections are closed whose clients have sent and received nothing for five seconds. If
//! that is not enough, the request gets 503. Small requests with small responses never do.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::Extensions;
use axum::response::Response;

use crate::environment::Locked;
use crate::fair::Tenant;
use crate::model::tenants::caller::Caller;
use crate::model::values::id::ApiKeyId;
use crate::server::net::client_connection::ClientConnection;
use crate::server::net::client_network::network;
use crate::server::responses::problem::Problem;

/// Bodies up to this size are not counted: 64 KiB. There are at most as many as connections.
pub(in crate::server) const SMALL: usize = 64 * 1024;

/// After this time without progress, a client loses what is held for it if others need the room.
const STALLED: Duration = Duration::from_secs(5);

/// Whose bytes are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct Owner {
    organization: Tenant,
    /// The client of a request without an API key, unless its address is unknown.
    network: Option<IpAddr>,
    /// A key for one event, such as that of a door link, which has a small share of the organization's.
    key: Option<ApiKeyId>,
}

impl Owner {
    pub(in crate::server) fn of_tenant(organization: Tenant) -> Self {
        Self { organization, network: None, key: None }
    }

    pub(in crate::server) fn of(caller: &Caller) -> Self {
        let key = caller.key.filter(|_| caller.event.is_some());
        Self { key, ..Self::of_tenant(Some(caller.organization)) }
    }

    fn is_same_client(&self, other: &Self) -> bool {
        (self.organization, self.network) == (other.organization, other.network)
    }
}

/// Limits the bytes that are held. Clones share them.
#[derive(Debug, Clone)]
pub(in crate::server) struct HeldBytes {
    most: u64,
    /// How many bodies or files one client may have.
    most_parts: usize,
    parts: Arc<Mutex<Vec<Weak<Part>>>>,
}

/// A body or a file.
#[derive(Debug, Clone)]
struct Part {
    owner: Owner,
    bytes: u64,
    /// `None` if another server than this one serves the routes.
    connection: Option<Arc<ClientConnection>>,
}

/// What is held of one body or file, until this is dropped.
#[derive(Debug)]
pub(in crate::server) struct Holding {
    all: HeldBytes,
    /// What it counts as, from now on.
    next: Part,
    counted: Option<Arc<Part>>,
}

struct Counted<B>(B, #[expect(dead_code, reason = "its drop counts")] Holding);

impl<B: AsRef<[u8]>> AsRef<[u8]> for Counted<B> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl HeldBytes {
    /// All clients together may have `most` bytes, and one as many as are free, but at most an eighth, or with a key for
    /// one event a 64th.
    pub(in crate::server) fn new(most: u64, most_parts: usize) -> Self {
        Self { most, most_parts, parts: Arc::default() }
    }

    /// Begins a body or a file of a request with these extensions.
    pub(in crate::server) fn begin(&self, owner: Owner, request: &Extensions) -> Holding {
        let next = Part { owner, bytes: 0, connection: request.get().cloned() };
        Holding { all: self.clone(), next, counted: None }
    }

    /// Like [`begin`](Self::begin), for a request without an API key.
    pub(in crate::server) fn begin_anonymous(&self, request: &Extensions) -> Holding {
        let address = request.get::<ConnectInfo<SocketAddr>>().map(|client| network(client.0.ip()));
        self.begin(Owner { network: address, ..Owner::of_tenant(None) }, request)
    }

    /// Makes room for a new part by closing connections whose clients make no progress, longest first. If it `is_needed`,
    /// others of the same client are closed too.
    fn make_room(&self, parts: &mut Vec<Arc<Part>>, new: &Part, is_needed: bool) -> bool {
        let owner = &new.owner;
        let of_key = |part: &Part| part.owner == *owner;
        let of_client = |part: &Part| part.owner.is_same_client(owner);
        loop {
            let sum = |is_counted: &dyn Fn(&Part) -> bool| -> u64 {
                parts.iter().filter(|part| is_counted(part)).map(|part| part.bytes).sum()
            };
            let own = sum(&of_client) + new.bytes;
            let is_rival: &dyn Fn(&Part) -> bool = if owner.key.is_some() && sum(&of_key) + new.bytes > self.most / 64 {
                &of_key
            } else if own > self.most / 8 || parts.iter().filter(|part| of_client(part)).count() >= self.most_parts {
                &of_client
            } else if own + sum(&|_| true) > self.most {
                &|_| true
            } else {
                return true;
            };
            let waiting = parts.iter().enumerate().filter(|(_, part)| is_rival(part)).filter_map(|(index, part)| {
                let since = part.connection.as_ref()?.eviction_order()?.waiting_since;
                (since.elapsed() >= STALLED || (is_needed && of_client(part))).then_some((since, index))
            });
            let Some((_, index)) = waiting.min() else { return false };
            parts.swap_remove(index).connection.as_ref().inspect(|connection| connection.close());
        }
    }
}

impl Holding {
    /// Counts so many bytes from now on. Fails if there is no room for them, unless they are needed.
    pub(in crate::server) fn resize(&mut self, bytes: u64, is_needed: bool) -> Result<(), Problem> {
        self.counted = None;
        self.next.bytes = bytes;
        let mut parts = self.all.parts.locked();
        let mut live: Vec<_> = parts.iter().filter_map(Weak::upgrade).collect();
        let has_room = self.all.make_room(&mut live, &self.next, is_needed) || is_needed;
        *parts = live.iter().map(Arc::downgrade).collect();
        if !has_room {
            let detail =
                "too much is held for clients that send or receive slowly; receive responses, or try again later";
            return Err(Problem::unavailable(detail));
        }
        let counted = Arc::new(self.next.clone());
        parts.push(Arc::downgrade(&counted));
        self.counted = Some(counted);
        Ok(())
    }

    /// Bytes that are counted, as [`resize`](Self::resize) did, until they are dropped.
    pub(in crate::server) fn keep(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Counted(bytes, self))
    }

    /// Counts the body of a response until it was sent. Without room, it is not sent, unless it `is_needed`, because the
    /// request has changed something.
    pub(in crate::server) fn hold(mut self, response: Response, is_needed: bool) -> Result<Response, Problem> {
        let bytes = response.body().size_hint().lower();
        if bytes <= SMALL as u64 {
            return Ok(response);
        }
        self.resize(bytes, is_needed)?;
        let (head, body) = response.into_parts();
        let body = in_memory(body).ok_or_else(|| Problem::internal("a body is not in memory"))?;
        Ok(Response::from_parts(head, Body::from(self.keep(body))))
    }
}

/// The bytes of a body in memory, which is one frame. `None` if it is not in memory, or empty.
pub(in crate::server) fn in_memory(mut body: Body) -> Option<Bytes> {
    match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::tenant;

    #[test]
    fn a_client_holds_an_eighth_and_no_more_than_is_free() {
        let all = HeldBytes::new(640, usize::MAX);
        let hold = |organization| {
            let mut body = all.begin(Owner::of_tenant(tenant(organization)), &Extensions::new());
            body.resize(10, false).is_ok().then_some(body)
        };
        let taken: Vec<Vec<_>> = (0..12).map(|number| (0..100).map_while(|_| hold(number)).collect()).collect();
        let counts: Vec<_> = taken.iter().map(Vec::len).collect();
        assert_eq!(counts, [8, 8, 8, 8, 8, 8, 8, 4, 2, 1, 1, 0]);
        drop(taken);
        assert!(hold(12).is_some());
    }
}
