//! Calendar days and wall-clock times in a time zone.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

#[cfg(any(feature = "documents", feature = "server", test))]
use time::{Date, OffsetDateTime};
use tz::TimeZoneRef;

use crate::error::{Error, FieldErrors, Result};
use crate::model::values::timestamp::{Timestamp, TimestampError};

const DAY: i64 = 86_400;

/// A time zone of the IANA database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zone(&'static TimeZoneRef<'static>);

/// A day of the calendar, as the number of days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(i64);

impl Zone {
    /// Returns the zone with this IANA name. The case of letters must match.
    pub(crate) fn of(name: &str) -> Option<Self> {
        // The lookup ignores case.
        static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| tzdb_data::TZ_NAMES.iter().copied().collect());
        if NAMES.contains(name) { tzdb_data::find_tz(name.as_bytes()).map(Self) } else { None }
    }

    pub(crate) fn stored(name: &str) -> Result<Self> {
        Self::of(name).ok_or_else(|| Error::Internal(format!("the time zone {name} is not known to this program")))
    }

    pub(crate) fn day(self, at: Timestamp) -> Day {
        Day(self.local_seconds(at.millis().div_euclid(1000)).div_euclid(DAY))
    }

    /// The local time at an instant, as `HH:MM`.
    pub(crate) fn wall_clock(self, at: Timestamp) -> String {
        let (hour, minute) = self.time_of_day(at);
        format!("{hour:02}:{minute:02}")
    }

    pub(crate) fn time_of_day(self, at: Timestamp) -> (u8, u8) {
        let minutes = self.local_seconds(at.millis().div_euclid(1000)).rem_euclid(DAY) / 60;
        // Both are less than 60.
        let small = |number: i64| u8::try_from(number).unwrap_or_default();
        (small(minutes / 60), small(minutes % 60))
    }

    /// The local date at an instant.
    #[cfg(any(feature = "documents", feature = "server", test))]
    pub(crate) fn date(self, at: Timestamp) -> Date {
        let local = self.local_seconds(at.millis().div_euclid(1000));
        // The last hours of timestamps may be in the year 10000 of the zone, which is no date.
        OffsetDateTime::from_unix_timestamp(local).map_or(Date::MAX, OffsetDateTime::date)
    }

    /// The local time at an instant, in milliseconds since the beginning of 1970 there.
    #[cfg(feature = "exports")]
    pub(crate) fn local_millis(self, at: Timestamp) -> i64 {
        at.millis() + self.offset(at.millis().div_euclid(1000)) * 1000
    }

    /// By how many minutes the local time is ahead of UTC at an instant.
    #[cfg(any(feature = "documents", feature = "server", test))]
    pub(crate) fn minutes_ahead_of_utc(self, at: Timestamp) -> i64 {
        let unix = at.millis().div_euclid(1000);
        (self.local_seconds(unix) - unix).div_euclid(60)
    }

    /// The first instant of the day that comes `days` after `day`: the end of the day before it.
    pub(crate) fn start_of(self, day: Day, days: i64) -> Timestamp {
        let last = Timestamp::MAX.millis() / 1000 / DAY;
        let wanted = day.0.saturating_add(days).min(last + 1);
        // All zones are within a day of UTC. Midnight may not exist on the day of a clock change, so this searches for
        // the first instant of the day.
        let mut before = (wanted - 2) * DAY;
        let mut from = (wanted + 2) * DAY;
        while from - before > 1 {
            let middle = before + (from - before) / 2;
            if self.local_seconds(middle).div_euclid(DAY) >= wanted {
                from = middle;
            } else {
                before = middle;
            }
        }
        let seconds = u64::try_from(from).unwrap_or_default();
        Timestamp::UNIX_EPOCH.saturating_add(Duration::from_secs(seconds))
    }

    /// The first instant at which clocks show this time, in milliseconds since they showed the beginning of 1970.
    pub(super) fn instant_of(self, shown: i64) -> Result<Timestamp, TimestampError> {
        let seconds = shown.div_euclid(1000);
        // The difference to UTC is one of those of a day before and a day after: no zone changes its clocks twice in
        // between.
        let offsets = [self.offset(seconds - DAY), self.offset(seconds + DAY)];
        let is_shown = |unix: &i64| self.local_seconds(*unix) == seconds;
        let first = offsets.iter().map(|offset| seconds - offset).filter(is_shown).min();
        let millis = first.ok_or(TimestampError::Skipped)? * 1000 + shown.rem_euclid(1000);
        Timestamp::from_millis(millis)
    }

    fn local_seconds(self, unix: i64) -> i64 {
        unix + self.offset(unix)
    }

    /// By how many seconds the local time is ahead of UTC, at an instant in seconds since 1970.
    fn offset(self, unix: i64) -> i64 {
        self.0.find_local_time_type(unix).map_or(0, |local| i64::from(local.ut_offset()))
    }
}

