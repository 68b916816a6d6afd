//! Points in time: milliseconds since 1970 in UTC, with one text format.

use std::fmt;
use std::str::FromStr;

use time::{Date, Month, OffsetDateTime, Time};

use crate::error::FieldErrors;
use crate::form::declare::schema::NamedSchemas;
use crate::form::json::Value;
use crate::form::limits::NoLimit;
use crate::form::path::Path;
use crate::form::value::{FormValue, text};

/// A point in time in UTC, with a resolution of one millisecond, in the years 1970 to 9999.
///
/// Its text has the format of RFC 3339 with three decimals and `Z`. When a text is read, the seconds and their fraction
/// are optional, and digits beyond milliseconds are dropped. `T` and `Z` must be upper-case. Offsets are refused.
///
/// Timestamps can be converted from and to [`SystemTime`](std::time::SystemTime), and with the feature `time` from and
/// to `time::OffsetDateTime`.
///
/// ```
/// use ticketing::Timestamp;
/// let doors: Timestamp = "2026-06-01T18:00Z".parse()?;
/// assert_eq!(doors.to_string(), "2026-06-01T18:00:00.000Z");
/// assert!("2026-06-01T18:00:00+00:00".parse::<Timestamp>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z, the earliest timestamp.
    pub const UNIX_EPOCH: Self = Self(0);

    /// 9999-12-31T23:59:59.999Z, the latest timestamp.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Creates the timestamp `millis` milliseconds after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`TimestampError::OutOfRange`] if it would be before 1970 or after the year 9999.
    pub const fn from_millis(millis: i64) -> Result<Self, TimestampError> {
        if millis < 0 || millis > Self::MAX.0 { Err(TimestampError::OutOfRange) } else { Ok(Self(millis)) }
    }

    /// The milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The start of the minute that contains this timestamp.
    pub(crate) const fn start_of_minute(self) -> Self {
        Self(self.0 - self.0 % 60_000)
    }
}

/// The length of the text of a timestamp.
const TEXT_LENGTH: usize = "1970-01-01T00:00:00.000Z".len();

impl Timestamp {
    /// The text, written digit by digit: responses contain many timestamps, and `format!` would take most of the time
    /// of serializing them.
    pub(crate) fn text(self) -> [u8; TEXT_LENGTH] {
        let seconds = self.0.div_euclid(1000);
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = at.to_calendar_date();
        let (hour, minute, second) = at.to_hms();
        let millis = u16::try_from(self.0.rem_euclid(1000)).unwrap_or(0);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |end: usize, mut number: u16| {
            for digit in text[..end].iter_mut().rev().take_while(|digit| digit.is_ascii_digit()) {
                *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
                number /= 10;
            }
        };
        put(4, u16::try_from(year).unwrap_or(0));
        put(7, u8::from(month).into());
        put(10, day.into());
        put(13, hour.into());
        put(16, minute.into());
        put(19, second.into());
        put(23, millis);
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

/// The reason why a value is not a valid [`Timestamp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TimestampError {
    /// The text does not have the accepted format, its date does not exist, or its year is not from 1970 to 9999.
    #[error("must be a date and time in UTC such as 2026-06-01T18:00:00Z, in the years 1970 to 9999")]
    Format,
    /// The time is before 1970 or after the year 9999.
    #[error("must be in the years 1970 to 9999")]
    OutOfRange,
    /// There is no time zone with this name.
    #[error("must be a time in a time zone of the IANA database, such as Europe/Berlin")]
    UnknownZone,
    /// The local time does not exist: the clocks skip it when they are put forward.
    #[error("must be a local time that exists: the clocks of the time zone skip it when they are put forward")]
    Skipped,
    /// The text is not a local date and time, or its date does not exist.
    #[error("must be a local date and time such as 2026-06-01T20:00, without Z or offset, in the years 1970 to 9999")]
    LocalFormat,
    /// The text is not a date, or the date does not exist.
    #[error("must be a date such as 2026-06-01, in the years 1970 to 9999")]
    DateFormat,
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or(TimestampError::Format)
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-');
    let year = digits(date.next()?, 4)?;
    let month = digits(date.next()?, 2)?;
    let day = digits(date.next()?, 2)?;
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    let mut clock = clock.split(':');
    let hour = digits(clock.next()?, 2)?;
    let minute = digits(clock.next()?, 2)?;
    let second = clock.next();
    if date.next().is_some() || clock.next().is_some() || year < 1970 || (second.is_none() && fraction.is_some()) {
        return None;
    }
    let second = second.map_or(Some(0), |text| digits(text, 2))?;
    let millis = fraction.map_or(Some(0), |text| {
        let decimals = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
        decimals.then(|| format!("{text:0<3}")[..3].parse::<i64>().ok()).flatten()
    })?;
    let small = |number: i64| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    let seconds = OffsetDateTime::new_utc(date, time).unix_timestamp();
    Timestamp::from_millis(seconds * 1000 + millis).ok()
}

/// A number of exactly `length` ASCII digits.
fn digits(text: &str, length: usize) -> Option<i64> {
    let plain = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.text()).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::enums::text_enum::from_text(deserializer)
    }
}

