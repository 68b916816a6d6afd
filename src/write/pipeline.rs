//! The way of a write, from the checks of its caller to its transaction and back.
//!
//! 1. The scope, the quota of bytes, and the limit of notifications that wait: [`Writes::require`] and its sisters.
//! 2. The idempotency key, outside the transaction: a stored result is returned without a write, and a request that
//!    this process is executing is refused ([`Write::in_steps`]). A [prepared](super::prepared) write has come so far: a
//!    thread goes on with it, or a task that waits without one.
//! 3. The turn of the organization, and the lock of the event ([`Store::submit`]).
//! 4. In the transaction: whether the organization is suspended, the idempotency key again, the work, the result under
//!    the key.
//! 5. If the work needs the seats of more expired holds than one transaction may release: a batch of them is released,
//!    and the write begins again at 3.
//! 6. After the commit, what was written counts for the quota and the limit.
//!
//! The maintenance releases expired holds every second; 5 happens if it is behind. Each batch is a transaction of its
//! own, and between two of them others get their turn, and may take what was released. What they see is the same before
//! and after a hold is released: its order is reported as expired, and its seats are available.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::backlog_limit::BacklogLimit;
use super::skipped_rows::{SkippedRows, SkippedTable};
use super::write_quota::WriteQuota;
use crate::enums::scope::Scope;
use crate::environment::Environment;
use crate::error::{Error, Result, Unavailable};
use crate::fair::{InUse, InUseGuard};
use crate::form::request::Request;
use crate::model::tenants::caller::{Caller, IdempotentCall, Identity};
use crate::model::tenants::idempotency::{IdempotencyKey, Replayable};
use crate::model::values::id::OrganizationId;
use crate::sales::catalog::hold_releases::{ExpiredHold, ReleaseLimit, exceeds_release_limit, release_batch};
use crate::sales::idempotent_operation::{IdempotentOperation, OperationResult, OperationTarget, PriorOutcome};
use crate::store::tenants::change_context;
use crate::store::webhooks::{outbox, outbox_backlog};
use crate::store::{EventKey, LockedEvent, Store, Transaction};

/// When a request should be repeated whose key is in flight: most operations take much less.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The writes of a service, and its store while it is open.
pub(crate) struct Writes {
    store: Arc<Store>,
    environment: Environment,
    /// Whether new work is refused, because the service is being closed.
    is_closing: AtomicBool,
    quota: Option<WriteQuota>,
    backlog_limit: Option<BacklogLimit>,
    /// The idempotency keys of the requests that this process is executing, with their senders.
    in_flight_keys: InUse<(OrganizationId, i64, IdempotencyKey)>,
    skipped_rows: SkippedRows,
}

/// The limits of what organizations write with their API keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteLimits {
    pub(crate) bytes_per_minute: Option<u64>,
    pub(crate) waiting_notifications: Option<u64>,
}

/// What a caller asks to change: an operation that its idempotency key makes safe to retry.
pub(crate) struct Write<'w, C, B> {
    pub(crate) writes: &'w Writes,
    pub(crate) caller: &'w C,
    pub(crate) operation: OperationTarget,
    pub(crate) request: Request<B>,
}

impl Writes {
    pub(crate) fn new(store: Arc<Store>, environment: Environment, limits: WriteLimits) -> Self {
        Self {
            store,
            environment,
            is_closing: AtomicBool::new(false),
            quota: limits.bytes_per_minute.map(WriteQuota::new),
            backlog_limit: limits.waiting_notifications.map(BacklogLimit::new),
            in_flight_keys: InUse::new(1),
            skipped_rows: SkippedRows::default(),
        }
    }

    /// The store, for new work. Fails if the service is being closed.
    ///
    /// An operation uses it until it has changed something. From then on it uses
    /// [`store_in_operation`](Self::store_in_operation), so that it is not left half done.
    pub(crate) fn store(&self) -> Result<&Arc<Store>> {
        if self.is_closing() {
            return Err(Error::Unavailable(Unavailable::Closed));
        }
        Ok(&self.store)
    }

    /// The store, for the later steps of an operation that has changed something already, and for counters.
    pub(crate) fn store_in_operation(&self) -> &Arc<Store> {
        &self.store
    }

    /// Refuses new work from now on.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    /// Checks that the caller has the scope, and that its organization has not used up its quota. For operations that
    /// create or update something: what ends something, payments and check-ins are small and urgent, and never refused.
    pub(crate) fn require(&self, caller: &Caller, scope: Scope) -> Result<()> {
        caller.require(scope)?;
        match (&self.quota, caller.key) {
            (Some(quota), Some(_)) => quota.check(caller.organization, self.environment.clock.monotonic()),
            _ => Ok(()),
        }
    }

