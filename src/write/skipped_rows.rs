//! Rows that the maintenance could not process. It skips them for a minute, so that they do not delay the others.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;

/// How long a row is skipped before it is tried again.
const PAUSE: Duration = Duration::from_mins(1);

/// How many rows are remembered at most. Further ones are tried in each run.
const MAX_ROWS: usize = 10_000;

/// The table of a row that could not be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SkippedTable {
    Orders,
    Events,
    Work,
}

impl SkippedTable {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Events => "events",
            Self::Work => "work",
        }
    }
}

/// The rows that are skipped now, by table and primary key. Times are those of the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct SkippedRows(Mutex<HashMap<(SkippedTable, i64), Duration>>);

impl SkippedRows {
    pub(crate) fn contains(&self, table: SkippedTable, key: i64, now: Duration) -> bool {
        self.0.locked().get(&(table, key)).is_some_and(|until| now < *until)
    }

    pub(crate) fn add(&self, table: SkippedTable, key: i64, now: Duration) {
        let mut skipped_until = self.0.locked();
        skipped_until.retain(|_, until| now < *until);
        if skipped_until.len() < MAX_ROWS {
            skipped_until.insert((table, key), now.saturating_add(PAUSE));
        }
    }
}
