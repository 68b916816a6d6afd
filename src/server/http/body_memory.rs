//! The memory of large bodies: of requests until they were executed, and of responses until their clients have received
//! them.
//!
//! A client that reads slowly keeps a response of megabytes in memory for as long as it wants. So each organization has a
//! limit, and requests of one that is over it are refused.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Method;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use super::problem::Problem;
use crate::enums::scope::Scope;
use crate::fair::{InUse, InUseGuard, Tenant};
use crate::server::operations::operation::Operation;

/// Smaller bodies are not counted: 64 KiB.
const SMALL: usize = 64 * 1024;

/// How many bytes all organizations may use together: 512 MiB. One of them may use an eighth. What is executed already
/// may exceed this.
const MOST: usize = 512 * 1024 * 1024;

/// How many bytes of a response hyper gets at a time. It asks for more when the client has received most of them.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(in crate::server) struct BodyMemory(InUse<Tenant>);

impl BodyMemory {
    pub(in crate::server) fn new() -> Self {
        Self(InUse::new(MOST / 8, MOST))
    }

    /// Counts the body of a request, which has at most this many bytes. Fails if the organization uses too much already.
    /// Scans with small bodies never do: nobody waits at the entrance for a client that does not read.
    pub(super) fn admit(
        &self,
        tenant: Tenant,
        operation: &Operation,
        bytes: usize,
    ) -> Result<Option<InUseGuard<Tenant>>, Problem> {
        let is_small = bytes <= SMALL;
        let is_scan = is_small && operation.route.scope == Scope::TicketsCheckIn && operation.method == Method::POST;
        if !is_scan && !self.0.has_room(&tenant) {
            return Err(Problem::unavailable(
                "too many large requests and responses of the organization are in memory",
            ));
        }
        Ok((!is_small).then(|| self.0.take_always(tenant, bytes)))
    }

    /// Counts the body of a response until the client has received it. It is never refused, because the operation was
    /// executed.
    pub(super) fn hold(&self, tenant: Tenant, response: Response) -> Response {
        let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        match bytes.filter(|bytes| *bytes > SMALL) {
            Some(bytes) => HeldBody::wrap(response, self.0.take_always(tenant, bytes)),
            None => response,
        }
    }
}

/// What is left of a body, with what it holds until the client has received it: memory or a permit.
pub(super) struct HeldBody<H> {
    body: Body,
    /// What was taken from `body`, and not passed on.
    piece: Bytes,
    _held: H,
}

impl<H: Send + Unpin + 'static> HeldBody<H> {
    pub(super) fn wrap(response: Response, held: H) -> Response {
        response.map(|body| Body::new(Self { body, piece: Bytes::new(), _held: held }))
    }
}

impl<H: Unpin> HttpBody for HeldBody<H> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.piece.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.piece = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.piece.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.piece.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.body.size_hint();
        left.exact().map_or(left, |left| SizeHint::with_exact(left + self.piece.len() as u64))
    }
}
