//! What the rest of the process learns of a commit.

use std::sync::Arc;
use std::time::Duration;

use super::transaction::Recorded;
use crate::store::commits::commit_notifier::CommitNotifier;
use crate::store::commits::counters::Counters;

/// Counts commits, and reports them to the threads of this process that have work.
#[derive(Clone, Default)]
pub(in crate::store) struct AfterCommit {
    pub(in crate::store) counters: Arc<Counters>,
    pub(in crate::store) commit_notifier: Arc<CommitNotifier>,
}

impl AfterCommit {
    /// Reports a commit of `jobs` jobs, which took this long. The callers are answered afterwards, so that each finds
    /// its commit in the statistics.
    pub(super) fn committed(&self, jobs: usize, duration: Duration, Recorded { events, .. }: Recorded) {
        self.counters.committed(jobs, duration, &events);
        self.commit_notifier.notify(&events);
    }

    pub(super) fn commit_failed(&self) {
        self.counters.update(|counts| counts.commits.failed += 1);
    }
}
