//! Dates, times and validity in words.

use std::time::Duration;

use super::vocabulary::Words;
use crate::model::sale::ticket_type::TicketType;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::{EventDays, Zone};

/// The longest event whose end on the next day is written without its date.
const ONE_NIGHT: Duration = Duration::from_hours(12);

/// The beginning and the end of an event, as a headline: `Saturday, 12 June 2027, 19:30 – 23:00`. An end within 12
/// hours on the next day has no date either.
pub(crate) fn period(words: &Words, zone: Zone, start: Timestamp, end: Option<Timestamp>) -> String {
    let Some(end) = end.filter(|end| *end > start) else { return capitalized(&moment(words, zone, start)) };
    let is_night = end.duration_since(start).is_some_and(|duration| duration <= ONE_NIGHT);
    if is_night || zone.date(start) == zone.date(end) {
        let from = format!("{}{}", clock(words, zone, start), which_of_two(zone, start));
        return capitalized(&format!("{}, {from} – {}", date(words, zone, start), time(words, zone, end)));
    }
    let (start, end) = (moment(words, zone, start), moment(words, zone, end));
    format!("{} – {}", capitalized(&start), end)
}

/// A date and time: `Saturday, 12 June 2027, 19:30`.
pub(crate) fn moment(words: &Words, zone: Zone, at: Timestamp) -> String {
    format!("{}, {}", date(words, zone, at), time(words, zone, at))
}

/// A day without its weekday: `12 June 2027`.
#[cfg(any(feature = "server", feature = "mail"))]
pub(crate) fn day_at(words: &Words, zone: Zone, at: Timestamp) -> String {
    day(words, zone.date(at))
}

/// A time of day: `19:30`. If the clocks show it twice, it has the difference to UTC.
#[cfg(feature = "server")]
pub(crate) fn time_at(words: &Words, zone: Zone, at: Timestamp) -> String {
    time(words, zone, at)
}

/// The place in the name of a time zone, and its difference to UTC at the beginning and the end of an event:
/// `New York, UTC-5`. If clocks are changed in between, it has both: `New York, UTC-4 – UTC-5`.
pub(crate) fn zone_of(zone: Zone, name: &str, start: Timestamp, end: Option<Timestamp>) -> String {
    let place = name.rsplit('/').next().unwrap_or(name).replace('_', " ");
    let [first, last] = [start, end.filter(|end| *end > start).unwrap_or(start)].map(|at| offset(zone, at));
    match first == last {
        // UTC has several names.
        true if matches!(place.as_str(), "UTC" | "UCT" | "Universal" | "Zulu") => "UTC".to_owned(),
        true => format!("{place}, {first}"),
        false => format!("{place}, {first} – {last}"),
    }
}

