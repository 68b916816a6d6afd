//! Ids that sort by creation: milliseconds, a sequence number, and random bits.

use std::sync::Mutex;
use std::time::Duration;

use crate::environment::{Environment, Locked};
use crate::model::values::timestamp::Timestamp;

/// The bits of an id below its milliseconds.
const LOWER_BITS: u32 = 20;
/// How many of the lower bits are random. The others are the sequence number.
const RANDOM_BITS: u32 = 12;
/// The bits of the milliseconds, which last until the year 2248.
const TIME_BITS: u32 = 63 - LOWER_BITS;

/// The smallest id that can be generated at an instant: every smaller id was generated earlier.
pub(crate) fn first_of(instant: Timestamp) -> i64 {
    instant.millis().min((1 << TIME_BITS) - 1) << LOWER_BITS
}

/// How far the newest stored id may be in the future for new ids to continue after it. If the clock was further ahead,
/// new ids sort before those of that time: else nothing would reach the age at which it is deleted for long.
const MAX_AHEAD: Duration = Duration::from_hours(31 * 24);

/// Generates ids, each greater than the one before, even if the clock is set back. The random bits make it unlikely
/// that several processes generate the same id.
#[derive(Debug, Default)]
pub(crate) struct IdSource {
    last: Mutex<i64>,
}

impl IdSource {
    /// Makes all further ids greater than `newest`, the newest stored id, also if the clock was set back since.
    pub(in crate::store) fn continue_after(&self, newest: i64, now: Timestamp) {
        if newest < first_of(now.saturating_add(MAX_AHEAD)) {
            let mut last = self.last.locked();
            *last = newest.max(*last);
        }
    }

    /// The time that the next id contains: `now`, or that of the last id if the clock was set back since.
    pub(in crate::store) fn time_of_next(&self, now: Timestamp) -> Timestamp {
        let last = *self.last.locked();
        Timestamp::from_millis(last >> LOWER_BITS).map_or(now, |last| last.max(now))
    }

    pub(crate) fn next(&self, environment: &Environment, now: Timestamp) -> i64 {
        let random = i64::from(u16::from_le_bytes(environment.random())) & ((1 << RANDOM_BITS) - 1);
        let mut last = self.last.locked();
        let sequence = (first_of(now) >> RANDOM_BITS).max((*last >> RANDOM_BITS) + 1);
        *last = (sequence << RANDOM_BITS) | random;
        *last
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::environment::{ManualClock, SeededEntropy};

    fn millis(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    #[test]
    fn ids_rise_within_a_millisecond_and_while_the_clock_is_set_back() {
        let clock = ManualClock::new(millis(1_000_000));
        let environment = Environment::new(Arc::new(clock), Arc::new(SeededEntropy::new(1)));
        let ids = IdSource::default();
        let mut last = 0;
        for step in 0..5000_i64 {
            let id = ids.next(&environment, millis(1_000_000 - step / 1000));
            assert!(id > last);
            last = id;
        }
    }
}
