//! The local time of a zone as a point in time.

use std::ops::Range;

use super::calendar::{DAY, Zone};
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

    /// A day of a time zone: from its first instant up to that of the next day, as the bounds `…_from` and `…_before`
    /// of lists have it. It usually has 24 hours, 23 if the clocks are put forward on it, and 25 if they are put back.
    ///
    /// # Errors
    /// - [`TimestampError::DateFormat`] if the text is no date such as `2026-06-01`.
    /// - [`TimestampError::UnknownZone`] if the IANA database has no such zone. Upper and lower case are different.
    /// - [`TimestampError::Skipped`] if the zone has left out this day.
    /// - [`TimestampError::OutOfRange`] if a part of it is before 1970 or after the year 9999 in UTC.
    ///
    /// ```
    /// use ticketing::Timestamp;
    /// use ticketing::order::ListOrders;
    /// let day = Timestamp::day("2026-11-28", "Europe/Berlin")?;
    /// assert_eq!(day.start.to_string(), "2026-11-27T23:00:00.000Z");
    /// assert_eq!(day.end.to_string(), "2026-11-28T23:00:00.000Z");
    /// let sold_today = ListOrders::default().completed_from(day.start).completed_before(day.end);
    /// # Ok::<(), ticketing::TimestampError>(())
    /// ```
    pub fn day(date: &str, timezone: &str) -> Result<Range<Self>, TimestampError> {
        let zone = Zone::of(timezone).ok_or(TimestampError::UnknownZone)?;
        let as_utc: Self = format!("{date}T00:00Z").parse().map_err(|_| TimestampError::DateFormat)?;
        zone.day(as_utc.millis() / (DAY * 1000))
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
    fn a_day_lasts_from_its_midnight_to_the_next_one_also_when_clocks_change() {
        for (date, zone, start, hours) in [
            ("2026-11-28", "Europe/Berlin", "2026-11-27T23:00:00.000Z", 24),
            ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00.000Z", 23),
            ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00.000Z", 25),
            ("2026-02-28", "Asia/Kathmandu", "2026-02-27T18:15:00.000Z", 24),
            ("2026-02-28", "UTC", "2026-02-28T00:00:00.000Z", 24),
            // Clocks went from 00:00 to 01:00: the day began at 01:00.
            ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z", 23),
            ("2011-12-29", "Pacific/Apia", "2011-12-29T10:00:00.000Z", 24),
        ] {
            let day = Timestamp::day(date, zone).expect(date);
            assert_eq!(day.start.to_string(), start, "{date} {zone}");
            assert_eq!(day.end.millis() - day.start.millis(), hours * 3_600_000, "{date} {zone}");
        }
    }

    #[test]
    fn what_is_no_day_of_a_zone_is_refused() {
        let day = |date: &str, zone: &str| Timestamp::day(date, zone).expect_err("refused");
        for text in ["2026-02-29", "2026-6-1", "2026-06-01T00:00", "2026-06-01Z", "", "tomorrow"] {
            assert_eq!(day(text, "UTC"), TimestampError::DateFormat, "{text}");
        }
        assert_eq!(day("2026-06-01", "europe/berlin"), TimestampError::UnknownZone);
        assert_eq!(day("2011-12-30", "Pacific/Apia"), TimestampError::Skipped);
        assert_eq!(day("1970-01-01", "Europe/Berlin"), TimestampError::OutOfRange);
        assert_eq!(day("9999-12-31", "UTC"), TimestampError::OutOfRange);
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
