//! Calls to the payment gateway: each runs on a thread of its own, has a timeout, and needs a permit. Organizations
//! share the permits, and each leaves some to the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::{
    CheckoutTerms, GatewayError, GatewayNotice, NoticeError, NoticeHeaders, PaymentGateway, PaymentMode,
    PaymentWebhooks, StatementLine, StatementRequest,
};
use crate::fair::{Semaphore, Tenant};
use crate::model::sale::gateway_account::{GatewayIdentity, GatewayKey};
use crate::model::values::amount::Amount;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;

/// How many calls of background work may run at the same time.
const MAX_IN_BACKGROUND: usize = 32;

/// How many calls for notices may run at the same time. The provider sends a notice again for which none is free.
const MAX_FOR_NOTICES: usize = 16;

/// How many calls for the pages to which customers come back may run at the same time. Anybody who has paid once can
/// open such a page as often as they like.
const MAX_FOR_PAGES: usize = 8;

/// A payment gateway, and the calls to it that are running. Clones share both.
#[derive(Clone)]
pub(crate) struct GatewayCalls {
    gateway: Arc<dyn PaymentGateway>,
    name: Arc<str>,
    mode: PaymentMode,
    limits: CallLimits,
    permits: Semaphore,
    /// Additional permits for background work: each call needs one of these too.
    in_background: Semaphore,
    /// Additional permits for notices.
    for_notices: Semaphore,
    /// Additional permits for pages.
    for_pages: Semaphore,
    /// Work to be repeated while the service waits for a call.
    while_waiting: Option<WhileWaiting>,
}

/// Who waits for the answer of the gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waiting {
    Caller,
    Notice,
    Maintenance,
}

/// Work that is done again and again, each time after this pause.
#[derive(Clone)]
struct WhileWaiting {
    pause: Duration,
    work: Arc<dyn Fn() + Send + Sync>,
}

/// How long the service waits for a call, and how many calls may run at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) timeout: Duration,
    pub(crate) max_concurrent: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(20), max_concurrent: 128 }
    }
}

impl GatewayCalls {
    pub(crate) fn new(gateway: Arc<dyn PaymentGateway>, limits: CallLimits) -> Self {
        let up_to = |most: usize, share: usize| Semaphore::new((limits.max_concurrent / share).clamp(1, most));
        Self {
            name: gateway.name().into(),
            mode: gateway.mode(),
            gateway,
            limits,
            permits: Semaphore::new(limits.max_concurrent),
            in_background: up_to(MAX_IN_BACKGROUND, 2),
            for_notices: up_to(MAX_FOR_NOTICES, 4),
            for_pages: up_to(MAX_FOR_PAGES, 4),
            while_waiting: None,
        }
    }

    /// The same gateway. Each time that the service has waited for a call for this long, it does `work` before it waits
    /// on.
    pub(crate) fn while_waiting(&self, pause: Duration, work: impl Fn() + Send + Sync + 'static) -> Self {
        Self { while_waiting: Some(WhileWaiting { pause, work: Arc::new(work) }), ..self.clone() }
    }

