//! Maintenance: periodic work in the background.
//!
//! Sales and check-in do not depend on it. An order is treated as expired as soon as its hold expires, and an event as
//! soon as it ends; maintenance only stores the new status.

use std::time::Duration;

use super::TicketingService;
use super::maintenance_guard::MaintenanceGuard;
use super::refunds::RefundOutcome;
use crate::error::Result;
use crate::sales::holds;
use crate::store::{events, handler_queue, idempotency_records, refunds, webhook_retention};

/// How many orders are expired in one transaction. Other writes wait at most for one such transaction.
const ORDERS_PER_BATCH: usize = 200;

/// How many refunds are attempted in one run.
const REFUNDS_PER_RUN: i64 = 100;

/// What a run of the maintenance did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MaintenanceReport {
    /// Orders that were marked as expired.
    pub expired_orders: usize,
    /// Events that were marked as expired.
    pub expired_events: usize,
    /// Refunds that the gateway made or refused.
    pub answered_refunds: usize,
    /// Idempotency keys that were deleted at the age of 24 hours.
    pub forgotten_keys: usize,
    /// Webhook deliveries that were deleted at the age of the
    /// [`webhook_retention`](crate::Builder::webhook_retention).
    pub forgotten_deliveries: usize,
    /// Notifications for handlers that were deleted unprocessed, because no program has had their handler for the
    /// [`webhook_retention`](crate::Builder::webhook_retention).
    pub forgotten_notifications: usize,
}

/// # Maintenance
impl TicketingService {
    /// Runs the maintenance once, for all organizations:
    ///
    /// - marks orders whose hold has expired, and events that have ended, as expired;
    /// - stores when API keys were last used;
    /// - deletes idempotency keys after 24 hours, and webhook deliveries after the
    ///   [retention](crate::Builder::webhook_retention);
    /// - attempts refunds that are due.
    ///
    /// # Errors
    /// Those of the [store](crate::Error::Store). The work that was done before the error is kept.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.run_maintenance()?.expired_orders, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_maintenance(&self) -> Result<MaintenanceReport> {
        let expired_orders = self.expire_orders()?;
        let expired_events = self.expire_events()?;
        self.store_key_uses()?;
        self.read_suspended_organizations()?;
        let forgotten_keys = self.delete_expired_idempotency_keys()?;
        let forgotten_deliveries = self.delete_old_deliveries()?;
        let forgotten_notifications = self.delete_old_notifications()?;
        let answered_refunds = self.attempt_due_refunds()?;
        let report = MaintenanceReport {
            expired_orders,
            expired_events,
            answered_refunds,
            forgotten_keys,
            forgotten_deliveries,
            forgotten_notifications,
        };
        if report != MaintenanceReport::default() {
            tracing::debug!(
                target: "ticketing::maintenance",
                expired_orders,
                expired_events,
                answered_refunds,
                forgotten_keys,
                forgotten_deliveries,
                forgotten_notifications,
                "maintenance done"
            );
        }
        Ok(report)
    }

    /// Starts a thread that calls [`run_maintenance`](Self::run_maintenance) every second. It stops when the returned
    /// guard or the last clone of the service is dropped, or when the store has [`stopped`](Self::stopped).
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the thread cannot be started.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let guard = service.start_maintenance()?;
    /// drop(guard); // waits for a run in progress
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_maintenance(&self) -> Result<MaintenanceGuard> {
        let service = self.downgrade();
        MaintenanceGuard::start(move |stop| {
            while !stop.wait(Duration::from_secs(1)) {
                let Some(service) = service.upgrade() else { return };
                if service.stopped().is_some() {
                    return;
                }
                if let Err(error) = service.run_maintenance()
                    && !service.is_closing()
                    && service.stopped().is_none()
                {
                    tracing::warn!(
                        target: "ticketing::maintenance",
                        %error,
                        "the maintenance failed; it runs again in a second"
                    );
                }
            }
        })
    }

    fn expire_orders(&self) -> Result<usize> {
        let mut expired = 0;
        // Usually no order is due. A read finds that out without waiting for the writer.
        while self.store().read(holds::any_expired)? {
            let limit = i64::try_from(ORDERS_PER_BATCH).unwrap_or(i64::MAX);
            let batch = self.store().write(move |tx| holds::expire_due(tx, limit))?;
            expired += batch;
            if batch < ORDERS_PER_BATCH {
                break;
            }
        }
        Ok(expired)
    }

    fn expire_events(&self) -> Result<usize> {
        if !self.store().read(events::any_over)? {
            return Ok(0);
        }
        self.store().write(events::expire)
    }

    fn delete_expired_idempotency_keys(&self) -> Result<usize> {
        let mut deleted = 0;
        while self.store().read(idempotency_records::any_expired)? {
            deleted += self.store().write(idempotency_records::delete_expired)?;
        }
        Ok(deleted)
    }

    fn delete_old_deliveries(&self) -> Result<usize> {
        let retention = self.inner.webhook_retention;
        let mut deleted = 0;
        while self.store().read(|tx| webhook_retention::any_old(tx, retention))? {
            deleted += self.store().write(move |tx| webhook_retention::delete_old(tx, retention))?;
        }
        Ok(deleted)
    }

    fn delete_old_notifications(&self) -> Result<usize> {
        let retention = self.inner.webhook_retention;
        let mut deleted = 0;
        if self.store().read(|tx| handler_queue::any_old(tx, retention))? {
            // This process may have been suspended for long.
            self.register_handlers_again()?;
        }
        while self.store().read(|tx| handler_queue::any_old(tx, retention))? {
            deleted += self.store().write(move |tx| handler_queue::delete_old(tx, retention))?;
        }
        Ok(deleted)
    }

    fn attempt_due_refunds(&self) -> Result<usize> {
        if !self.can_refund() {
            return Ok(0);
        }
        let mut answered = 0;
        for order in self.store().read(|tx| refunds::due(tx, REFUNDS_PER_RUN))? {
            match self.attempt_refund(order)? {
                RefundOutcome::Answered => answered += 1,
                RefundOutcome::NotDue => {}
                // The gateway would not answer the other requests either.
                RefundOutcome::Unavailable => break,
            }
        }
        Ok(answered)
    }
}
