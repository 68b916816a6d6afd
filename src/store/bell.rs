//! Tells who sends notifications that there are new ones, as soon as they are durable.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::counters::Counted;
use crate::model::id::WebhookId;

/// Somebody who wants to hear of endpoints for which something was queued.
pub(crate) trait Listener: Send + Sync {
    /// Something may be due for these endpoints. It is called while a commit is answered, and must not wait for anything.
    fn rung(&self, endpoints: &[WebhookId]);
}

/// Rings after a commit that queued something.
#[derive(Default)]
pub(super) struct Bell {
    listeners: RwLock<Vec<Weak<dyn Listener>>>,
}

impl Bell {
    /// From now on `listener` hears the bell, until it is gone.
    pub(super) fn attach(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| known.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    /// Rings for what a commit queued.
    pub(super) fn ring(&self, counted: &[Counted]) {
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        if listeners.is_empty() {
            return;
        }
        let mut endpoints: Vec<WebhookId> = counted.iter().filter_map(Counted::may_be_sent).collect();
        endpoints.sort_unstable();
        endpoints.dedup();
        if endpoints.is_empty() {
            return;
        }
        listeners.iter().filter_map(Weak::upgrade).for_each(|listener| listener.rung(&endpoints));
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}
