//! Reports commits that concern the webhook sender: queued notifications and changed endpoints.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::counters::CommitEvent;
use crate::model::values::id::WebhookId;

/// A receiver of the notifier's calls: the webhook sender, or the thread of a notification handler.
pub(crate) trait CommitListener: Send + Sync {
    /// Called after a commit that left work to background threads. The callers whose work was in the commit wait until
    /// this returns, so it must not block.
    fn on_commit(&self, work: &CommittedWork);
}

/// What a commit leaves to background threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommittedWork {
    /// The endpoints that were changed, or for which notifications were queued: sorted, each once.
    pub(crate) endpoints: Vec<WebhookId>,
    /// Whether notifications were stored that are to be expanded.
    pub(crate) stored: bool,
    /// Whether work was added.
    pub(crate) queued: bool,
}

impl CommittedWork {
    fn of(events: &[CommitEvent]) -> Self {
        let mut endpoints: Vec<WebhookId> = events.iter().filter_map(CommitEvent::endpoint_with_work).collect();
        endpoints.sort_unstable();
        endpoints.dedup();
        let stored = events.iter().any(|event| matches!(event, CommitEvent::NotificationsStored { .. }));
        Self { endpoints, stored, queued: events.contains(&CommitEvent::WorkAdded) }
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the work of another commit.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn add(&mut self, other: Self) {
        self.endpoints.extend(other.endpoints);
        self.endpoints.sort_unstable();
        self.endpoints.dedup();
        self.stored |= other.stored;
        self.queued |= other.queued;
    }
}

/// Tells other processes of the commits of this one. It must not block.
#[cfg(feature = "postgres")]
pub(in crate::store) type Announce = dyn Fn(CommittedWork) + Send + Sync;

/// The number of change counters. Endpoints share them by the last byte of their ids, which is random.
const CHANGE_COUNTERS: usize = 256;

/// Notifies listeners after commits, and counts the changes of endpoints.
pub(in crate::store) struct CommitNotifier {
    listeners: RwLock<Vec<Weak<dyn CommitListener>>>,
    /// How many commits changed an endpoint. There are several counters, so that an endpoint which is changed all the
    /// time disturbs few others.
    changes: [AtomicU64; CHANGE_COUNTERS],
    /// Set by an engine with which other processes must be told. The engine is opened with the notifier.
    #[cfg(feature = "postgres")]
    announce: std::sync::OnceLock<Box<Announce>>,
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self {
            listeners: RwLock::default(),
            changes: std::array::from_fn(|_| AtomicU64::default()),
            #[cfg(feature = "postgres")]
            announce: std::sync::OnceLock::default(),
        }
    }
}

impl CommitNotifier {
    /// Adds a listener. It is removed when it is dropped.
    pub(in crate::store) fn add_listener(&self, listener: &Arc<dyn CommitListener>) {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|other| other.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    /// Returns a number that changes whenever this process commits a change of the endpoint.
    pub(in crate::store) fn endpoint_changes(&self, endpoint: WebhookId) -> u64 {
        self.change_counter(endpoint).load(Ordering::SeqCst)
    }

    fn change_counter(&self, endpoint: WebhookId) -> &AtomicU64 {
        let last_byte = endpoint.raw().to_le_bytes()[0];
        &self.changes[usize::from(last_byte)]
    }

    /// Counts changes of endpoints, and notifies the listeners.
    pub(in crate::store) fn notify(&self, events: &[CommitEvent]) {
        for event in events {
            if let CommitEvent::EndpointChanged(endpoint) = event {
                self.change_counter(*endpoint).fetch_add(1, Ordering::SeqCst);
            }
        }
        let work = CommittedWork::of(events);
        if work.is_empty() {
            return;
        }
        self.wake(&work);
        #[cfg(feature = "postgres")]
        if let Some(announce) = self.announce.get() {
            announce(work);
        }
    }

    /// Tells the listeners of this process of what it or another process has committed.
    pub(in crate::store) fn wake(&self, work: &CommittedWork) {
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.on_commit(work);
        }
    }

    /// Sets what tells other processes of the commits of this one.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn announce_to(&self, announce: Box<Announce>) {
        drop(self.announce.set(announce));
    }
}
