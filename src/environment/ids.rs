//! Ids that sort by creation: milliseconds, a sequence number, and random bits.

use std::sync::Mutex;
use std::time::Duration;

use super::Locked;
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

/// The time that an id contains.
pub(crate) fn time_of(id: i64) -> Option<Timestamp> {
    Timestamp::from_millis(id >> LOWER_BITS).ok()
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
    pub(crate) fn continue_after(&self, newest: i64, now: Timestamp) {
        if newest < first_of(now.saturating_add(MAX_AHEAD)) {
            let mut last = self.last.locked();
            *last = newest.max(*last);
        }
    }

    /// The time that the next id contains: `now`, or that of the last id if the clock was set back since.
    pub(crate) fn time_of_next(&self, now: Timestamp) -> Timestamp {
        let last = *self.last.locked();
        time_of(last).map_or(now, |last| last.max(now))
    }

    /// Returns the next id, with some of these random bits.
    pub(super) fn next(&self, random: u16, now: Timestamp) -> i64 {
        let random = i64::from(random) & ((1 << RANDOM_BITS) - 1);
        let mut last = self.last.locked();
        let sequence = (first_of(now) >> RANDOM_BITS).max((*last >> RANDOM_BITS) + 1);
        *last = (sequence << RANDOM_BITS) | random;
        *last
    }
}