    /// Like [`require`](Self::require), for operations that queue notifications. They are refused too if too many wait
    /// for the organization's endpoints.
    pub(crate) fn require_to_notify(&self, caller: &Caller, scope: Scope) -> Result<()> {
        self.require(caller, scope)?;
        let (Some(limit), Some(_)) = (&self.backlog_limit, caller.key) else { return Ok(()) };
        limit.check(caller.organization, self.environment.clock.monotonic(), |most| {
            self.store()?.read(|tx| outbox_backlog::count_of_organization(tx, caller.organization, most))
        })
    }

    /// Runs a change that a caller makes, in a transaction. Fails if the organization is suspended or was deleted: what
    /// is committed after the suspension is refused, also in another process.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        caller: Identity,
        work: impl Fn(&Transaction<'_>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.submit(caller.organization, Some(caller), None, &Arc::new(move |tx: &Transaction<'_>, _: &_| work(tx)))
    }

    /// Like [`run`](Self::run), for a change of the sale of this event.
    pub(crate) fn run_on<T: Send + 'static>(
        &self,
        caller: Identity,
        event: impl Into<EventKey>,
        work: impl Fn(&LockedEvent<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let event = event.into();
        let work = move |tx: &Transaction<'_>, limit: &_| work(&tx.lock_event(event)?, limit);
        self.submit(caller.organization, Some(caller), Some(event), &Arc::new(work))
    }

    /// Records what has happened in the sale of this event, also while the organization is suspended.
    pub(crate) fn record_on<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        event: impl Into<EventKey>,
        work: impl Fn(&LockedEvent<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let event = event.into();
        let work = move |tx: &Transaction<'_>, limit: &_| work(&tx.lock_event(event)?, limit);
        self.submit(organization, None, Some(event), &Arc::new(work))
    }

    /// Runs `work` in a transaction, which is checked and counted if a caller has asked for it. It locks the event, which
    /// `work` locks once more to show it: that costs nothing.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        organization: OrganizationId,
        caller: Option<Identity>,
        event: Option<EventKey>,
        work: &Arc<impl Fn(&Transaction<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<T> {
        let mut after = None;
        loop {
            let submitted = self.store()?.submit(Some(organization), event, in_transaction(caller, work, after));
            match (submitted, event) {
                (Err(error), Some(event)) if exceeds_release_limit(&error) => {
                    let release = move |tx: &LockedEvent<'_>| release_batch(tx, event, after);
                    let batch = self.store()?.write_event(organization, event, release)?;
                    for skipped in batch.skipped {
                        self.skip_row(SkippedTable::Orders, skipped.row.order.raw(), &skipped.error);
                    }
                    // After each batch fewer expired holds are left, also if other operations release them meanwhile.
                    after = batch.last.or(after);
                }
                (submitted, _) => {
                    let (value, written) = submitted?;
                    self.count(organization, written);
                    return Ok(value);
                }
            }
        }
    }

    /// Like [`submit`](Self::submit), for a task. It releases no holds.
    #[cfg(feature = "server")]
    pub(super) async fn queue<T: Send + 'static>(
        &self,
        caller: Identity,
        event: Option<EventKey>,
        work: &Arc<impl Fn(&Transaction<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static>,
    ) -> Result<T> {
        let organization = caller.organization;
        let queued = self.store()?.queue(Some(organization), event, in_transaction(Some(caller), work, None));
        let (value, written) = queued.wait().await?;
        self.count(organization, written);
        Ok(value)
    }

    /// Whether a write is best [queued](super::Prepared::queue) by a task.
    #[cfg(feature = "server")]
    pub(crate) fn are_queued(&self) -> bool {
        self.store.queues_writes()
    }

    /// Counts what an API key has written for its quota, and for the limit of notifications that wait.
    fn count(&self, organization: OrganizationId, written: Written) {
        if let Some(quota) = &self.quota
            && written.bytes > 0
        {
            quota.add(organization, written.bytes, self.environment.clock.monotonic());
        }
        if let Some(limit) = &self.backlog_limit
            && written.notifications > 0
        {
            limit.add(organization, written.notifications);
        }
    }

    /// Whether a row could not be processed within the last minute.
    pub(crate) fn is_skipped(&self, table: SkippedTable, key: i64) -> bool {
        self.skipped_rows.contains(table, key, self.environment.clock.monotonic())
    }

    /// Counts and logs a row that could not be processed, and skips it for a minute.
    pub(crate) fn skip_row(&self, table: SkippedTable, key: i64, error: &Error) {
        let now = self.environment.clock.monotonic();
        self.skipped_rows.add(table, key, now);
        if self.store.counters().row_skipped(table.name(), now) {
            tracing::error!(
                target: "ticketing::maintenance",
                table = table.name(),
                row = key,
                %error,
                "a row cannot be processed and is skipped; a check shows what is wrong. Further rows of this table are \
                 not logged for an hour"
            );
        }
    }
}