    /// The name and the mode that the gateway had when the service was opened.
    pub(crate) fn key(&self) -> GatewayKey<'_> {
        GatewayKey { name: &self.name, mode: self.mode }
    }

    /// The gateway as it is recorded with a new checkout of this organization. `None` if it panics.
    pub(crate) fn identity(&self, organization: OrganizationId) -> Option<GatewayIdentity> {
        let account = catch_unwind(AssertUnwindSafe(|| self.gateway.account(organization).into())).ok()?;
        Some(GatewayIdentity { name: self.name.to_string(), account, mode: self.mode })
    }

    pub(crate) fn can_look_up(&self) -> bool {
        self.gateway.checkouts().is_some()
    }

    /// Asks the gateway to list a period, on this thread and without a timeout: `each` uses the database. `None` if the
    /// gateway cannot list periods.
    pub(crate) fn statement(
        &self,
        request: &StatementRequest,
        each: &mut dyn FnMut(StatementLine) -> Result<(), GatewayError>,
    ) -> Option<Result<(), GatewayError>> {
        Some(self.gateway.statements()?.statement(request, each))
    }

    pub(crate) fn can_refund(&self) -> bool {
        self.gateway.limits().can_refund()
    }

    /// The least amount in minor units of a currency that the gateway refunds, at least 1.
    pub(crate) fn smallest_refund(&self, currency: &str) -> i64 {
        catch_unwind(AssertUnwindSafe(|| self.gateway.limits().smallest_refund(currency))).map_or(1, |step| step.max(1))
    }

    /// The least amount of an order in minor units of a currency that the gateway takes, at least 1.
    pub(crate) fn smallest_payment(&self, currency: &str) -> i64 {
        catch_unwind(AssertUnwindSafe(|| self.gateway.limits().smallest_payment(currency)))
            .map_or(1, |least| least.max(1))
    }

    pub(crate) fn shortest_checkout(&self) -> Duration {
        self.gateway.limits().shortest_checkout()
    }

    /// Asks the gateway whether it can take the payment of an order, on this thread. `None` if it panics.
    pub(crate) fn check_terms(&self, terms: &CheckoutTerms) -> Option<Result<(), String>> {
        let least = Amount::from_minor(self.smallest_payment(&terms.currency), &terms.currency).unwrap_or_default();
        if terms.amount < least {
            return Some(Err(format!("must cost at least {least} {} in total, not {}", terms.currency, terms.amount)));
        }
        catch_unwind(AssertUnwindSafe(|| self.gateway.limits().check_terms(terms))).ok()
    }

    #[cfg(feature = "server")]
    pub(crate) fn check_notice_headers(&self, headers: &NoticeHeaders, now: Timestamp) -> Result<(), NoticeError> {
        self.with_webhooks(|webhooks| webhooks.check_headers(headers, now))
    }

    pub(crate) fn read_notice(
        &self,
        headers: &NoticeHeaders,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<GatewayNotice>, NoticeError> {
        self.with_webhooks(|webhooks| webhooks.read(headers, body, now))
    }

    /// Lets the gateway read a notice, on this thread.
    fn with_webhooks<T>(
        &self,
        read: impl FnOnce(&dyn PaymentWebhooks) -> Result<T, NoticeError>,
    ) -> Result<T, NoticeError> {
        let read = || self.gateway.webhooks().map_or(Err(NoticeError::Unsupported), read);
        let panicked = |_| Err(NoticeError::Unavailable("the gateway panicked".to_owned()));
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
    }

    /// How many further calls the background work may make at the same time for one organization that has none running.
    /// Calls that hang count until they return, so that background work leaves at least half of the permits to
    /// customers.
    pub(crate) fn free_in_background(&self) -> usize {
        self.in_background.free().div_ceil(2)
    }

    /// Like [`call`](Self::call), with a further permit unless a caller waits.
    pub(crate) fn call_for<T: Send + 'static>(
        &self,
        waiting: Waiting,
        organization: impl Into<Tenant>,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let (permits, calls) = match waiting {
            Waiting::Caller => return self.call(organization, work),
            Waiting::Notice => (&self.for_notices, "calls for notices"),
            Waiting::Maintenance => (&self.in_background, "calls of background work"),
        };
        self.call_with(permits, organization.into(), work).unwrap_or_else(|| Err(too_many(calls)))
    }

    /// Like [`call`](Self::call), for a page to which a customer has come back. Returns `None` if too many of them wait
    /// for the gateway already, so that they leave the permits to those who order.
    pub(crate) fn call_for_page<T: Send + 'static>(
        &self,
        organization: impl Into<Tenant>,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Option<Result<T, GatewayError>> {
        self.call_with(&self.for_pages, organization.into(), work)
    }

    /// Like [`call`](Self::call), with a permit of this kind. Returns `None` if the organization gets none.
    fn call_with<T: Send + 'static>(
        &self,
        permits: &Semaphore,
        organization: Tenant,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Option<Result<T, GatewayError>> {
        let permit = permits.try_acquire(organization)?;
        Some(self.call(organization, move |gateway| {
            let _permit = permit;
            work(gateway)
        }))
    }

    /// Calls the gateway for an organization on a new thread, in the current tracing span, and waits for its answer
    /// until the timeout. The thread holds the permit until the gateway returns, also after the timeout. Returns
    /// [`GatewayError::NotExecuted`] if the organization has as many calls running as are free or the thread cannot be
    /// started, and [`GatewayError::Unavailable`] if the timeout passes or the gateway panics.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        organization: impl Into<Tenant>,
        work: impl FnOnce(&dyn PaymentGateway) -> Result<T, GatewayError> + Send + 'static,
    ) -> Result<T, GatewayError> {
        let permit = self.permits.try_acquire(organization.into()).ok_or_else(|| too_many("calls"))?;
        let gateway = Arc::clone(&self.gateway);
        let (sender, receiver) = sync_channel(1);
        let span = tracing::Span::current();
        let run = move || {
            let _permit = permit;
            // Fails after the timeout: the receiver has been dropped.
            let _ = sender.send(span.in_scope(|| work(&*gateway)));
        };
        let thread = std::thread::Builder::new().name("ticketing-gateway".to_owned()).spawn(run);
        thread.map_err(|error| GatewayError::NotExecuted(format!("cannot start a thread: {error}")))?;
        match self.wait_for(&receiver) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.limits.timeout.as_secs_f64();
                Err(GatewayError::Unavailable(format!("no answer within {seconds} s")))
            }
            Err(RecvTimeoutError::Disconnected) => Err(GatewayError::Unavailable("the call panicked".to_owned())),
        }
    }

    fn wait_for<T>(&self, receiver: &Receiver<T>) -> Result<T, RecvTimeoutError> {
        let mut left = self.limits.timeout;
        if let Some(WhileWaiting { pause, work }) = &self.while_waiting {
            while left > *pause {
                match receiver.recv_timeout(*pause) {
                    Err(RecvTimeoutError::Timeout) => work(),
                    answered => return answered,
                }
                left -= *pause;
            }
        }
        receiver.recv_timeout(left)
    }
}

fn too_many(calls: &str) -> GatewayError {
    GatewayError::NotExecuted(format!("the organization has as many {calls} running already as are left to others"))
}
