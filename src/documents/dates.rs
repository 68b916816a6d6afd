//! Dates, times and validity in words.

use super::words::Words;
use crate::model::ticket_type::TicketType;
use crate::model::timestamp::Timestamp;
use crate::rules::calendar::Zone;

/// The beginning and the end of an event: `Saturday, 12 June 2027, 19:30 – 23:00`.
pub(super) fn period(words: &Words, zone: Zone, start: Timestamp, end: Option<Timestamp>) -> String {
    let Some(end) = end.filter(|end| *end > start) else { return moment(words, zone, start) };
    if zone.date(start) == zone.date(end) {
        let (date, from, to) = (full_date(words, zone, start), zone.wall_clock(start), zone.wall_clock(end));
        return format!("{date}, {from} – {to}{}", words.after_time);
    }
    format!("{} – {}", moment(words, zone, start), moment(words, zone, end))
}

/// The name of a time zone, and its difference to UTC at an instant: `Europe/Berlin, UTC+2`.
pub(super) fn zone_at(zone: Zone, name: &str, at: Timestamp) -> String {
    let minutes = zone.minutes_ahead_of_utc(at);
    let (sign, minutes) = if minutes < 0 { ('−', -minutes) } else { ('+', minutes) };
    match (minutes / 60, minutes % 60) {
        // UTC has several names.
        (0, 0) if matches!(name.rsplit('/').next(), Some("UTC" | "UCT" | "Universal" | "Zulu")) => "UTC".to_owned(),
        (0, 0) => format!("{name}, UTC"),
        (hours, 0) => format!("{name}, UTC{sign}{hours}"),
        (hours, minutes) => format!("{name}, UTC{sign}{hours}:{minutes:02}"),
    }
}

/// Says when tickets of a type are valid, with a line for each condition. A type without conditions has no lines.
pub(super) fn validity(words: &Words, zone: Zone, ticket_type: &TicketType) -> Vec<String> {
    let mut lines = Vec::new();
    let from = ticket_type.valid_from.map(|from| format!("{} {}", words.from, moment(words, zone, from)));
    let until = ticket_type.valid_until.map(|until| format!("{} {}", words.until, moment(words, zone, until)));
    lines.extend(from);
    lines.extend(until);
    if !ticket_type.allowed_dates.is_empty() {
        lines.push(format!("{} {}", words.only_on, days(words, zone, &ticket_type.allowed_dates)));
    }
    lines.extend(ticket_type.validity_days.map(words.days));
    lines.extend(ticket_type.validity_hours.map(words.hours));
    lines
}

/// Each day once, in their order: `12 June 2027, 13 June 2027`.
fn days(words: &Words, zone: Zone, dates: &[Timestamp]) -> String {
    let mut dates: Vec<_> = dates.iter().map(|date| zone.date(*date)).collect();
    dates.sort();
    dates.dedup();
    let day = |date: time::Date| (words.day)(date.day(), month(words, date), date.year());
    dates.into_iter().map(day).collect::<Vec<_>>().join(", ")
}

/// A date and time: `Saturday, 12 June 2027, 19:30`.
pub(super) fn moment(words: &Words, zone: Zone, at: Timestamp) -> String {
    format!("{}, {}{}", full_date(words, zone, at), zone.wall_clock(at), words.after_time)
}

fn full_date(words: &Words, zone: Zone, at: Timestamp) -> String {
    let date = zone.date(at);
    let weekday = words.weekdays[usize::from(date.weekday().number_days_from_monday())];
    (words.date)(weekday, date.day(), month(words, date), date.year())
}

fn month(words: &Words, date: time::Date) -> &'static str {
    words.months[usize::from(u8::from(date.month())) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::words;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    #[test]
    fn a_date_and_time_reads_as_the_language_writes_it() {
        let berlin = Zone::of("Europe/Berlin").expect("known");
        // 12 June 2027 is a Saturday.
        for (language, expected) in [
            ("en", "Saturday, 12 June 2027, 19:30"),
            ("de", "Samstag, 12. Juni 2027, 19:30 Uhr"),
            ("fr", "samedi 12 juin 2027, 19:30"),
            ("es", "sábado, 12 de junio de 2027, 19:30"),
            ("it", "sabato 12 giugno 2027, 19:30"),
            ("nl", "zaterdag 12 juni 2027, 19:30"),
        ] {
            let words = words::of(Some(language));
            assert_eq!(period(words, berlin, at("2027-06-12T17:30:00Z"), None), expected);
        }
        assert_eq!(moment(words::of(Some("fr")), berlin, at("2027-07-31T22:00:00Z")), "dimanche 1er août 2027, 00:00");
    }

    #[test]
    fn an_end_on_the_same_day_is_a_time_and_else_a_date() {
        let (berlin, tokyo) = (Zone::of("Europe/Berlin").expect("known"), Zone::of("Asia/Tokyo").expect("known"));
        let (start, end) = (at("2027-06-12T14:00:00Z"), at("2027-06-12T17:15:00Z"));
        let german = words::of(Some("de"));
        assert_eq!(period(german, berlin, start, Some(end)), "Samstag, 12. Juni 2027, 16:00 – 19:15 Uhr");
        let expected = "Samstag, 12. Juni 2027, 23:00 Uhr – Sonntag, 13. Juni 2027, 02:15 Uhr";
        assert_eq!(period(german, tokyo, start, Some(end)), expected);
    }

    #[test]
    fn the_zone_has_its_difference_to_utc_on_that_day() {
        for (name, instant, expected) in [
            ("Europe/Berlin", "2027-06-12T17:30:00Z", "Europe/Berlin, UTC+2"),
            ("Europe/Berlin", "2027-01-12T17:30:00Z", "Europe/Berlin, UTC+1"),
            ("Europe/London", "2027-01-12T17:30:00Z", "Europe/London, UTC"),
            ("UTC", "2027-01-12T17:30:00Z", "UTC"),
            ("Etc/UTC", "2027-01-12T17:30:00Z", "UTC"),
            ("Zulu", "2027-01-12T17:30:00Z", "UTC"),
            ("Africa/Abidjan", "2027-01-12T17:30:00Z", "Africa/Abidjan, UTC"),
            ("America/St_Johns", "2027-01-12T17:30:00Z", "America/St_Johns, UTC−3:30"),
            ("Asia/Kathmandu", "2027-01-12T17:30:00Z", "Asia/Kathmandu, UTC+5:45"),
        ] {
            assert_eq!(zone_at(Zone::of(name).expect(name), name, at(instant)), expected);
        }
    }
}
