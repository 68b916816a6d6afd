//! The time zone of a calendar entry: which hours occur twice, and its changes as `VTIMEZONE` (RFC 5545, 3.6.5).

use time::OffsetDateTime;

use crate::rules::calendar::Zone;

const DAY: i64 = 86_400;

/// How long before an event the last change of the clock is looked for. A zone changes its clock twice a year, or never.
const LOOK_BACK: i64 = 400 * DAY;

/// Whether the local time at an instant occurs twice, because the clock is put back. Seconds since 1970.
pub(super) fn occurs_twice(zone: Zone, at: i64) -> bool {
    let local = at + zone.offset(at);
    [at - DAY, at + DAY].into_iter().any(|other| {
        let twin = local - zone.offset(other);
        twin != at && twin + zone.offset(twin) == local
    })
}

/// The local date and time at an instant that is so many seconds ahead of UTC: `20270612T193000`.
pub(super) fn date_time(at: i64, offset: i64) -> String {
    let local = OffsetDateTime::from_unix_timestamp(at + offset).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (date, time) = (local.date(), local.time());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}", time.hour(), time.minute(), time.second())
}

/// The lines of the `VTIMEZONE` with the changes of the clock that matter between two instants.
pub(super) fn component(zone: Zone, name: &str, from: i64, until: i64) -> Vec<String> {
    let mut lines = vec!["BEGIN:VTIMEZONE".to_owned(), format!("TZID:{name}")];
    let changes = changes(zone, from - LOOK_BACK, until);
    let current = changes.iter().rposition(|change| *change <= from);
    if current.is_none() {
        let offset = zone.offset(from - LOOK_BACK);
        lines.extend(observance("STANDARD", "19700101T000000", offset, offset));
    }
    for change in &changes[current.unwrap_or(0)..] {
        let (before, after) = (zone.offset(change - 1), zone.offset(*change));
        let kind = if zone.is_summer_time(*change) { "DAYLIGHT" } else { "STANDARD" };
        lines.extend(observance(kind, &date_time(*change, before), before, after));
    }
    lines.push("END:VTIMEZONE".to_owned());
    lines
}

/// The lines of a part of the year that begins at a local time.
fn observance(kind: &str, start: &str, before: i64, after: i64) -> [String; 5] {
    [
        format!("BEGIN:{kind}"),
        format!("DTSTART:{start}"),
        format!("TZOFFSETFROM:{}", utc_offset(before)),
        format!("TZOFFSETTO:{}", utc_offset(after)),
        format!("END:{kind}"),
    ]
}

/// `+0200`, or with seconds if there are any.
fn utc_offset(seconds: i64) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.abs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { format!("{sign}{hours:02}{minutes:02}") } else { format!("{sign}{hours:02}{minutes:02}{rest:02}") }
}

/// The instants after `from`, and up to `until`, at which the difference to UTC changes. Two changes on one day are
/// found as one, if at all.
fn changes(zone: Zone, from: i64, until: i64) -> Vec<i64> {
    let mut found = Vec::new();
    let mut day = from;
    while day < until {
        let next = (day + DAY).min(until);
        if zone.offset(day) != zone.offset(next) {
            let (mut before, mut after) = (day, next);
            while after - before > 1 {
                let middle = before + (after - before) / 2;
                if zone.offset(middle) == zone.offset(day) {
                    before = middle;
                } else {
                    after = middle;
                }
            }
            found.push(after);
        }
        day = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::timestamp::Timestamp;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().expect(text).millis() / 1000
    }

    fn zone(name: &str) -> Zone {
        Zone::of(name).expect(name)
    }

    #[test]
    fn the_hour_before_and_after_the_clock_is_put_back_occurs_twice() {
        // In Berlin, 2027-10-31 03:00 (UTC+2) is followed by 02:00 (UTC+1), at 01:00 UTC.
        let berlin = zone("Europe/Berlin");
        for (instant, twice) in [
            ("2027-10-30T23:59:59Z", false),
            ("2027-10-31T00:00:00Z", true),
            ("2027-10-31T00:59:59Z", true),
            ("2027-10-31T01:00:00Z", true),
            ("2027-10-31T01:59:59Z", true),
            ("2027-10-31T02:00:00Z", false),
            // The clock is put forwards: an hour is missing, and none occurs twice.
            ("2027-03-28T00:59:59Z", false),
            ("2027-03-28T01:00:00Z", false),
            ("2027-06-12T17:30:00Z", false),
        ] {
            assert_eq!(occurs_twice(berlin, at(instant)), twice, "{instant}");
        }
        // Lord Howe Island puts the clock back by half an hour: on 2027-04-04 at 02:00 (UTC+11), which is 15:00 UTC.
        let lord_howe = zone("Australia/Lord_Howe");
        for (instant, twice) in [
            ("2027-04-03T14:29:59Z", false),
            ("2027-04-03T14:30:00Z", true),
            ("2027-04-03T15:29:59Z", true),
            ("2027-04-03T15:30:00Z", false),
        ] {
            assert_eq!(occurs_twice(lord_howe, at(instant)), twice, "{instant}");
        }
    }

    #[test]
    fn a_summer_event_has_the_change_to_summer_time() {
        let lines =
            component(zone("Europe/Berlin"), "Europe/Berlin", at("2027-06-12T17:30:00Z"), at("2027-06-12T21:00:00Z"));
        let expected = "BEGIN:VTIMEZONE TZID:Europe/Berlin BEGIN:DAYLIGHT DTSTART:20270328T020000 TZOFFSETFROM:+0100 \
            TZOFFSETTO:+0200 END:DAYLIGHT END:VTIMEZONE";
        assert_eq!(lines.join(" "), expected);
    }

    #[test]
    fn an_event_over_a_change_has_both_parts_of_the_year() {
        let lines = component(
            zone("America/New_York"),
            "America/New_York",
            at("2027-11-06T16:00:00Z"),
            at("2027-11-08T16:00:00Z"),
        );
        let expected = "BEGIN:VTIMEZONE TZID:America/New_York BEGIN:DAYLIGHT DTSTART:20270314T020000 TZOFFSETFROM:-0500 \
            TZOFFSETTO:-0400 END:DAYLIGHT BEGIN:STANDARD DTSTART:20271107T020000 TZOFFSETFROM:-0400 TZOFFSETTO:-0500 \
            END:STANDARD END:VTIMEZONE";
        assert_eq!(lines.join(" "), expected);
    }

    #[test]
    fn a_zone_without_changes_has_one_part() {
        let lines =
            component(zone("Asia/Kathmandu"), "Asia/Kathmandu", at("2027-06-12T17:30:00Z"), at("2027-06-12T21:00:00Z"));
        let expected = "BEGIN:VTIMEZONE TZID:Asia/Kathmandu BEGIN:STANDARD DTSTART:19700101T000000 TZOFFSETFROM:+0545 \
            TZOFFSETTO:+0545 END:STANDARD END:VTIMEZONE";
        assert_eq!(lines.join(" "), expected);
    }
}
