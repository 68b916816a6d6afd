//! When endpoints next have a row due: one timer per endpoint.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::model::values::id::WebhookId;
use crate::model::values::timestamp::Timestamp;

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// The timer of each endpoint that has one.
    set: HashMap<WebhookId, Timestamp>,
    /// The same timers by time, and some that were replaced by an earlier one since: those are skipped.
    by_time: BinaryHeap<Reverse<(Timestamp, WebhookId)>>,
}

impl Timers {
    /// Sets the endpoint's timer, unless it has one for an earlier time.
    pub(super) fn set(&mut self, endpoint: WebhookId, at: Timestamp) {
        if self.set.get(&endpoint).is_none_or(|set| at < *set) {
            self.set.insert(endpoint, at);
            self.by_time.push(Reverse((at, endpoint)));
        }
    }

    pub(super) fn is_set(&self, endpoint: WebhookId) -> bool {
        self.set.contains_key(&endpoint)
    }

    /// The time of the next timer. It may be one that was replaced since.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.by_time.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes a timer whose time has come and returns its endpoint; `None` if there are no more.
    pub(super) fn pop_expired(&mut self, now: Timestamp) -> Option<WebhookId> {
        while let Some(Reverse((at, endpoint))) = self.by_time.peek().copied() {
            if at > now {
                return None;
            }
            self.by_time.pop();
            if self.set.get(&endpoint) == Some(&at) {
                self.set.remove(&endpoint);
                return Some(endpoint);
            }
        }
        None
    }
}
