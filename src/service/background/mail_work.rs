//! The queues of mails: what is sent, and the reminders that are caused.

use std::sync::Arc;

use super::mail_reminders::Reminders;
use super::mail_sending::Mails;
use crate::documents::TicketDocument;
use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::mail;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject};
use crate::service::TicketingService;
use crate::work::background_threads::MaintenanceGuard;
use crate::work::queues::{Queue, Queues};
use crate::work::workers;

impl TicketingService {
    /// The mails that this process sends, and the reminders that it causes.
    fn mail_queues(&self) -> &Queues {
        self.inner.mail_queues.get_or_init(|| {
            let Some(options) = &self.inner.mail else { return Vec::new() };
            let reminding = Reminders::new(self.downgrade());
            let sending = Mails::new(self.downgrade(), options.clone());
            vec![Arc::new(Queue::new(Box::new(reminding))), Arc::new(Queue::new(Box::new(sending)))]
        })
    }

    /// Starts the thread that looks for mails that are due.
    pub(in crate::service) fn start_mails(&self) -> Result<()> {
        if self.inner.mail.as_ref().is_none_or(|options| !options.has_threads) {
            return Ok(());
        }
        let queues = self.mail_queues().clone();
        let (writes, store) = (Arc::downgrade(&self.inner.writes), Some(&**self.store_in_operation()));
        let mut guard = MaintenanceGuard::default();
        guard.start("ticketing-work-finder", store, move |stop| workers::run(&writes, &queues, &stop))?;
        self.inner.background.locked().mails = guard;
        Ok(())
    }

    /// Sends the mails that are due now, by the service's clock, and causes the reminders that are. For tests: with
    /// [`MailOptions::threads(false)`](crate::mail::MailOptions::threads), nothing else sends mails.
    ///
    /// # Errors
    /// - [`Error::Store`] if the database cannot be read or written.
    pub fn deliver_due_mails(&self) -> Result<()> {
        let is_over = || self.writes().is_closing();
        self.mail_queues().iter().try_for_each(|queue| workers::do_due(queue, self.writes(), &is_over).map(drop))
    }

    /// The document that is attached to a mail. `None` if the mail has none, or if there is none any more.
    pub(in crate::service) fn document_of_mail(&self, facts: &MailFacts) -> Result<Option<TicketDocument>> {
        if !mail::has_document(facts) {
            return Ok(None);
        }
        let document = match &facts.subject {
            MailSubject::Order(order) => {
                let order = &order.page.order;
                self.document_of_order(order.organizer_id, order.id)
            }
            MailSubject::Tickets(tickets) => self.document_of_tickets(tickets),
        };
        match document {
            Ok(document) => Ok(Some(document)),
            Err(Error::Gone(_) | Error::NotFound(_) | Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
