//! Work that nobody waits for. Nothing depends on it for correctness: what it writes down is true before it comes by.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::TicketingService;
use super::refunds::RefundOutcome;
use crate::error::{Result, StoreError};
use crate::sales::holds;
use crate::store::{events, idempotency, refunds, webhook_retention};

/// How many orders expire in one transaction: others wait no longer than this takes.
const BATCH: usize = 200;

/// How many refunds are asked for in one run.
const REFUNDS: i64 = 100;

/// What a run of the maintenance did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Orders whose hold had run out.
    pub expired_orders: usize,
    /// Events that were over.
    pub expired_events: usize,
    /// Refunds that the gateway answered.
    pub answered_refunds: usize,
    /// Idempotency keys that were 24 hours old.
    pub forgotten_keys: usize,
    /// Attempts to deliver a webhook that were as old as the [`webhook_retention`](crate::Builder::webhook_retention).
    pub forgotten_deliveries: usize,
}

impl TicketingService {
    /// Writes down which holds have run out, which events are over and when keys were used, forgets idempotency keys that
    /// are 24 hours old and the history of webhooks that is 30 days old (or as the builder says), and asks for refunds that
    /// are due. It takes no caller: it works for every organization.
    ///
    /// # Errors
    /// Those of the store; what was done until then stays done.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.run_maintenance()?.expired_orders, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_maintenance(&self) -> Result<MaintenanceReport> {
        let mut report = MaintenanceReport { expired_orders: self.expire_orders()?, ..Default::default() };
        report.expired_events = self.expire_events()?;
        self.record_key_use()?;
        report.forgotten_keys = self.forget_old_keys()?;
        report.forgotten_deliveries = self.forget_old_deliveries()?;
        report.answered_refunds = self.ask_for_due_refunds()?;
        Ok(report)
    }

    /// Starts a thread that calls [`run_maintenance`](Self::run_maintenance) every second, until the answer is dropped or
    /// the last other handle of the service goes.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) where no thread can be started.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let worker = service.start_maintenance()?;
    /// drop(worker); // waits for the run that is under way
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_maintenance(&self) -> Result<MaintenanceWorker> {
        let service = Arc::downgrade(&self.inner);
        let (stop, stopped) = sync_channel::<()>(0);
        let run = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let Some(inner) = service.upgrade() else { return };
                if let Err(error) = (TicketingService { inner }).run_maintenance() {
                    tracing::warn!(%error, "the maintenance failed; it tries again in a second");
                }
            }
        };
        let thread = std::thread::Builder::new().name("ticketing-maintenance".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(MaintenanceWorker { stop: Some(stop), thread: Some(thread) })
    }

    fn expire_orders(&self) -> Result<usize> {
        let mut expired = 0;
        loop {
            let most = i64::try_from(BATCH).unwrap_or(i64::MAX);
            // Looked for first where nobody has to wait: most of the time there is none.
            if !self.store().read(holds::any_expired)? {
                return Ok(expired);
            }
            let batch = self.store().write(move |tx| holds::expire_due(tx, most))?;
            expired += batch;
            if batch < BATCH {
                return Ok(expired);
            }
        }
    }

    fn expire_events(&self) -> Result<usize> {
        if !self.store().read(events::any_over)? {
            return Ok(0);
        }
        self.store().write(events::expire)
    }

    fn forget_old_keys(&self) -> Result<usize> {
        let mut forgotten = 0;
        while self.store().read(idempotency::any_old)? {
            forgotten += self.store().write(idempotency::delete_old)?;
        }
        Ok(forgotten)
    }

    fn forget_old_deliveries(&self) -> Result<usize> {
        let kept = self.inner.webhook_retention;
        let mut forgotten = 0;
        while self.store().read(|tx| webhook_retention::any_old(tx, kept))? {
            forgotten += self.store().write(move |tx| webhook_retention::delete_old(tx, kept))?;
        }
        Ok(forgotten)
    }

    fn ask_for_due_refunds(&self) -> Result<usize> {
        if !self.can_refund() {
            return Ok(0);
        }
        let mut answered = 0;
        for order in self.store().read(|tx| refunds::due(tx, REFUNDS))? {
            match self.attempt_refund(order)? {
                RefundOutcome::Answered => answered += 1,
                RefundOutcome::NotDue => {}
                // The others would not be answered either.
                RefundOutcome::Unavailable => break,
            }
        }
        Ok(answered)
    }
}

/// The thread that runs the maintenance. Dropping it stops the thread.
#[derive(Debug)]
pub struct MaintenanceWorker {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for MaintenanceWorker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the maintenance thread panicked");
        }
    }
}