pub(crate) fn check_zone(errors: &mut FieldErrors, path: &str, name: &str) {
    errors.check(Zone::of(name).is_some(), path, "must be a time zone of the IANA database, such as Europe/Berlin");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    #[test]
    fn a_day_is_the_one_on_the_wall_there() {
        let berlin = Zone::of("Europe/Berlin").expect("known");
        assert_eq!(berlin.wall_clock(at("2026-06-01T22:30:00Z")), "00:30");
        assert_eq!(berlin.wall_clock(at("2026-01-01T22:30:59Z")), "23:30");
        assert!(berlin.day(at("2026-06-01T21:59:59.999Z")) < berlin.day(at("2026-06-01T22:00:00Z")));
    }

    #[test]
    fn a_date_and_a_time_of_day_are_those_of_the_zone() {
        for (zone, instant, date, time) in [
            ("Europe/Berlin", "2026-06-30T22:30:00Z", "2026-07-01", (0, 30)),
            ("Europe/Berlin", "2025-12-31T22:59:59Z", "2025-12-31", (23, 59)),
            ("Europe/Berlin", "1970-01-01T00:00:00Z", "1970-01-01", (1, 0)),
            ("Pacific/Midway", "1970-01-01T00:00:00Z", "1969-12-31", (13, 0)),
        ] {
            let zone = Zone::of(zone).expect("known");
            assert_eq!((zone.date(at(instant)).to_string().as_str(), zone.time_of_day(at(instant))), (date, time));
        }
        let berlin = Zone::of("Europe/Berlin").expect("known");
        assert_eq!((berlin.date(Timestamp::MAX), berlin.time_of_day(Timestamp::MAX)), (Date::MAX, (0, 59)));
    }

    #[test]
    fn the_difference_to_utc_is_that_of_the_day() {
        for (zone, at_, minutes) in [
            ("Europe/Berlin", "2026-06-30T22:30:00Z", 120),
            ("Europe/Berlin", "2026-12-31T22:30:00Z", 60),
            ("Asia/Kathmandu", "2026-06-30T22:30:00Z", 345),
            ("America/St_Johns", "2026-12-31T22:30:00Z", -210),
        ] {
            assert_eq!(Zone::of(zone).expect("known").minutes_ahead_of_utc(at(at_)), minutes, "{zone} {at_}");
        }
    }

    #[test]
    fn a_day_begins_at_local_midnight_or_where_the_clock_change_puts_it() {
        for (zone, inside, days, start) in [
            ("Europe/Berlin", "2026-06-01T12:00:00Z", 0, "2026-05-31T22:00:00Z"),
            // The day of the change to winter time has 25 hours.
            ("Europe/Berlin", "2026-10-25T12:00:00Z", 1, "2026-10-25T23:00:00Z"),
            ("Europe/Berlin", "2026-10-25T12:00:00Z", 0, "2026-10-24T22:00:00Z"),
            ("Asia/Tokyo", "2026-06-01T16:00:00Z", 0, "2026-06-01T15:00:00Z"),
            ("Pacific/Kiritimati", "2026-06-01T12:00:00Z", 0, "2026-06-01T10:00:00Z"),
            // On 2018-11-04 there was no midnight in São Paulo: the clock went from 23:59:59 to 01:00 (UTC-2).
            ("America/Sao_Paulo", "2018-11-04T12:00:00Z", 0, "2018-11-04T03:00:00Z"),
            // Samoa had no 2011-12-30: the day after the 29th began with the 31st.
            ("Pacific/Apia", "2011-12-29T20:00:00Z", 1, "2011-12-30T10:00:00Z"),
        ] {
            let zone = Zone::of(zone).expect("known");
            assert_eq!(zone.start_of(zone.day(at(inside)), days), at(start), "{inside} + {days}");
        }
    }

    #[test]
    fn only_exact_names_are_zones() {
        for name in ["", "Europe/Nowhere", "europe/berlin", "CEST", "+01:00"] {
            assert!(Zone::of(name).is_none(), "{name}");
        }
        assert!(Zone::of("UTC").is_some());
    }

    #[test]
    fn a_day_beyond_the_last_year_ends_with_the_calendar() {
        let utc = Zone::of("UTC").expect("known");
        assert_eq!(utc.start_of(utc.day(at("2026-06-01T12:00:00Z")), i64::MAX), Timestamp::MAX);
    }
}
