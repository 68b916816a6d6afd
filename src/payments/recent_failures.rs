//! Remembers for which organizations the gateway has failed lately. Runs of the maintenance ask for the others first:
//! otherwise, organizations with many rows for which each call fails would come first in every run.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::model::values::id::OrganizationId;
use crate::write::skipped_rows::SkippedTable;

/// How long a failure counts.
const REMEMBERED: Duration = Duration::from_mins(10);

/// How many failures are remembered at most. Further ones are forgotten.
const MAX_FAILURES: usize = 10_000;

/// When the gateway has last failed for the rows of an organization in a table, by the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct RecentFailures(Mutex<HashMap<(SkippedTable, OrganizationId), Duration>>);

impl RecentFailures {
    /// `None` sorts before every failure.
    pub(crate) fn last(&self, table: SkippedTable, organization: OrganizationId, now: Duration) -> Option<Duration> {
        let failed_at = self.0.locked().get(&(table, organization)).copied();
        failed_at.filter(|failed_at| now.saturating_sub(*failed_at) < REMEMBERED)
    }

    pub(crate) fn add(&self, table: SkippedTable, organization: OrganizationId, now: Duration) {
        let mut failures = self.0.locked();
        failures.retain(|_, failed_at| now.saturating_sub(*failed_at) < REMEMBERED);
        if failures.len() < MAX_FAILURES || failures.contains_key(&(table, organization)) {
            failures.insert((table, organization), now);
        }
    }

    pub(crate) fn remove(&self, table: SkippedTable, organization: OrganizationId) {
        self.0.locked().remove(&(table, organization));
    }
}
