//! Calendar days and wall-clock times in a time zone.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

#[cfg(any(feature = "documents", feature = "server", test))]
use time::{Date, OffsetDateTime};
use tz::TimeZoneRef;

#[cfg(any(feature = "documents", feature = "exports", feature = "server"))]
use crate::error::Error;
use crate::error::{FieldErrors, Result};
use crate::form::text::minutes_of_day;
#[cfg(feature = "documents")]
use crate::model::sale::event::Event;
use crate::model::values::timestamp::{Timestamp, TimestampError};

/// The seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// A time zone of the IANA database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zone(&'static TimeZoneRef<'static>);

/// A day of the calendar, as the number of days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(i64);

/// The days of an event. They begin at a time of day in its time zone, and each lasts until the next one begins.
///
/// A day begins at the first instant at which clocks show its beginning or a later time. If they are put forward over the
/// beginning, this is the instant of the change. If they are put back, so that the beginning comes twice, it is the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventDays {
    pub(crate) zone: Zone,
    /// The seconds from midnight to their beginning.
    starts_at: i64,
}

impl EventDays {
    /// `starts_at` is a time of day, `HH:MM`, and midnight if it is `None`. Returns `None` if the text is not one.
    pub(crate) fn new(zone: Zone, starts_at: Option<&str>) -> Option<Self> {
        let minutes = starts_at.map_or(Some(0), minutes_of_day)?;
        Some(Self { zone, starts_at: minutes * 60 })
    }

    /// Days that begin at midnight.
    pub(crate) const fn at_midnight(zone: Zone) -> Self {
        Self { zone, starts_at: 0 }
    }

    #[cfg(feature = "documents")]
    pub(crate) fn stored(event: &Event) -> Result<Self> {
        let unknown = || Error::Internal(format!("the days of the event {} begin at no time of day", event.id));
        Self::new(Zone::stored(&event.timezone)?, event.day_starts_at.as_deref()).ok_or_else(unknown)
    }

    pub(crate) fn day(self, at: Timestamp) -> Day {
        let unix = at.millis().div_euclid(1000);
        let shown = (self.zone.local_seconds(unix) - self.starts_at).div_euclid(DAY);
        // Clocks that were put back may show the day before once more.
        Day(if self.start(shown + 1) <= unix { shown + 1 } else { shown })
    }

    /// The date of the day to which an instant belongs.
    #[cfg(any(feature = "documents", feature = "server", test))]
    pub(crate) fn date(self, at: Timestamp) -> Date {
        date_of(self.day(at).0 * DAY)
    }

    /// The first instant of the day that comes `days` after `day`: the end of the day before it.
    pub(crate) fn start_of(self, day: Day, days: i64) -> Timestamp {
        let last = Timestamp::MAX.millis() / 1000 / DAY;
        let wanted = day.0.saturating_add(days).min(last + 1);
        let seconds = u64::try_from(self.start(wanted)).unwrap_or_default();
        Timestamp::UNIX_EPOCH.saturating_add(Duration::from_secs(seconds))
    }

    /// The first instant of a day, in seconds since 1970.
    fn start(self, day: i64) -> i64 {
        self.zone.first_at(day * DAY + self.starts_at)
    }
}

