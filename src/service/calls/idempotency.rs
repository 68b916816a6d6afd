//! Starts idempotent operations. What happens in their transactions is in `sales::idempotent_operation`.
//!
//! An operation that is one transaction calls [`write_idempotent`](TicketingService::write_idempotent). An operation
//! that does more, such as calling the payment gateway, calls [`begin_idempotent`](TicketingService::begin_idempotent)
//! and stores its result itself.

use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::fair::InUseGuard;
use crate::form::request::Request;
use crate::model::tenants::caller::KeyedCaller;
use crate::model::tenants::idempotency::{IdempotencyKey, Replayable};
use crate::model::values::id::OrganizationId;
use crate::sales::idempotent_operation::{IdempotentOperation, OperationResult, OperationTarget, PriorOutcome};
use crate::sales::orders::hold_releases::ReleaseLimit;
use crate::service::TicketingService;
use crate::store::{EventKey, LockedEvent, Transaction};

/// When a request should be repeated whose key is in flight: most operations take much less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How an operation starts.
pub(in crate::service) enum Start<T> {
    /// The same request has succeeded before; this is its stored result.
    Replay(T),
    Run(RunningOperation),
}

/// An operation that runs now. Until it is dropped, a request with the same key fails with
/// [`Error::IdempotencyInProgress`](crate::Error::IdempotencyInProgress).
#[derive(Debug)]
pub(in crate::service) struct RunningOperation {
    operation: IdempotentOperation,
    _in_flight: Option<InUseGuard<(OrganizationId, IdempotencyKey)>>,
}

impl RunningOperation {
    /// The operation, for use in a transaction.
    pub(in crate::service) fn operation(&self) -> IdempotentOperation {
        self.operation.clone()
    }
}

impl TicketingService {
    /// Starts an operation. If the caller gave a key under which the same request has succeeded, returns its result.
    pub(in crate::service) fn begin_idempotent<B: Serialize, T: OperationResult>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        request: &Request<B>,
    ) -> Result<Start<T>> {
        let operation = IdempotentOperation::new(call, target, request)?;
        let Some(keyed) = operation.keyed_request() else {
            return Ok(Start::Run(RunningOperation { operation, _in_flight: None }));
        };
        if let PriorOutcome::Result(result) = self.store()?.read_one(|tx| operation.prior_outcome(tx))? {
            return Ok(Start::Replay(result));
        }
        let guard = self.inner.in_flight_keys.take((keyed.organization, keyed.key.clone()), 1);
        let guard = guard.ok_or(Error::IdempotencyInProgress { retry_after: RETRY_AFTER })?;
        Ok(Start::Run(RunningOperation { operation, _in_flight: Some(guard) }))
    }

    /// Runs an operation that is one transaction, and stores its result if the caller gave a key.
    pub(in crate::service) fn write_idempotent<B, T>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        request: impl Into<Request<B>>,
        work: impl Fn(&Transaction<'_>, &Request<B>) -> Result<T> + Send + 'static,
    ) -> Result<Replayable<T>>
    where
        B: Serialize + Send + 'static,
        T: OperationResult + Send + 'static,
    {
        self.replay_or_run(call, target, request.into(), |operation, request| {
            self.write_for(call.caller.identity(), move |tx| operation.run(tx, || work(tx, &request)))
        })
    }

    /// Like [`write_idempotent`](Self::write_idempotent), for an operation that changes the sale of this event.
    pub(in crate::service) fn write_event_idempotent<B, T>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        event: impl Into<EventKey>,
        request: impl Into<Request<B>>,
        work: impl Fn(&LockedEvent<'_>, &Request<B>) -> Result<T> + Send + 'static,
    ) -> Result<Replayable<T>>
    where
        B: Serialize + Send + 'static,
        T: OperationResult + Send + 'static,
    {
        self.replay_or_run(call, target, request.into(), |operation, request| {
            let run = move |tx: &LockedEvent<'_>| operation.run(tx, || work(tx, &request));
            self.write_event_for(call.caller.identity(), event, run)
        })
    }

    /// Like [`write_idempotent`](Self::write_idempotent), for an operation that may release expired holds of the event.
    pub(in crate::service) fn write_idempotent_with_expired_holds<B, T>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        event: impl Into<EventKey>,
        request: impl Into<Request<B>>,
        work: impl Fn(&LockedEvent<'_>, &Request<B>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Replayable<T>>
    where
        B: Serialize + Send + Sync + 'static,
        T: OperationResult + Send + 'static,
    {
        self.replay_or_run(call, target, request.into(), |operation, request| {
            self.write_with_expired_holds(call.caller.identity(), event, move |tx, release_limit| {
                operation.run(tx, || work(tx, &request, release_limit))
            })
        })
    }

    /// Returns the stored result if the same request has succeeded before, and otherwise that of `run`.
    fn replay_or_run<B: Serialize, T: OperationResult>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        request: Request<B>,
        run: impl FnOnce(IdempotentOperation, Request<B>) -> Result<Replayable<T>>,
    ) -> Result<Replayable<T>> {
        match self.begin_idempotent(call, target, &request)? {
            Start::Replay(result) => Ok(Replayable::replayed(result)),
            Start::Run(running) => run(running.operation(), request),
        }
    }

    /// Runs an operation that only reads. With a key it needs a write transaction nevertheless, to store its result.
    /// There it may release expired holds of the event.
    pub(in crate::service) fn read_idempotent<B, T>(
        &self,
        call: &KeyedCaller,
        target: OperationTarget,
        event: impl Into<EventKey>,
        request: impl Into<Request<B>>,
        work: impl Fn(&Transaction<'_>, &Request<B>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Replayable<T>>
    where
        B: Serialize + Send + Sync + 'static,
        T: OperationResult + Send + 'static,
    {
        if call.key.is_some() {
            let work = move |tx: &LockedEvent<'_>, request: &_, release_limit: &_| work(tx, request, release_limit);
            return self.write_idempotent_with_expired_holds(call, target, event, request, work);
        }
        let request = request.into();
        self.store()?.read(|tx| work(tx, &request, &ReleaseLimit::of_reader())).map(Replayable::executed)
    }
}
