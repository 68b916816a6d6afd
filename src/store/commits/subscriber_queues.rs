//! Subscriptions: queues in memory that receive the notifications of the commits of this process.

use std::collections::VecDeque;
use std::sync::mpsc::TryRecvError;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::environment::Locked;
use crate::model::notifications::notification::Notification;

/// The queue of one subscriber. When it is full, the oldest notification makes room for the new one, so that the
/// writer never waits for the subscriber.
#[derive(Debug)]
pub(crate) struct Subscription {
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Arc<Notification>>,
    /// How many notifications were dropped because the queue was full.
    missed: u64,
    /// No notification will be added any more.
    ended: bool,
}

impl Subscription {
    fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), state: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds notifications. Subscribers hold the lock only to remove one, so this does not block.
    fn add(&self, notifications: &[Arc<Notification>]) {
        let mut state = self.state.locked();
        for notification in notifications {
            if state.queue.len() == self.capacity {
                state.queue.pop_front();
                state.missed += 1;
            }
            state.queue.push_back(Arc::clone(notification));
        }
        self.changed.notify_all();
    }

    fn end(&self) {
        self.state.locked().ended = true;
        self.changed.notify_all();
    }

    /// Removes the oldest notification. If there is none, waits for one until `timeout`; without a timeout, until the
    /// subscription ends.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Result<Notification, TryRecvError> {
        let is_idle = |state: &mut State| state.queue.is_empty() && !state.ended;
        let mut state = match timeout {
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(self.state.locked(), timeout, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(self.state.locked(), is_idle).unwrap_or_else(PoisonError::into_inner),
        };
        match state.queue.pop_front() {
            Some(notification) => {
                // Other subscribers may share the notification. If it must be cloned, the writer does not wait for
                // that.
                drop(state);
                Ok(Arc::unwrap_or_clone(notification))
            }
            None if state.ended => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// How many notifications were dropped because the queue was full.
    pub(crate) fn missed(&self) -> u64 {
        self.state.locked().missed
    }
}

#[derive(Debug, Default)]
pub(in crate::store) struct Subscriptions(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    subscriptions: Vec<Weak<Subscription>>,
    /// The store is being closed.
    ended: bool,
}

impl Subscriptions {
    /// Adds a subscription, which is removed when it is dropped. It has ended already if the store is being closed.
    pub(in crate::store) fn add(&self, capacity: usize) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription::new(capacity));
        let mut list = self.0.locked();
        if list.ended {
            subscription.end();
        } else {
            list.subscriptions.push(Arc::downgrade(&subscription));
        }
        subscription
    }

    /// Whether transactions have to collect their notifications.
    pub(in crate::store) fn any(&self) -> bool {
        !self.0.locked().subscriptions.is_empty()
    }

    pub(in crate::store) fn publish(&self, notifications: Vec<Notification>) {
        if notifications.is_empty() {
            return;
        }
        let notifications: Vec<_> = notifications.into_iter().map(Arc::new).collect();
        let mut list = self.0.locked();
        list.subscriptions.retain(|subscription| {
            let subscription = subscription.upgrade();
            if let Some(subscription) = &subscription {
                subscription.add(&notifications);
            }
            subscription.is_some()
        });
    }

    /// Ends all subscriptions, and those that are added from now on.
    pub(in crate::store) fn end(&self) {
        let mut list = self.0.locked();
        list.ended = true;
        for subscription in list.subscriptions.drain(..).filter_map(|subscription| subscription.upgrade()) {
            subscription.end();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.end();
    }
}
