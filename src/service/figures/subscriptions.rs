//! Subscriptions to the notifications of this process.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use crate::model::notifications::notification::Notification;
use crate::service::TicketingService;
use crate::store::Subscription;

/// Receives the notifications of a [subscription](TicketingService::subscribe). Its methods and errors are those of a
/// [`std::sync::mpsc::Receiver`].
///
/// Dropping it ends the subscription. Several threads may share a receiver: each notification goes to one of them.
///
/// As an iterator, it waits for the next notification, and ends when the service is closed.
pub struct NotificationReceiver {
    subscription: Arc<Subscription>,
}

/// # Subscriptions
impl TicketingService {
    /// Subscribes to the changes that this process makes, for views that may miss some, such as a dashboard. The
    /// notifications are those of [`Builder::on_notification`](crate::Builder::on_notification): of all topics and
    /// organizations.
    ///
    /// A change is received once it is durable: after the method that made it has returned, its notifications are in
    /// the receiver, in the order of the commits. What was undone or refused is not reported, and neither is the
    /// repetition of a request with its idempotency key.
    ///
    /// A subscription is in memory and best effort. Use
    /// [`Builder::on_notification`](crate::Builder::on_notification) for everything that has to happen:
    ///
    /// | | `subscribe` | [`on_notification`](crate::Builder::on_notification) |
    /// |---|---|---|
    /// | changes | since the call, through this service and its clones | all, also those of other processes |
    /// | after a crash or restart | the rest is lost | the rest is delivered |
    /// | slow readers | the oldest notifications are dropped | all notifications wait |
    /// | after an error | nothing is repeated | the handler is called again |
    ///
    /// The receiver holds up to `capacity` notifications, at least one. If it is full, the oldest one is dropped and
    /// counted in [`missed`](NotificationReceiver::missed), so that a subscriber never delays an operation. A view that
    /// has missed some reads its state again.
    ///
    /// The receiver does not keep the service open. Once the service is [closed](Self::close), or all its clones are
    /// dropped, the receiver returns the notifications that it still has, and then that it is disconnected.
    ///
    /// ```
    /// use ticketing::notification::NotificationTopic;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = service.subscribe(1000);
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let change = changes.recv()?;
    /// assert_eq!(change.details.topic(), NotificationTopic::OrderCreated);
    /// assert_eq!(change.organization_id, caller.organization());
    ///
    /// service.payment_completed(&caller, created.order.id)?;
    /// service.close(std::time::Duration::from_secs(10))?;
    /// let topics: Vec<_> = changes.map(|change| change.details.topic()).collect();
    /// use NotificationTopic::{OrderCompleted, TicketIssued};
    /// assert_eq!(topics, [OrderCompleted, TicketIssued, TicketIssued]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self, capacity: usize) -> NotificationReceiver {
        NotificationReceiver { subscription: self.store_in_operation().subscribe(capacity) }
    }
}

impl NotificationReceiver {
    /// Waits for the next notification, and returns it.
    ///
    /// # Errors
    /// [`RecvError`] if the service is closed, and every notification was received.
    pub fn recv(&self) -> Result<Notification, RecvError> {
        self.subscription.next(None).map_err(|_| RecvError)
    }

    /// Waits for the next notification, but no longer than `timeout`, and returns it.
    ///
    /// # Errors
    /// - [`RecvTimeoutError::Timeout`] if there is none until then.
    /// - [`RecvTimeoutError::Disconnected`] if the service is closed, and every notification was received.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Notification, RecvTimeoutError> {
        self.subscription.next(Some(timeout)).map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Returns the next notification without waiting.
    ///
    /// # Errors
    /// - [`TryRecvError::Empty`] if there is none.
    /// - [`TryRecvError::Disconnected`] if the service is closed, and every notification was received.
    pub fn try_recv(&self) -> Result<Notification, TryRecvError> {
        self.subscription.next(Some(Duration::ZERO))
    }

    /// How many notifications were dropped since the subscription, because the receiver was full.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.subscription.missed()
    }
}

impl Iterator for NotificationReceiver {
    type Item = Notification;

    fn next(&mut self) -> Option<Notification> {
        self.recv().ok()
    }
}

impl fmt::Debug for NotificationReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationReceiver").field("missed", &self.missed()).finish_non_exhaustive()
    }
}
