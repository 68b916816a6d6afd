//! Rows that the maintenance could not process. It skips them for a minute, so that they do not delay the others, and
//! logs them at most once an hour.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a row is skipped before it is tried again.
const PAUSE: Duration = Duration::from_mins(1);

/// How long no further row of the same table is logged. The metric counts each one.
const LOG_PAUSE: Duration = Duration::from_hours(1);

/// How many rows are remembered at most. Further ones are tried in each run.
const MAX_ROWS: usize = 10_000;

/// The table of a row that could not be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::service) enum SkippedTable {
    Orders,
    Events,
    Refunds,
    Payments,
    Checkouts,
    Notifications,
    WebhookEndpoints,
}

impl SkippedTable {
    pub(in crate::service) fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Events => "events",
            Self::Refunds => "refunds",
            Self::Payments => "payments",
            Self::Checkouts => "checkouts",
            Self::Notifications => "handler_queue",
            Self::WebhookEndpoints => "webhook_endpoints",
        }
    }
}

/// The rows that are skipped now, by table and primary key. Times are those of the monotonic clock.
#[derive(Debug, Default)]
pub(in crate::service) struct SkippedRows(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    skipped_until: HashMap<(SkippedTable, i64), Duration>,
    logged_at: BTreeMap<SkippedTable, Duration>,
}

impl SkippedRows {
    pub(in crate::service) fn contains(&self, table: SkippedTable, key: i64, now: Duration) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.skipped_until.get(&(table, key)).is_some_and(|until| now < *until)
    }

    /// Adds a row. Returns whether to log it.
    pub(in crate::service) fn add(&self, table: SkippedTable, key: i64, now: Duration) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.skipped_until.retain(|_, until| now < *until);
        if state.skipped_until.len() < MAX_ROWS {
            state.skipped_until.insert((table, key), now.saturating_add(PAUSE));
        }
        let logs = state.logged_at.get(&table).is_none_or(|at| now.saturating_sub(*at) >= LOG_PAUSE);
        if logs {
            state.logged_at.insert(table, now);
        }
        logs
    }
}
