//! What the rest of the process learns of a commit.

use std::sync::Arc;
use std::time::Duration;

use super::transaction::Recorded;
use crate::store::commits::commit_notifier::CommitNotifier;
use crate::store::commits::counters::Counters;
use crate::store::commits::subscriber_queues::Subscriptions;

/// Counts commits, and reports them to the webhook sender and the subscribers of this process.
#[derive(Clone, Default)]
pub(in crate::store) struct AfterCommit {
    pub(in crate::store) counters: Arc<Counters>,
    pub(in crate::store) commit_notifier: Arc<CommitNotifier>,
    pub(in crate::store) subscriptions: Arc<Subscriptions>,
}

impl AfterCommit {
    /// Whether this process has subscribers, for which transactions record notifications.
    pub(super) fn has_subscribers(&self) -> bool {
        self.subscriptions.any()
    }

    /// Reports a commit of `jobs` jobs, which took this long. The callers are answered afterwards, so that each finds
    /// its commit in the statistics, and its notifications in the subscriptions.
    pub(super) fn committed(&self, jobs: usize, duration: Duration, Recorded { events, notifications, .. }: Recorded) {
        self.counters.committed(jobs, duration, &events);
        self.commit_notifier.notify(&events);
        self.subscriptions.publish(notifications);
    }

    pub(super) fn commit_failed(&self) {
        self.counters.update(|counts| counts.commits.failed += 1);
    }
}
