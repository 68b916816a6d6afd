//! Reports commits that concern the webhook sender: queued notifications and changed endpoints.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::counters::CommitEvent;
use crate::model::id::WebhookId;

/// A receiver of the notifier's calls: the webhook sender, or the thread of a notification handler.
pub(crate) trait CommitListener: Send + Sync {
    /// Called after a commit that queued notifications for these endpoints or changed them. The callers whose work
    /// was in the commit wait until this returns, so it must not block.
    fn on_commit(&self, endpoints: &[WebhookId]);

    /// Called, likewise, after a commit that queued a fan-out.
    fn on_fan_out(&self) {}

    /// Called, likewise, after a commit that queued notifications for handlers.
    fn on_handler_notified(&self) {}
}

/// The number of change counters. Endpoints share them by the last byte of their ids, which is random.
const CHANGE_COUNTERS: usize = 256;

/// Notifies listeners after commits, and counts the changes of endpoints.
pub(super) struct CommitNotifier {
    listeners: RwLock<Vec<Weak<dyn CommitListener>>>,
    /// How many commits changed an endpoint. There are several counters, so that an endpoint which is changed all the
    /// time disturbs few others.
    changes: [AtomicU64; CHANGE_COUNTERS],
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self { listeners: RwLock::default(), changes: std::array::from_fn(|_| AtomicU64::default()) }
    }
}

impl CommitNotifier {
    /// Adds a listener. It is removed when it is dropped.
    pub(super) fn add_listener(&self, listener: &Arc<dyn CommitListener>) {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|other| other.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    /// Returns a number that changes whenever this process commits a change of the endpoint.
    pub(super) fn endpoint_changes(&self, endpoint: WebhookId) -> u64 {
        self.change_counter(endpoint).load(Ordering::SeqCst)
    }

    fn change_counter(&self, endpoint: WebhookId) -> &AtomicU64 {
        let last_byte = endpoint.raw().to_le_bytes()[0];
        &self.changes[usize::from(last_byte)]
    }

    /// Counts changes of endpoints, and notifies the listeners.
    pub(super) fn notify(&self, events: &[CommitEvent]) {
        for event in events {
            if let CommitEvent::EndpointChanged(endpoint) = event {
                self.change_counter(*endpoint).fetch_add(1, Ordering::SeqCst);
            }
        }
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        if listeners.is_empty() {
            return;
        }
        if events.contains(&CommitEvent::HandlerNotified) {
            for listener in listeners.iter().filter_map(Weak::upgrade) {
                listener.on_handler_notified();
            }
        }
        if events.iter().any(|event| matches!(event, CommitEvent::FanOutQueued { .. })) {
            for listener in listeners.iter().filter_map(Weak::upgrade) {
                listener.on_fan_out();
            }
        }
        let mut endpoints: Vec<WebhookId> = events.iter().filter_map(CommitEvent::endpoint_with_work).collect();
        endpoints.sort_unstable();
        endpoints.dedup();
        if endpoints.is_empty() {
            return;
        }
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.on_commit(&endpoints);
        }
    }
}

impl fmt::Debug for CommitNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommitNotifier")
    }
}