/// The difference to UTC at an instant: `UTC-5`.
fn offset(zone: Zone, at: Timestamp) -> String {
    let minutes = zone.minutes_ahead_of_utc(at);
    let (sign, minutes) = if minutes < 0 { ('-', -minutes) } else { ('+', minutes) };
    match (minutes / 60, minutes % 60) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

/// Says when tickets of a type are valid, with a line for each condition. A type without conditions has no lines.
pub(crate) fn validity(words: &Words, event_days: EventDays, ticket_type: &TicketType) -> Vec<String> {
    let dates = &words.dates;
    let zone = event_days.zone;
    let at = |at: Timestamp| format!("{}{}{}", date(words, zone, at), dates.at, time(words, zone, at));
    let mut lines = Vec::new();
    lines.extend(ticket_type.valid_from.map(|from| format!("{} {}", dates.from, at(from))));
    lines.extend(ticket_type.valid_until.map(|until| format!("{} {}", dates.until, at(until))));
    if !ticket_type.allowed_dates.is_empty() {
        lines.push(format!("{} {}", dates.only_on, days(words, event_days, &ticket_type.allowed_dates)));
    }
    lines.extend(ticket_type.validity_days.map(dates.days));
    lines.extend(ticket_type.validity_hours.map(dates.hours));
    lines
}

/// Each day once, in their order: `12 June 2027, 13 June 2027`.
fn days(words: &Words, event_days: EventDays, dates: &[Timestamp]) -> String {
    let mut dates: Vec<_> = dates.iter().map(|date| event_days.date(*date)).collect();
    dates.sort();
    dates.dedup();
    dates.into_iter().map(|date| day(words, date)).collect::<Vec<_>>().join(", ")
}

fn date(words: &Words, zone: Zone, at: Timestamp) -> String {
    let date = zone.date(at);
    let weekday = words.dates.weekdays[usize::from(date.weekday().number_days_from_monday())];
    (words.dates.date)(weekday, &day(words, date))
}

fn day(words: &Words, date: time::Date) -> String {
    let month = words.dates.months[usize::from(u8::from(date.month())) - 1];
    (words.dates.day)(date.day(), month, date.year())
}

/// A time of day within a range: `19:30`.
fn clock(words: &Words, zone: Zone, at: Timestamp) -> String {
    let (hour, minute) = zone.time_of_day(at);
    (words.dates.time)(hour, minute)
}

/// A time of day: `19:30`. If the clocks show it twice, it has the difference to UTC: `01:30, UTC-5`.
fn time(words: &Words, zone: Zone, at: Timestamp) -> String {
    format!("{}{}{}", clock(words, zone, at), words.dates.after_time, which_of_two(zone, at))
}

fn which_of_two(zone: Zone, at: Timestamp) -> String {
    if zone.comes_twice(at) { format!(", {}", offset(zone, at)) } else { String::new() }
}

/// Some languages write weekdays in lower case, but not at the beginning.
fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    fn zone(name: &str) -> Zone {
        Zone::of(name).expect(name)
    }

    /// With the spaces that keep words on one line as ordinary ones.
    fn spaced(text: &str) -> String {
        text.replace('\u{A0}', " ")
    }

    #[test]
    fn a_date_and_time_reads_as_the_language_writes_it() {
        // 12 June 2027 is a Saturday.
        for (language, expected) in [
            ("en", "Saturday, 12 June 2027, 19:30"),
            ("en-US", "Saturday, June 12, 2027, 7:30 PM"),
            ("de", "Samstag, 12. Juni 2027, 19:30 Uhr"),
            ("fr", "Samedi 12 juin 2027, 19 h 30"),
            ("es", "Sábado, 12 de junio de 2027, 19:30"),
            ("it", "Sabato 12 giugno 2027, 19:30"),
            ("nl", "Zaterdag 12 juni 2027, 19:30 uur"),
        ] {
            let period = period(of([language]), zone("Europe/Berlin"), at("2027-06-12T17:30:00Z"), None);
            assert_eq!(spaced(&period), expected);
        }
    }

    #[test]
    fn the_first_of_a_month_and_full_hours_read_as_the_language_writes_them() {
        for (language, expected) in [
            ("fr", "dimanche 1er août 2027, 0 h"),
            ("it", "domenica 1º agosto 2027, 00:00"),
            ("en-US", "Sunday, August 1, 2027, 12:00 AM"),
            ("de", "Sonntag, 1. August 2027, 00:00 Uhr"),
        ] {
            let moment = moment(of([language]), zone("Europe/Berlin"), at("2027-07-31T22:00:00Z"));
            assert_eq!(spaced(&moment), expected);
        }
        let noon = moment(of(["en-PH"]), zone("UTC"), at("2027-07-31T12:05:00Z"));
        assert_eq!(spaced(&noon), "Saturday, July 31, 2027, 12:05 PM");
    }

    #[test]
    fn a_day_month_and_year_stay_on_one_line() {
        let moment = |language| moment(of([language]), zone("UTC"), at("2027-06-12T17:30:00Z"));
        assert_eq!(moment("de"), "Samstag, 12.\u{A0}Juni\u{A0}2027, 17:30\u{A0}Uhr");
        assert_eq!(moment("en-US"), "Saturday, June\u{A0}12,\u{A0}2027, 5:30\u{A0}PM");
    }

    #[test]
    fn an_end_on_the_same_day_or_in_the_same_night_is_a_time_and_else_a_date() {
        let (start, end) = (at("2027-06-12T14:00:00Z"), at("2027-06-12T17:15:00Z"));
        let german = of(["de"]);
        let text = |zone_name, end| spaced(&period(german, zone(zone_name), start, Some(end)));
        assert_eq!(text("Europe/Berlin", end), "Samstag, 12. Juni 2027, 16:00 – 19:15 Uhr");
        assert_eq!(text("Asia/Tokyo", end), "Samstag, 12. Juni 2027, 23:00 – 02:15 Uhr");
        assert_eq!(text("Asia/Tokyo", at("2027-06-13T02:00:00Z")), "Samstag, 12. Juni 2027, 23:00 – 11:00 Uhr");
        let expected = "Samstag, 12. Juni 2027, 23:00 Uhr – Sonntag, 13. Juni 2027, 11:01 Uhr";
        assert_eq!(text("Asia/Tokyo", at("2027-06-13T02:01:00Z")), expected);
        let dutch = period(of(["nl"]), zone("UTC"), start, Some(at("2027-06-14T14:00:00Z")));
        assert_eq!(spaced(&dutch), "Zaterdag 12 juni 2027, 14:00 uur – maandag 14 juni 2027, 14:00 uur");
        // On the same day, also if it takes longer.
        let long = period(of(["fr"]), zone("UTC"), at("2027-06-12T06:00:00Z"), Some(at("2027-06-12T22:30:00Z")));
        assert_eq!(spaced(&long), "Samedi 12 juin 2027, 6 h – 22 h 30");
    }

    #[test]
    fn the_zone_has_its_place_and_its_difference_to_utc_on_that_day() {
        for (name, instant, expected) in [
            ("Europe/Berlin", "2027-06-12T17:30:00Z", "Berlin, UTC+2"),
            ("Europe/Berlin", "2027-01-12T17:30:00Z", "Berlin, UTC+1"),
            ("Europe/London", "2027-01-12T17:30:00Z", "London, UTC"),
            ("UTC", "2027-01-12T17:30:00Z", "UTC"),
            ("Etc/UTC", "2027-01-12T17:30:00Z", "UTC"),
            ("Zulu", "2027-01-12T17:30:00Z", "UTC"),
            ("America/New_York", "2027-01-12T17:30:00Z", "New York, UTC-5"),
            ("America/Argentina/Buenos_Aires", "2027-01-12T17:30:00Z", "Buenos Aires, UTC-3"),
            ("America/St_Johns", "2027-01-12T17:30:00Z", "St Johns, UTC-3:30"),
            ("Asia/Kathmandu", "2027-01-12T17:30:00Z", "Kathmandu, UTC+5:45"),
        ] {
            assert_eq!(zone_of(zone(name), name, at(instant), None), expected);
        }
    }

    /// In New York, clocks are put back on 1 November 2026 at 2:00 AM (06:00 UTC).
    #[test]
    fn in_the_night_of_a_clock_change_times_say_which_they_are() {
        let (name, american) = ("America/New_York", of(["en-US"]));
        let (start, end) = (at("2026-11-01T02:00:00Z"), at("2026-11-01T08:30:00Z"));
        assert_eq!(zone_of(zone(name), name, start, Some(end)), "New York, UTC-4 – UTC-5");
        assert_eq!(zone_of(zone(name), name, start, Some(at("2026-11-01T04:00:00Z"))), "New York, UTC-4");
        let period = |start, end| spaced(&super::period(american, zone(name), start, Some(end)));
        assert_eq!(period(start, end), "Saturday, October 31, 2026, 10:00 PM – 3:30 AM");
        let (first, second) = (at("2026-11-01T05:30:00Z"), at("2026-11-01T06:30:00Z"));
        assert_eq!(period(first, second), "Sunday, November 1, 2026, 1:30 AM, UTC-4 – 1:30 AM, UTC-5");
        let moment = |language, at| spaced(&super::moment(of([language]), zone(name), at));
        assert_eq!(moment("de", first), "Sonntag, 1. November 2026, 01:30 Uhr, UTC-4");
        assert_eq!(moment("de", second), "Sonntag, 1. November 2026, 01:30 Uhr, UTC-5");
    }
}
