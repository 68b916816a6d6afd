//! Durations between timestamps, and conversions from and to the types of other libraries.

use std::time::{Duration, SystemTime};

use super::timestamp::{Timestamp, TimestampError};

/// Durations count in whole milliseconds: what remains is dropped.
impl Timestamp {
    /// The timestamp `duration` later. `None` if it would be after [`Timestamp::MAX`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use ticketing::Timestamp;
    /// let doors: Timestamp = "2026-06-01T18:00Z".parse()?;
    /// let closing = doors.checked_add(Duration::from_hours(6));
    /// assert_eq!(closing, Some("2026-06-02T00:00Z".parse()?));
    /// assert_eq!(closing.and_then(|at| at.duration_since(doors)), Some(Duration::from_hours(6)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let millis = i64::try_from(duration.as_millis()).ok()?;
        Self::from_millis(self.millis().checked_add(millis)?).ok()
    }

    /// The timestamp `duration` earlier. `None` if it would be before 1970.
    #[must_use]
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let millis = i64::try_from(duration.as_millis()).ok()?;
        Self::from_millis(self.millis().checked_sub(millis)?).ok()
    }

    /// The timestamp `duration` later, or [`Timestamp::MAX`] if it would be after that.
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        self.checked_add(duration).unwrap_or(Self::MAX)
    }

    /// The time from `earlier` to this timestamp. `None` if `earlier` is later.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Option<Duration> {
        u64::try_from(self.millis() - earlier.millis()).ok().map(Duration::from_millis)
    }
}

impl TryFrom<SystemTime> for Timestamp {
    type Error = TimestampError;

    /// Drops what is smaller than a millisecond.
    fn try_from(time: SystemTime) -> Result<Self, Self::Error> {
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| TimestampError::OutOfRange)?;
        Self::UNIX_EPOCH.checked_add(since_epoch).ok_or(TimestampError::OutOfRange)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        Self::UNIX_EPOCH + timestamp.duration_since(Timestamp::UNIX_EPOCH).unwrap_or_default()
    }
}

#[cfg(feature = "time")]
impl TryFrom<time::OffsetDateTime> for Timestamp {
    type Error = TimestampError;

    /// Converts to UTC, and drops what is smaller than a millisecond.
    fn try_from(time: time::OffsetDateTime) -> Result<Self, Self::Error> {
        Self::try_from(SystemTime::from(time))
    }
}

#[cfg(feature = "time")]
impl From<Timestamp> for time::OffsetDateTime {
    /// Returns a time in UTC.
    fn from(timestamp: Timestamp) -> Self {
        SystemTime::from(timestamp).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    #[test]
    fn durations_are_added_and_subtracted_within_the_range() {
        let day = Duration::from_hours(24);
        assert_eq!(at("2024-02-28T12:00Z").checked_add(day), Some(at("2024-02-29T12:00Z")));
        assert_eq!(at("2024-03-01T12:00Z").checked_sub(day), Some(at("2024-02-29T12:00Z")));
        assert_eq!(at("1970-01-02T00:00Z").checked_sub(day), Some(Timestamp::UNIX_EPOCH));
        assert_eq!(at("1970-01-01T23:59:59.999Z").checked_sub(day), None);
        assert_eq!(at("9999-12-30T23:59:59.999Z").checked_add(day), Some(Timestamp::MAX));
        assert_eq!(at("9999-12-31T00:00Z").checked_add(day), None);
        assert_eq!(Timestamp::UNIX_EPOCH.checked_add(Duration::MAX), None);
        assert_eq!(Timestamp::MAX.checked_sub(Duration::MAX), None);
        assert_eq!(at("9999-12-31T00:00Z").saturating_add(day), Timestamp::MAX);
        assert_eq!(at("2024-02-28T12:00Z").saturating_add(day), at("2024-02-29T12:00Z"));
        let almost_two_milliseconds = Duration::from_nanos(1_999_999);
        assert_eq!(Timestamp::UNIX_EPOCH.checked_add(almost_two_milliseconds), Some(at("1970-01-01T00:00:00.001Z")));
    }

    #[test]
    fn the_duration_between_timestamps_is_known_only_forwards() {
        let (earlier, later) = (at("2026-06-01T18:00Z"), at("2026-06-01T18:01:30.5Z"));
        assert_eq!(later.duration_since(earlier), Some(Duration::from_millis(90_500)));
        assert_eq!(later.duration_since(later), Some(Duration::ZERO));
        assert_eq!(earlier.duration_since(later), None);
    }

    #[test]
    fn a_system_time_becomes_the_millisecond_that_it_is_in() {
        let epoch = SystemTime::UNIX_EPOCH;
        let now = epoch + Duration::from_nanos(951_825_600_123_999_999);
        assert_eq!(Timestamp::try_from(now), Ok(at("2000-02-29T12:00:00.123Z")));
        assert_eq!(SystemTime::from(at("2000-02-29T12:00:00.123Z")), epoch + Duration::from_millis(951_825_600_123));
        assert_eq!(Timestamp::try_from(epoch - Duration::from_nanos(1)), Err(TimestampError::OutOfRange));
        let last = SystemTime::from(Timestamp::MAX);
        assert_eq!(Timestamp::try_from(last), Ok(Timestamp::MAX));
        assert_eq!(Timestamp::try_from(last + Duration::from_millis(1)), Err(TimestampError::OutOfRange));
    }

    #[cfg(feature = "time")]
    #[test]
    fn an_offset_date_time_is_converted_to_utc() {
        use time::{Date, Month, OffsetDateTime, Time, UtcOffset};
        let date = Date::from_calendar_date(2026, Month::June, 1).expect("a date");
        let time = Time::from_hms_milli(20, 30, 0, 250).expect("a time");
        let in_berlin = OffsetDateTime::new_in_offset(date, time, UtcOffset::from_hms(2, 0, 0).expect("an offset"));
        assert_eq!(Timestamp::try_from(in_berlin), Ok(at("2026-06-01T18:30:00.250Z")));
        assert_eq!(OffsetDateTime::from(at("2026-06-01T18:30:00.250Z")), in_berlin);
        assert_eq!(Timestamp::try_from(OffsetDateTime::from(Timestamp::MAX)), Ok(Timestamp::MAX));
        let before = OffsetDateTime::UNIX_EPOCH - Duration::from_millis(1);
        assert_eq!(Timestamp::try_from(before), Err(TimestampError::OutOfRange));
    }
}
