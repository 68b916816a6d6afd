//! Compares the clock of this machine with that of Stripe, which is in the header `Date` of each answer.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::values::timestamp::Timestamp;

/// How far the clocks may be apart. Stripe requires that a session ends at least 30 minutes after its own time, and
/// sessions end 31 minutes after the time of this machine.
const TOLERANCE: Duration = Duration::from_secs(30);

/// How long no further warning is logged.
const LOG_PAUSE: Duration = Duration::from_hours(1);

/// When the last warning was logged, by the monotonic clock.
#[derive(Default)]
pub(in crate::stripe) struct ClockCheck(Mutex<Option<Duration>>);

impl ClockCheck {
    /// Logs a warning if the header `Date` of an answer that arrived `now` differs by more than 30 seconds, at most
    /// once an hour. `monotonic` is the time of the monotonic clock.
    pub(in crate::stripe) fn compare(&self, date: Option<&str>, now: Timestamp, monotonic: Duration) {
        let Some(seconds) = date.and_then(|date| seconds_ahead(date, now)) else { return };
        if seconds.unsigned_abs() <= TOLERANCE.as_secs() || !self.is_due(monotonic) {
            return;
        }
        tracing::warn!(
            target: "ticketing::payment",
            seconds_ahead = seconds,
            "the clock of this machine differs from that of Stripe by more than 30 seconds: set it right, or Stripe refuses \
             checkouts and notices"
        );
    }

    fn is_due(&self, monotonic: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| monotonic < last.saturating_add(LOG_PAUSE)) {
            return false;
        }
        *last = Some(monotonic);
        true
    }
}

/// How many seconds `now` is ahead of a header `Date`. `None` if it is not a date.
fn seconds_ahead(date: &str, now: Timestamp) -> Option<i64> {
    let theirs = Timestamp::try_from(httpdate::parse_http_date(date).ok()?).ok()?;
    Some((now.millis() - theirs.millis()) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_read_from_the_header() {
        // RFC 9110, section 5.6.7.
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let now = |text: &str| text.parse().expect("a time");
        assert_eq!(seconds_ahead(date, now("1994-11-06T08:49:37Z")), Some(0));
        assert_eq!(seconds_ahead(date, now("1994-11-06T08:50:08.900Z")), Some(31));
        assert_eq!(seconds_ahead(date, now("1994-11-06T07:49:37Z")), Some(-3600));
        assert_eq!(seconds_ahead("yesterday", now("1994-11-06T08:49:37Z")), None);
    }

    #[test]
    fn a_warning_is_due_once_an_hour() {
        let check = ClockCheck::default();
        let due = [0, 1, 3599, 3600, 3601, 7200].map(|seconds| check.is_due(Duration::from_secs(seconds)));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
