//! Notifications without threads, for tests.

use crate::error::Result;
use crate::model::values::id::WebhookId;
use crate::service::TicketingService;
use crate::store::Transaction;
use crate::store::webhooks::{attempts, expansion};

/// # Notifications in tests
impl TicketingService {
    /// Calls the functions of [`Builder::on_notification`](crate::Builder::on_notification) with all notifications that
    /// are due now, and [sends those that are due to webhooks](Self::deliver_due_webhooks), one after another on this
    /// thread. Returns how many calls and attempts it made. For tests: with
    /// [`Builder::handler_threads(false)`](crate::Builder::handler_threads), functions are called at no other time.
    ///
    /// Notifications of changes that the functions make are included. A call or an attempt that fails is due again
    /// later, by the service's clock: [`ManualClock::advance`](crate::environment::ManualClock::advance) makes it due.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) as for [`deliver_due_webhooks`](Self::deliver_due_webhooks),
    ///   if a notification waits to be sent to a webhook.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// use ticketing::notification::NotificationTopic;
    /// # let (mails, mail) = std::sync::mpsc::channel();
    /// let service = TicketingService::temporary()
    ///     .handler_threads(false)
    ///     .on_topics("mail", [NotificationTopic::OrderCreated], move |_, notification| {
    ///         Ok(mails.send(notification.organization_id)?)
    ///     })
    ///     .open()?;
    /// # let organization = service.create_organization(CreateOrganization::default())?;
    /// # let caller = service.act_for(organization.id)?;
    /// # let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
    /// # let event = service.create_event(&caller, event)?;
    /// # let ticket_type = CreateTicketType::new("General admission", Amount::cents(1250), 100);
    /// # let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
    /// # let ada = NewCustomer::new("Ada", "ada@example.com");
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert!(mail.try_recv().is_err());
    /// assert_eq!(service.deliver_due_notifications()?, 1);
    /// assert_eq!(mail.try_recv()?, organization.id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deliver_due_notifications(&self) -> Result<usize> {
        let store = self.store()?;
        let mut made = 0;
        loop {
            let made_before = made;
            for queue in self.queues() {
                while !self.writes().is_closing() && queue.attempt_next(self.writes())?.is_made() {
                    made += 1;
                }
            }
            if made == made_before {
                break;
            }
        }
        // A program without webhooks needs no transport.
        let any_queued = |tx: &Transaction<'_>| {
            Ok(attempts::next_endpoint(tx, WebhookId::UNKNOWN)?.is_some() || expansion::any(tx)?)
        };
        if store.read(any_queued)? {
            made += self.deliver_due_webhooks()?;
        }
        Ok(made)
    }
}
