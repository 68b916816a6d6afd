//! Writes that have passed their checks and are in no transaction yet. A thread [runs](Prepared::run) one and waits for
//! it, or a task [queues](Prepared::queue) it.

use std::sync::Arc;

use serde::Serialize;

use super::pipeline::{Begun, InFlight, Write, Writes};
use crate::error::Result;
use crate::form::request::Request;
use crate::model::tenants::caller::{IdempotentCall, Identity};
use crate::model::tenants::idempotency::Replayable;
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::idempotent_operation::{IdempotentOperation, OperationResult};
use crate::store::{EventKey, LockedEvent, Transaction};
#[cfg(feature = "server")]
use {super::blocking_threads::spawn_blocking, crate::sales::catalog::hold_releases::exceeds_release_limit};

/// A write that has passed its checks.
pub(crate) struct Prepared<T> {
    write: Box<dyn PreparedWrite<T>>,
    /// Refuses requests with the same idempotency key until the write has ended.
    in_flight: Option<InFlight>,
}

/// What is left of a write after its transaction.
pub(crate) enum AfterWrite<T> {
    Done(T),
    /// It waits for others, such as the payment gateway.
    Waits(Box<dyn FnOnce() -> Result<T> + Send>),
}

#[cfg(feature = "server")]
type Queued<T> = std::pin::Pin<Box<dyn Future<Output = Result<T>> + Send>>;

trait PreparedWrite<T>: Send {
    fn run(self: Box<Self>) -> Result<T>;

    #[cfg(feature = "server")]
    fn queue(self: Box<Self>) -> Queued<T>;
}

impl<T: Send + 'static> Prepared<T> {
    /// The result of an earlier execution of the same request.
    fn known(result: T) -> Self {
        Self { write: Box::new(Known(result)), in_flight: None }
    }

    /// A change that a caller makes, in a transaction, and what follows it.
    pub(crate) fn new<R: Send + 'static>(
        writes: &Arc<Writes>,
        caller: Identity,
        work: impl Fn(&Transaction<'_>) -> Result<R> + Send + Sync + 'static,
        then: impl FnOnce(Result<R>) -> Result<AfterWrite<T>> + Send + 'static,
    ) -> Self {
        Self::of(writes, caller, None, move |tx, _| work(tx), then)
    }

    /// Like [`new`](Self::new), for a change of the sale of this event.
    pub(crate) fn on<R: Send + 'static>(
        writes: &Arc<Writes>,
        caller: Identity,
        event: impl Into<EventKey>,
        work: impl Fn(&LockedEvent<'_>, &ReleaseLimit) -> Result<R> + Send + Sync + 'static,
        then: impl FnOnce(Result<R>) -> Result<AfterWrite<T>> + Send + 'static,
    ) -> Self {
        let event = event.into();
        Self::of(writes, caller, Some(event), move |tx, limit| work(&tx.lock_event(event)?, limit), then)
    }

    fn of<R: Send + 'static>(
        writes: &Arc<Writes>,
        caller: Identity,
        event: Option<EventKey>,
        work: impl Fn(&Transaction<'_>, &ReleaseLimit) -> Result<R> + Send + Sync + 'static,
        then: impl FnOnce(Result<R>) -> Result<AfterWrite<T>> + Send + 'static,
    ) -> Self {
        let change = Change { writes: Arc::clone(writes), caller, event, work: Arc::new(work), then };
        Self { write: Box::new(change), in_flight: None }
    }

    /// The same write with another result.
    pub(crate) fn map<U: Send + 'static>(self, map: impl FnOnce(T) -> U + Send + 'static) -> Prepared<U> {
        Prepared { write: Box::new(Mapped { write: self.write, map }), in_flight: self.in_flight }
    }

    /// Makes the change, and waits until it is durable.
    pub(crate) fn run(self) -> Result<T> {
        let _in_flight = self.in_flight;
        self.write.run()
    }

    /// Makes the change without a thread that waits for it.
    #[cfg(feature = "server")]
    pub(crate) async fn queue(self) -> Result<T> {
        let _in_flight = self.in_flight;
        self.write.queue().await
    }
}

impl<C: IdempotentCall, B: Serialize + Send + Sync + 'static> Write<'_, C, B> {
    /// Like [`in_steps`](Self::in_steps), for an operation that is prepared and not run yet.
    pub(crate) fn prepare<T: OperationResult + Send + 'static>(
        self,
        prepare: impl FnOnce(IdempotentOperation, Request<B>) -> Result<Prepared<Replayable<T>>>,
    ) -> Result<Prepared<Replayable<T>>> {
        match self.begin()? {
            Begun::Known(result) => Ok(Prepared::known(Replayable::replayed(result))),
            Begun::New { operation, request, in_flight } => Ok(Prepared { in_flight, ..prepare(operation, request)? }),
        }
    }
}

struct Known<T>(T);

impl<T: Send + 'static> PreparedWrite<T> for Known<T> {
    fn run(self: Box<Self>) -> Result<T> {
        Ok(self.0)
    }

    #[cfg(feature = "server")]
    fn queue(self: Box<Self>) -> Queued<T> {
        Box::pin(async move { Ok(self.0) })
    }
}

struct Mapped<T, F> {
    write: Box<dyn PreparedWrite<T>>,
    map: F,
}

impl<T: Send + 'static, U, F: FnOnce(T) -> U + Send + 'static> PreparedWrite<U> for Mapped<T, F> {
    fn run(self: Box<Self>) -> Result<U> {
        self.write.run().map(self.map)
    }

    #[cfg(feature = "server")]
    fn queue(self: Box<Self>) -> Queued<U> {
        let Self { write, map } = *self;
        Box::pin(async move { write.queue().await.map(map) })
    }
}

struct Change<W, N> {
    writes: Arc<Writes>,
    caller: Identity,
    event: Option<EventKey>,
    work: Arc<W>,
    then: N,
}

impl<T, R, W, N> PreparedWrite<T> for Change<W, N>
where
    T: Send + 'static,
    R: Send + 'static,
    W: Fn(&Transaction<'_>, &ReleaseLimit) -> Result<R> + Send + Sync + 'static,
    N: FnOnce(Result<R>) -> Result<AfterWrite<T>> + Send + 'static,
{
    fn run(self: Box<Self>) -> Result<T> {
        let Self { writes, caller, event, work, then } = *self;
        match then(writes.submit(caller.organization, Some(caller), event, &work))? {
            AfterWrite::Done(result) => Ok(result),
            AfterWrite::Waits(wait) => wait(),
        }
    }

    #[cfg(feature = "server")]
    fn queue(self: Box<Self>) -> Queued<T> {
        let Self { writes, caller, event, work, then } = *self;
        Box::pin(async move {
            let result = match writes.queue(caller, event, &work).await {
                // Holds have to be released first, in transactions of their own.
                Err(error) if exceeds_release_limit(&error) => {
                    spawn_blocking(move || writes.submit(caller.organization, Some(caller), event, &work)).await?
                }
                result => result,
            };
            match then(result)? {
                AfterWrite::Done(result) => Ok(result),
                AfterWrite::Waits(wait) => spawn_blocking(wait).await?,
            }
        })
    }
}