impl Zone {
    /// Returns the zone with this IANA name. The case of letters must match.
    pub(crate) fn of(name: &str) -> Option<Self> {
        // The lookup ignores case.
        static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| tzdb_data::TZ_NAMES.iter().copied().collect());
        if NAMES.contains(name) { tzdb_data::find_tz(name.as_bytes()).map(Self) } else { None }
    }

    #[cfg(any(feature = "documents", feature = "exports", feature = "server"))]
    pub(crate) fn stored(name: &str) -> Result<Self> {
        Self::of(name).ok_or_else(|| Error::Internal(format!("the time zone {name} is not known to this program")))
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
        date_of(self.local_seconds(at.millis().div_euclid(1000)))
    }

    /// The local time at an instant, in milliseconds since the beginning of 1970 there.
    pub(crate) fn local_millis(self, at: Timestamp) -> i64 {
        at.millis() + self.offset(at.millis().div_euclid(1000)) * 1000
    }

    /// The local time at an instant, with its offset (RFC 3339): `2027-06-12T19:30:00+02:00`.
    #[cfg(feature = "event-pages")]
    pub(crate) fn with_offset(self, at: Timestamp) -> String {
        let (date, local) = (self.date(at), self.local_millis(at).rem_euclid(DAY * 1000));
        let (hour, minute) = self.time_of_day(at);
        let (seconds, millis) = (local / 1000 % 60, local % 1000);
        let fraction = if millis == 0 { String::new() } else { format!(".{millis:03}") };
        let ahead = self.minutes_ahead_of_utc(at);
        let (sign, ahead) = if ahead < 0 { ('-', -ahead) } else { ('+', ahead) };
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{seconds:02}{fraction}{sign}{:02}:{:02}",
            ahead / 60,
            ahead % 60
        )
    }

    /// By how many minutes the local time is ahead of UTC at an instant.
    #[cfg(any(feature = "documents", feature = "server", test))]
    pub(crate) fn minutes_ahead_of_utc(self, at: Timestamp) -> i64 {
        let unix = at.millis().div_euclid(1000);
        (self.local_seconds(unix) - unix).div_euclid(60)
    }

    /// Whether the clocks show the local time of an instant twice, because they are put back.
    #[cfg(any(feature = "documents", feature = "server", test))]
    pub(crate) fn comes_twice(self, at: Timestamp) -> bool {
        let unix = at.millis().div_euclid(1000);
        let shown = self.local_seconds(unix);
        // The other instant is later or earlier by the difference of the offsets before and after the change.
        [self.offset(unix - DAY), self.offset(unix + DAY)]
            .into_iter()
            .map(|offset| shown - offset)
            .any(|other| other != unix && self.local_seconds(other) == shown)
    }

    /// The first instant at which clocks show this time, in milliseconds since they showed the beginning of 1970.
    pub(super) fn instant_of(self, shown: i64) -> Result<Timestamp, TimestampError> {
        let seconds = shown.div_euclid(1000);
        let first = self.first_at(seconds);
        if self.local_seconds(first) != seconds {
            return Err(TimestampError::Skipped);
        }
        Timestamp::from_millis(first * 1000 + shown.rem_euclid(1000))
    }

    /// The first instant at which clocks show this time or a later one, in milliseconds since they showed the beginning of
    /// 1970.
    #[cfg(feature = "server")]
    pub(super) fn first_with(self, shown: i64) -> Timestamp {
        let millis = self.first_at(shown.div_euclid(1000)).saturating_mul(1000) + shown.rem_euclid(1000);
        Timestamp::from_millis(millis).unwrap_or_default()
    }

    /// From the first instant of a day to that of the next one. `days` is the number of days since 1970-01-01.
    pub(super) fn day(self, days: i64) -> Result<Range<Timestamp>, TimestampError> {
        let (start, end) = (self.first_at(days * DAY), self.first_at((days + 1) * DAY));
        if start == end {
            return Err(TimestampError::Skipped);
        }
        Ok(Timestamp::from_millis(start * 1000)?..Timestamp::from_millis(end * 1000)?)
    }

    /// The first instant at which clocks show this time or a later one, both in seconds.
    fn first_at(self, shown: i64) -> i64 {
        // The difference to UTC is one of those of a day before and a day after: no zone changes its clocks twice in
        // between.
        let (earlier, later) = (self.offset(shown - DAY), self.offset(shown + DAY));
        let (mut before, mut from) = (shown - earlier.max(later), shown - earlier.min(later));
        if self.local_seconds(before) >= shown {
            return before;
        }
        // From here on, clocks show it once: or it is skipped, and this searches for the instant of the change.
        while from - before > 1 {
            let middle = before + (from - before) / 2;
            if self.local_seconds(middle) >= shown {
                from = middle;
            } else {
                before = middle;
            }
        }
        from
    }

    fn local_seconds(self, unix: i64) -> i64 {
        unix + self.offset(unix)
    }

    /// By how many seconds the local time is ahead of UTC, at an instant in seconds since 1970.
    fn offset(self, unix: i64) -> i64 {
        self.0.find_local_time_type(unix).map_or(0, |local| i64::from(local.ut_offset()))
    }
}

