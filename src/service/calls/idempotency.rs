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
use crate::model::tenants::caller::{IdempotentCall, Identity, KeyedCaller};
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
    pub(in crate::service) fn write_idempotent<C: IdempotentCall, B, T>(
        &self,
        caller: &C,
        target: OperationTarget,
        request: impl Into<Request<B>>,
        work: impl Fn(&Transaction<'_>, Identity, &Request<B>) -> Result<T> + Send + 'static,
    ) -> Result<C::Output<T>>
    where
        B: Serialize + Send + 'static,
        T: OperationResult + Send + 'static,
    {
        let identity = caller.as_caller().identity();
        self.replay_or_run(caller, target, request.into(), |operation, request| {
            self.write_for(identity, move |tx| operation.run(tx, || work(tx, identity, &request)))
        })
    }

    /// Like [`write_idempotent`](Self::write_idempotent), for an operation that changes the sale of this event. It may
    /// release expired holds of the event.
    pub(in crate::service) fn write_event_idempotent<C: IdempotentCall, B, T>(
        &self,
        caller: &C,
        target: OperationTarget,
        event: impl Into<EventKey>,
        request: impl Into<Request<B>>,
        work: impl Fn(&LockedEvent<'_>, Identity, &Request<B>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<C::Output<T>>
    where
        B: Serialize + Send + Sync + 'static,
        T: OperationResult + Send + 'static,
    {
        let identity = caller.as_caller().identity();
        self.replay_or_run(caller, target, request.into(), |operation, request| {
            self.write_with_expired_holds(identity, event, move |tx, release_limit| {
                operation.run(tx, || work(tx, identity, &request, release_limit))
            })
        })
    }

    /// Returns the stored result if the same request has succeeded before, and otherwise that of `run`.
    fn replay_or_run<C: IdempotentCall, B: Serialize, T: OperationResult>(
        &self,
        caller: &C,
        target: OperationTarget,
        request: Request<B>,
        run: impl FnOnce(IdempotentOperation, Request<B>) -> Result<Replayable<T>>,
    ) -> Result<C::Output<T>> {
        let result = match self.begin_idempotent(&caller.keyed(), target, &request)? {
            Start::Replay(result) => Replayable::replayed(result),
            Start::Run(running) => run(running.operation(), request)?,
        };
        Ok(C::output(result))
    }
}
