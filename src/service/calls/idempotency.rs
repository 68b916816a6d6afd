//! Starts idempotent operations. What happens in their transactions is in `sales::idempotent_operation`.
//!
//! An operation that is one transaction calls [`write_idempotent`](TicketingService::write_idempotent). An operation
//! that does more, such as calling the payment gateway, calls [`run_idempotent`](TicketingService::run_idempotent) and
//! stores its result itself.

use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::form::request::Request;
use crate::model::tenants::caller::{IdempotentCall, Identity};
use crate::model::tenants::idempotency::Replayable;
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::idempotent_operation::{IdempotentOperation, OperationResult, OperationTarget, PriorOutcome};
use crate::service::TicketingService;
use crate::store::{EventKey, LockedEvent, Transaction};

/// When a request should be repeated whose key is in flight: most operations take much less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl TicketingService {
    /// Runs an operation. If the caller gave a key under which the same request has succeeded, returns the stored result
    /// instead. While it runs, a request with the same key fails with
    /// [`Error::IdempotencyInProgress`](crate::Error::IdempotencyInProgress).
    pub(in crate::service) fn run_idempotent<C: IdempotentCall, B: Serialize, T: OperationResult>(
        &self,
        caller: &C,
        target: OperationTarget,
        request: impl Into<Request<B>>,
        run: impl FnOnce(IdempotentOperation, Request<B>) -> Result<Replayable<T>>,
    ) -> Result<C::Output<T>> {
        let request = request.into();
        let operation = IdempotentOperation::new(&caller.keyed(), target, &request)?;
        let Some(keyed) = operation.keyed_request() else { return run(operation, request).map(C::output) };
        if let PriorOutcome::Result(result) = self.store()?.read_one(|tx| operation.prior_outcome(tx))? {
            return Ok(C::output(Replayable::replayed(result)));
        }
        let in_flight = self.inner.in_flight_keys.take((keyed.organization, keyed.sender, keyed.key.clone()));
        let _in_flight = in_flight.ok_or(Error::IdempotencyInProgress { retry_after: RETRY_AFTER })?;
        run(operation, request).map(C::output)
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
        self.run_idempotent(caller, target, request, |operation, request| {
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
        self.run_idempotent(caller, target, request, |operation, request| {
            self.write_with_expired_holds(identity, event, move |tx, release_limit| {
                operation.run(tx, || work(tx, identity, &request, release_limit))
            })
        })
    }
}
