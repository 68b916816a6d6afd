//! When a refund is tried again.

use std::time::Duration;

/// The delay after the attempt with this number, counted from 1, if the gateway was unavailable: 10 seconds, doubled by
/// each further attempt, up to an hour.
pub(crate) fn delay_after(attempt: i64) -> Duration {
    let doublings = u32::try_from(attempt - 1).unwrap_or(0).min(9);
    Duration::from_secs(10 << doublings).min(Duration::from_hours(1))
}

/// The longest delay, and a minute in which clocks may differ. No attempt is due later: a due time beyond it comes from a
/// clock that was wrong, and counts as due now.
pub(crate) const LATEST_DUE: Duration = Duration::from_mins(60 + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_from_10_seconds_up_to_an_hour() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 1_000_000].map(|attempt| delay_after(attempt).as_secs()).into();
        assert_eq!(seconds, [10, 20, 40, 2560, 3600, 3600]);
    }
}