impl<C: IdempotentCall, B: Serialize + Send + Sync + 'static> Write<'_, C, B> {
    /// Runs an operation that is one transaction, and stores its result if the caller gave a key.
    pub(crate) fn run<T: OperationResult + Send + 'static>(
        self,
        work: impl Fn(&Transaction<'_>, Identity, &Request<B>) -> Result<T> + Send + Sync + 'static,
    ) -> Result<C::Output<T>> {
        let (writes, caller) = (self.writes, self.caller.as_caller().identity());
        self.in_steps(|operation, request| {
            writes.run(caller, move |tx| operation.run(tx, || work(tx, caller, &request)))
        })
    }

    /// Like [`run`](Self::run), for an operation that changes the sale of this event. It may release expired holds of
    /// the event.
    pub(crate) fn run_on<T: OperationResult + Send + 'static>(
        self,
        event: impl Into<EventKey>,
        work: impl Fn(&LockedEvent<'_>, Identity, &Request<B>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<C::Output<T>> {
        let (writes, caller) = (self.writes, self.caller.as_caller().identity());
        self.in_steps(|operation, request| {
            writes.run_on(caller, event, move |tx, limit| operation.run(tx, || work(tx, caller, &request, limit)))
        })
    }

    /// Runs an operation of several steps, such as one that calls the payment gateway, which stores its result itself.
    /// If the caller gave a key under which the same request has succeeded, returns the stored result instead. While it
    /// runs, a request with the same key fails with [`Error::IdempotencyInProgress`](crate::Error::IdempotencyInProgress).
    pub(crate) fn in_steps<T: OperationResult>(
        self,
        run: impl FnOnce(IdempotentOperation, Request<B>) -> Result<Replayable<T>>,
    ) -> Result<C::Output<T>> {
        match self.begin()? {
            Begun::Known(result) => Ok(C::output(Replayable::replayed(result))),
            Begun::New { operation, request, in_flight: _in_flight } => run(operation, request).map(C::output),
        }
    }

    /// Begins an idempotent operation, unless it is known how it has ended.
    pub(super) fn begin<T: OperationResult>(self) -> Result<Begun<T, B>> {
        let Self { writes, caller, operation, request } = self;
        let operation = IdempotentOperation::new(&caller.keyed(), operation, &request)?;
        let Some(keyed) = operation.keyed_request() else {
            return Ok(Begun::New { operation, request, in_flight: None });
        };
        if let PriorOutcome::Result(result) = writes.store()?.read_one(|tx| operation.prior_outcome(tx))? {
            return Ok(Begun::Known(result));
        }
        let in_flight = writes.in_flight_keys.take((keyed.organization, keyed.sender, keyed.key.clone()));
        let in_flight = Some(in_flight.ok_or(Error::IdempotencyInProgress { retry_after: RETRY_AFTER })?);
        Ok(Begun::New { operation, request, in_flight })
    }
}

/// An idempotent operation that begins.
pub(super) enum Begun<T, B> {
    /// The same request has succeeded with this result.
    Known(T),
    New {
        operation: IdempotentOperation,
        request: Request<B>,
        in_flight: Option<InFlight>,
    },
}

/// A use of an idempotency key, which ends when it is dropped.
pub(super) type InFlight = InUseGuard<(OrganizationId, i64, IdempotencyKey)>;

/// Work in a transaction, which is checked and counted if a caller has asked for it. `after` is the last of the holds that
/// were released for it.
fn in_transaction<T: Send + 'static>(
    caller: Option<Identity>,
    work: &Arc<impl Fn(&Transaction<'_>, &ReleaseLimit) -> Result<T> + Send + Sync + 'static>,
    after: Option<ExpiredHold>,
) -> impl Fn(&Transaction<'_>) -> Result<(T, Written)> + Send + 'static {
    let work = Arc::clone(work);
    move |tx| {
        let work = || work(tx, &ReleaseLimit::after(after));
        match caller {
            Some(caller) => run_if_active(tx, caller, work),
            None => Ok((work()?, Written::default())),
        }
    }
}

/// What a transaction has written.
#[derive(Clone, Copy, Default)]
struct Written {
    /// How many bytes, if an API key has asked for them.
    bytes: u64,
    /// How many notifications it has queued for webhook endpoints.
    notifications: u64,
}

/// Runs `work`, and returns also what the transaction has written. Fails if the organization was deleted, or is
/// suspended and the caller does not work for suspended ones.
fn run_if_active<T>(tx: &Transaction<'_>, caller: Identity, work: impl FnOnce() -> Result<T>) -> Result<(T, Written)> {
    // With PostgreSQL, the first statement of the work brings the answer.
    tx.read_ahead(|| change_context::require_active(tx, caller.organization));
    let worked = work();
    match change_context::require_active(tx, caller.organization) {
        Err(Error::OrganizationSuspended) if caller.works_if_suspended => {}
        Err(error @ (Error::OrganizationSuspended | Error::NotFound(_))) => return Err(error),
        // A transaction in which a statement of the work has failed may answer no further one.
        Err(error) => return Err(worked.err().unwrap_or(error)),
        Ok(()) => {}
    }
    let bytes = if caller.key.is_some() { tx.written_bytes() } else { 0 };
    Ok((worked?, Written { bytes, notifications: outbox::queued(tx) }))
}
