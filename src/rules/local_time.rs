//! The local time of a zone as a point in time.

use super::calendar::Zone;
use crate::model::values::timestamp::{Timestamp, TimestampError};

impl Timestamp {
    /// The point in time at which the clocks of a time zone show this date and time. The zone is one of the IANA
    /// database, such as that of an [event](crate::event::Event::timezone).
    ///
    /// When clocks are put back, an hour comes twice: this is the first one.
    ///
    /// # Errors
    /// - [`TimestampError::LocalFormat`] if the text is no date and time such as `2026-06-01T20:00` or
    ///   `2026-06-01T20:00:30`.
    /// - [`TimestampError::UnknownZone`] if there is no such zone. Upper and lower case are different.
    /// - [`TimestampError::Skipped`] if the clocks of the zone are put forward over this time.
    /// - [`TimestampError::OutOfRange`] if it is before 1970 or after the year 9999 in UTC.
    ///
    /// ```
    /// use ticketing::Timestamp;
    /// let doors = Timestamp::from_local("2026-06-01T20:00", "Europe/Berlin")?;
    /// assert_eq!(doors.to_string(), "2026-06-01T18:00:00.000Z");
    /// # Ok::<(), ticketing::TimestampError>(())
    /// ```
    pub fn from_local(date_time: &str, timezone: &str) -> Result<Self, TimestampError> {
        let zone = Zone::of(timezone).ok_or(TimestampError::UnknownZone)?;
        let as_utc: Self = format!("{date_time}Z").parse().map_err(|_| TimestampError::LocalFormat)?;
        zone.instant_of(as_utc.millis())
    }

    /// The date and time that the clocks of a time zone show at this point in time, such as `2026-06-01T20:00:00`. A
    /// fraction of a second is left out. When clocks are put back, two points in time have the same one.
    ///
    /// # Errors
    /// - [`TimestampError::UnknownZone`] if there is no such zone. Upper and lower case are different.
    /// - [`TimestampError::OutOfRange`] if it is before 1970 or after the year 9999 in the zone.
    ///
    /// ```
    /// use ticketing::Timestamp;
    /// let doors: Timestamp = "2026-06-01T18:00:00Z".parse()?;
    /// assert_eq!(doors.to_local("Europe/Berlin")?, "2026-06-01T20:00:00");
    /// # Ok::<(), ticketing::TimestampError>(())
    /// ```
    pub fn to_local(self, timezone: &str) -> Result<String, TimestampError> {
        let zone = Zone::of(timezone).ok_or(TimestampError::UnknownZone)?;
        let shown = Self::from_millis(zone.local_millis(self))?.to_string();
        Ok(shown.split('.').next().unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(text: &str, zone: &str) -> Result<String, TimestampError> {
        Timestamp::from_local(text, zone).map(|at| at.to_string())
    }

    #[test]
    fn a_local_time_is_the_instant_at_which_its_clocks_show_it() {
        for (text, zone, instant) in [
            ("2026-06-01T20:00", "Europe/Berlin", "2026-06-01T18:00:00.000Z"),
            ("2026-01-01T20:00:30.5", "Europe/Berlin", "2026-01-01T19:00:30.500Z"),
            ("2026-07-01T00:00", "America/New_York", "2026-07-01T04:00:00.000Z"),
            ("2026-07-01T00:00", "Asia/Kathmandu", "2026-06-30T18:15:00.000Z"),
            ("2026-07-01T00:00", "Pacific/Kiritimati", "2026-06-30T10:00:00.000Z"),
            ("2026-07-01T00:00", "UTC", "2026-07-01T00:00:00.000Z"),
        ] {
            assert_eq!(local(text, zone).as_deref(), Ok(instant), "{text} {zone}");
        }
    }

    #[test]
    fn the_hours_of_clock_changes_are_the_first_of_two_or_none() {
        // In Berlin, 2026-10-25 has 02:30 in summer time (UTC+2) and again in winter time; 2026-03-29 has no 02:30.
        assert_eq!(local("2026-10-25T02:30", "Europe/Berlin").as_deref(), Ok("2026-10-25T00:30:00.000Z"));
        assert_eq!(local("2026-10-25T03:00", "Europe/Berlin").as_deref(), Ok("2026-10-25T02:00:00.000Z"));
        assert_eq!(local("2026-03-29T01:59", "Europe/Berlin").as_deref(), Ok("2026-03-29T00:59:00.000Z"));
        assert_eq!(local("2026-03-29T02:30", "Europe/Berlin"), Err(TimestampError::Skipped));
        assert_eq!(local("2026-03-29T03:00", "Europe/Berlin").as_deref(), Ok("2026-03-29T01:00:00.000Z"));
        // Samoa left out a whole day.
        assert_eq!(local("2011-12-30T12:00", "Pacific/Apia"), Err(TimestampError::Skipped));
    }

    #[test]
    fn what_is_no_local_time_is_refused() {
        assert_eq!(local("2026-06-01T20:00Z", "Europe/Berlin"), Err(TimestampError::LocalFormat));
        assert_eq!(local("2026-06-01", "Europe/Berlin"), Err(TimestampError::LocalFormat));
        assert_eq!(local("2026-06-01T20:00", "europe/berlin"), Err(TimestampError::UnknownZone));
        assert_eq!(local("1970-01-01T00:30", "Europe/Berlin"), Err(TimestampError::OutOfRange));
        assert_eq!(local("9999-12-31T23:59", "America/New_York"), Err(TimestampError::OutOfRange));
    }
}