impl FormValue for Timestamp {
    type Limit = NoLimit;

    fn placeholder() -> Self {
        Self::UNIX_EPOCH
    }

    fn read(value: &Value, path: Path<'_>, errors: &mut FieldErrors) -> Option<Self> {
        let read: Result<Self, _> = text(value).unwrap_or_default().parse();
        read.map_err(|error| errors.add(path, error.to_string())).ok()
    }

    /// The schema omits the format `date-time`: many clients generated for it write the offset `+00:00`, which is
    /// refused.
    fn schema(_: &mut NamedSchemas) -> serde_json::Value {
        serde_json::json!({"type": "string", "pattern": PATTERN})
    }
}

/// The regular expression of timestamps in requests.
const PATTERN: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T\
    ([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]+)?)?Z$";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_formats_are_read() {
        for (text, millis) in [
            ("1970-01-01T00:00Z", 0),
            ("1970-01-01T00:00:01Z", 1000),
            ("1970-01-01T00:00:00.5Z", 500),
            ("1970-01-01T00:00:00.0019Z", 1),
            ("2000-02-29T12:00:00.123456789Z", 951_825_600_123),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] {
            assert_eq!(text.parse::<Timestamp>().map(Timestamp::millis), Ok(millis), "{text}");
        }
    }

    #[test]
    fn a_timestamp_is_padded_and_cut_like_text() {
        assert_eq!(format!("{:>26}", Timestamp::UNIX_EPOCH), "  1970-01-01T00:00:00.000Z");
        assert_eq!(format!("{:.10}", Timestamp::UNIX_EPOCH), "1970-01-01");
    }

    #[test]
    fn every_other_text_is_refused() {
        for text in [
            "",
            "Z",
            "2026-06-01",
            "2026-06-01T18:00",
            "2026-06-01T18:00:00+00:00",
            "2026-06-01T18:00:00z",
            "2026-06-01t18:00:00Z",
            "2026-06-01 18:00:00Z",
            "2026-02-29T00:00Z",
            "2026-13-01T00:00Z",
            "2026-06-31T00:00Z",
            "2026-06-01T24:00Z",
            "2026-06-01T23:60Z",
            "2026-06-01T23:59:60Z",
            "1969-12-31T23:59Z",
            "10000-01-01T00:00Z",
            "2026-6-01T00:00Z",
            "2026-06-01T18:00.5Z",
            "2026-06-01T18:00:00.Z",
            "2026-06-01T18Z",
            "+026-06-01T18:00Z",
            "2026-06-01T18:00:00,5Z",
            " 2026-06-01T18:00Z",
            "2026-06-01T18:00:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn milliseconds_outside_of_the_years_1970_to_9999_are_refused() {
        assert_eq!(Timestamp::from_millis(0), Ok(Timestamp::UNIX_EPOCH));
        assert_eq!(Timestamp::from_millis(253_402_300_799_999), Ok(Timestamp::MAX));
        for millis in [-1, 253_402_300_800_000, i64::MIN, i64::MAX] {
            assert_eq!(Timestamp::from_millis(millis), Err(TimestampError::OutOfRange), "{millis}");
        }
    }

    #[test]
    fn a_timestamp_is_written_with_milliseconds() {
        let at = Timestamp::from_millis(951_825_600_123).expect("in the range");
        assert_eq!(at.to_string(), "2000-02-29T12:00:00.123Z");
        assert_eq!(Timestamp::UNIX_EPOCH.to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    }
}