/// The date that clocks show, in seconds since they showed the beginning of 1970.
#[cfg(any(feature = "documents", feature = "server", test))]
fn date_of(shown: i64) -> Date {
    // The last hours of timestamps may be in the year 10000 of the zone, which is no date.
    OffsetDateTime::from_unix_timestamp(shown).map_or(Date::MAX, OffsetDateTime::date)
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

    fn days(zone: &str, starts_at: Option<&str>) -> EventDays {
        EventDays::new(Zone::of(zone).expect("known"), starts_at).expect("a time of day")
    }

    #[test]
    fn a_day_is_the_one_on_the_wall_there() {
        let berlin = Zone::of("Europe/Berlin").expect("known");
        assert_eq!(berlin.wall_clock(at("2026-06-01T22:30:00Z")), "00:30");
        assert_eq!(berlin.wall_clock(at("2026-01-01T22:30:59Z")), "23:30");
        let days = days("Europe/Berlin", None);
        assert!(days.day(at("2026-06-01T21:59:59.999Z")) < days.day(at("2026-06-01T22:00:00Z")));
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
    fn an_hour_comes_twice_when_clocks_are_put_back() {
        for (zone, first, minutes) in [
            ("Europe/Berlin", "2026-10-25T00:00:00Z", 60),
            ("America/New_York", "2026-11-01T05:00:00Z", 60),
            ("Australia/Lord_Howe", "2026-04-04T14:30:00Z", 30),
        ] {
            let zone = Zone::of(zone).expect("known");
            let after = |minutes: i64| Timestamp::from_millis(at(first).millis() + minutes * 60_000).expect("in range");
            for minute in -180..180 {
                assert_eq!(zone.comes_twice(after(minute)), (0..2 * minutes).contains(&minute), "{first} {minute}");
            }
        }
        // When they are put forward, an hour is left out.
        let berlin = Zone::of("Europe/Berlin").expect("known");
        assert!(!berlin.comes_twice(at("2026-03-29T00:59:00Z")) && !berlin.comes_twice(at("2026-03-29T01:00:00Z")));
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
            let of_event = self::days(zone, None);
            assert_eq!(of_event.start_of(of_event.day(at(inside)), days), at(start), "{inside} + {days}");
        }
    }

    /// Clocks change by an hour or by half an hour, at midnight or across it (St. John's until 2011), or skip a day (Samoa).
    #[test]
    fn days_follow_one_another_without_a_gap_and_without_an_overlap() {
        for (zone, change) in [
            ("Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T01:00:00Z"),
            ("America/Santiago", "2026-04-05T03:00:00Z"),
            ("America/Santiago", "2026-09-06T04:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
            ("America/St_Johns", "2010-11-07T02:31:00Z"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ] {
            for starts_at in ["00:00", "00:15", "01:45", "02:00", "02:15", "02:30", "03:00", "06:00", "23:30"] {
                let days = days(zone, Some(starts_at));
                // A day has begun if clocks show its beginning or a later time, or have shown it.
                let mut begun = None;
                for minute in -27 * 60..27 * 60 {
                    let unix = at(change).millis() / 1000 + minute * 60;
                    let now = Timestamp::from_millis(unix * 1000).expect("in range");
                    let shown = Day((days.zone.local_seconds(unix) - days.starts_at).div_euclid(DAY));
                    assert_eq!(Some(days.day(now)), begun.max(Some(shown)), "{zone} {starts_at} {now}");
                    if let Some(before) = begun.filter(|day| *day < shown) {
                        let starts = (days.start_of(before, 1), days.start_of(shown, 0));
                        assert_eq!(starts, (now, now), "{zone} {starts_at}");
                    }
                    begun = begun.max(Some(shown));
                }
            }
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
        for starts_at in ["00:00", "06:00"] {
            let utc = days("UTC", Some(starts_at));
            assert_eq!(utc.start_of(utc.day(at("2026-06-01T12:00:00Z")), i64::MAX), Timestamp::MAX);
        }
    }
}
