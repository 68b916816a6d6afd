//! The log of the rows that the sender cannot process.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::Error;

/// How long no further row of the same table is logged. The metric counts each one.
const LOG_PAUSE: Duration = Duration::from_hours(1);

/// The tables.
pub(super) const DELIVERIES: &str = "webhook_deliveries";
pub(super) const ENDPOINTS: &str = "webhook_endpoints";
pub(super) const FAN_OUTS: &str = "webhook_fan_outs";
pub(super) const OUTBOX: &str = "webhook_outbox";

/// When a row of each table was last logged, by the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct SkippedRows(Mutex<BTreeMap<&'static str, Duration>>);

impl SkippedRows {
    /// Logs a row, unless one of the same table was logged within the last hour.
    pub(super) fn log(&self, now: Duration, table: &'static str, row: &impl Display, error: &Error) {
        if self.may_log(now, table) {
            tracing::error!(
                target: "ticketing::webhooks",
                table,
                %row,
                %error,
                "a row cannot be processed and is skipped; a check shows what is wrong. Further rows of this table are \
                 not logged for an hour"
            );
        }
    }

    /// Whether no row of the table was logged within the last hour. Then one is logged now.
    fn may_log(&self, now: Duration, table: &'static str) -> bool {
        let mut logged_at = self.0.locked();
        let may = logged_at.get(table).is_none_or(|at| now.saturating_sub(*at) >= LOG_PAUSE);
        if may {
            logged_at.insert(table, now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_of_each_table_is_logged_in_an_hour() {
        let rows = SkippedRows::default();
        let hour = Duration::from_hours(1);
        let moments = [Duration::ZERO, Duration::from_mins(59), hour, hour, 2 * hour];
        assert_eq!(moments.map(|now| rows.may_log(now, OUTBOX)), [true, false, true, false, true]);
        assert_eq!([hour, hour].map(|now| rows.may_log(now, ENDPOINTS)), [true, false]);
    }
}
