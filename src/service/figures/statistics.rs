//! Figures for monitoring.

use crate::error::Result;
use crate::model::operation::statistics::{Backlog, Statistics};
use crate::payment::GatewayCalls;
use crate::service::TicketingService;
use crate::store::money::{checkout_attempts, disputes, refunds};
use crate::store::order::mails;
use crate::store::sale::gateway_identity::WaitingAtGateway;
use crate::store::sale::seat_counts;
use crate::store::webhooks::outbox_backlog;

/// # Monitoring
impl TicketingService {
    /// Returns the counters of this process since the service was opened, over all organizations: commits, orders,
    /// scans and webhooks. Also returns how many writes are queued.
    ///
    /// This method takes no caller, never waits and cannot fail.
    ///
    /// ```
    /// use ticketing::order::CreateOrder;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let before = service.statistics();
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let after = service.statistics();
    /// assert_eq!(after.orders.created, before.orders.created + 1);
    /// assert!(after.commits.done > before.commits.done);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        #[cfg_attr(not(feature = "documents"), expect(unused_mut, reason = "documents count apart from the store"))]
        let mut statistics = self.store_in_operation().statistics();
        #[cfg(feature = "documents")]
        if let Some(documents) = &self.inner.documents {
            statistics.documents.logos = documents.logo_outcomes();
        }
        statistics
    }

    /// Counts the work that is still to be done in the database, over all organizations and processes: refunds, seats
    /// reserved by pending orders, and webhooks. Also returns the size of the write-ahead log.
    ///
    /// This method takes no caller. It reads the database, in time proportional to the number of ticket types and of
    /// queued notifications.
    ///
    /// # Errors
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if every reader stays busy for 5 seconds.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(service.backlog()?.reserved_seats, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backlog(&self) -> Result<Backlog> {
        self.store()?.scan(None, |tx| {
            let webhooks = outbox_backlog::read(tx)?;
            let (mails_waiting, mail_oldest_due) = mails::backlog(tx)?;
            let gateway = self.payments().gateway.as_ref().map(GatewayCalls::key);
            let sum = |waiting: Vec<WaitingAtGateway>| waiting.iter().map(|waiting| waiting.number).sum();
            Ok(Backlog {
                refunds_due: refunds::count_due(tx)?,
                checkouts_closing: checkout_attempts::count_closing(tx)?,
                checkouts_without_gateway: sum(checkout_attempts::of_other_gateways(tx, gateway)?),
                refunds_without_gateway: sum(refunds::of_other_gateways(tx, gateway)?),
                refunds_refused: refunds::count_owed(tx)?,
                disputes_open: disputes::count_open(tx)?,
                reserved_seats: seat_counts::reserved(tx)?,
                webhooks_waiting: webhooks.waiting,
                webhooks_due: webhooks.due,
                webhook_oldest_due: webhooks.oldest_due,
                mails_waiting,
                mail_oldest_due,
                wal_bytes: self.store_in_operation().wal_bytes(),
            })
        })
    }
}
