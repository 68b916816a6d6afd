//! Tells who sends notifications that there are new ones, and that endpoints have changed, as soon as that is durable.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::counters::CommitEvent;
use crate::model::id::WebhookId;

/// Somebody who wants to hear of endpoints for which something was queued.
pub(crate) trait Listener: Send + Sync {
    /// Something may be due for these endpoints. It is called while a commit is answered, and must not wait for anything.
    fn rung(&self, endpoints: &[WebhookId]);
}

/// As many as the last byte of an id has values.
const PARTS: usize = 256;

/// Rings after a commit that queued something.
pub(super) struct CommitNotifier {
    listeners: RwLock<Vec<Weak<dyn Listener>>>,
    /// How many commits changed endpoints, each counter for its part of them: who changes one endpoint without end disturbs
    /// hardly anybody else.
    changes: [AtomicU64; PARTS],
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self { listeners: RwLock::default(), changes: std::array::from_fn(|_| AtomicU64::default()) }
    }
}

/// Which counter is the endpoint's: the last byte of an id is random.
fn part(endpoint: WebhookId) -> usize {
    usize::from(endpoint.raw().to_le_bytes()[0])
}

impl CommitNotifier {
    /// From now on `listener` hears the bell, until it is gone.
    pub(super) fn attach(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| known.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    /// A number that is another one as soon as this process has changed the endpoint.
    pub(super) fn changes(&self, endpoint: WebhookId) -> u64 {
        self.changes[part(endpoint)].load(Ordering::SeqCst)
    }

    /// Rings for what a commit queued or changed.
    pub(super) fn ring(&self, counted: &[CommitEvent]) {
        for counted in counted {
            if let CommitEvent::EndpointChanged(endpoint) = counted {
                self.changes[part(*endpoint)].fetch_add(1, Ordering::SeqCst);
            }
        }
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        if listeners.is_empty() {
            return;
        }
        let mut endpoints: Vec<WebhookId> = counted.iter().filter_map(CommitEvent::endpoint_with_work).collect();
        endpoints.sort_unstable();
        endpoints.dedup();
        if endpoints.is_empty() {
            return;
        }
        listeners.iter().filter_map(Weak::upgrade).for_each(|listener| listener.rung(&endpoints));
    }
}

impl fmt::Debug for CommitNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommitNotifier")
    }
}
