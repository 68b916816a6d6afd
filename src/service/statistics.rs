//! Figures for whoever watches over a service.

use super::TicketingService;
use crate::error::Result;
use crate::model::statistics::{Backlog, Statistics};
use crate::store::{outbox, refunds, seat_counts};

impl TicketingService {
    /// What this service has counted since it was opened: commits, orders and scans, over all organizations, and how much
    /// work waits to be written. It needs no caller, waits for nothing and cannot fail.
    ///
    /// ```
    /// use ticketing::CreateOrder;
    #[doc = include_str!("../doc_fixture.md")]
    /// let before = service.statistics();
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let after = service.statistics();
    /// assert_eq!(after.orders.placed, before.orders.placed + 1);
    /// assert!(after.commits.done > before.commits.done);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.store().statistics()
    }

    /// What waits in the file, over all organizations and processes: refunds, places that unpaid orders hold, webhooks, and
    /// the write-ahead log. It needs no caller. It reads the file, in time that grows with the number of ticket types and
    /// of webhooks that wait.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) where every reader stays busy for five seconds, and an
    /// [`Error::Store`](crate::Error::Store) where the file cannot be read.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(service.backlog()?.held_places, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backlog(&self) -> Result<Backlog> {
        self.store().read(|tx| {
            let (refunds_due, refunds_refused) = refunds::count_open(tx)?;
            let (held_places, wal_bytes) = (seat_counts::reserved(tx)?, self.store().wal_bytes());
            let webhooks = outbox::backlog(tx)?;
            Ok(Backlog {
                refunds_due,
                refunds_refused,
                held_places,
                webhooks_waiting: webhooks.waiting,
                webhooks_due: webhooks.due,
                webhook_oldest_due: webhooks.oldest_due,
                wal_bytes,
            })
        })
    }
}
