//! The days and hours into which figures of an event are summed.

use std::ops::Range;
use std::time::Duration;

use super::calendar::{EventDays, Zone};
use super::{Checked, checked};
use crate::error::{Error, Result};
use crate::form::request::Request;
use crate::model::sale::event_sales::{GetEventSales, SalesInterval};
use crate::model::tickets::arrivals::GetEventArrivals;
use crate::model::values::timestamp::Timestamp;

const HOUR: i64 = 3_600_000;

/// Checks the times of a request.
fn check<T>(
    request: impl Into<Request<T>>,
    times: fn(&T) -> (Option<Timestamp>, Option<Timestamp>),
) -> Result<Checked<T>> {
    let Request { body, mut errors } = request.into();
    if let (Some(from), Some(before)) = times(&body) {
        errors.check(from < before, "before", "must be after from");
    }
    checked(body, errors)
}

pub(crate) fn check_sales(request: GetEventSales) -> Result<Checked<GetEventSales>> {
    check(request, |request| (request.from, request.before))
}

pub(crate) fn check_arrivals(request: GetEventArrivals) -> Result<Checked<GetEventArrivals>> {
    check(request, |request| (request.from, request.before))
}

/// The error of a request for which there are too many items.
pub(crate) fn too_many(items: usize, most: usize) -> Error {
    Error::field("from", format!("must be later: there are {items} items, and at most {most} are returned"))
}

/// The interval that contains an instant. Hours are counted from the first instant of the day. The last one is shorter if
/// clocks are changed by half an hour on that day.
pub(crate) fn interval_at(zone: Zone, interval: SalesInterval, at: Timestamp) -> Range<Timestamp> {
    let days = EventDays::at_midnight(zone);
    let day = days.day(at);
    let (start, end) = (days.start_of(day, 0), days.start_of(day, 1));
    match interval {
        SalesInterval::Day => start..end,
        SalesInterval::Hour => {
            let hours = (at.millis() - start.millis()).div_euclid(HOUR).unsigned_abs();
            let from = start.saturating_add(Duration::from_hours(hours));
            from..from.saturating_add(Duration::from_hours(1)).min(end)
        }
    }
}

/// The day a week before, from its beginning until clocks show the time that they show now, with this millisecond.
#[cfg(feature = "server")]
pub(crate) fn week_before(zone: Zone, now: Timestamp) -> Range<Timestamp> {
    let days = EventDays::at_midnight(zone);
    let start = days.start_of(days.day(now), -7);
    let until = zone.first_with(zone.local_millis(now) - 7 * 24 * HOUR);
    start..until.max(start).saturating_add(Duration::from_millis(1))
}

/// Whether arrivals are reported: from 6 hours before the start of an event until 24 hours after its end.
pub(crate) fn arrival_times(start: Timestamp, over_at: Timestamp) -> Range<Timestamp> {
    let from = Timestamp::from_millis(start.millis() - 6 * HOUR).unwrap_or_default();
    from..over_at.saturating_add(Duration::from_hours(24))
}

/// Sums figures, which come in the order of time, into intervals.
pub(crate) fn sum_into<T>(
    zone: Zone,
    interval: SalesInterval,
    figures: impl IntoIterator<Item = (Timestamp, T)>,
    mut add: impl FnMut(&mut T, T),
) -> Vec<(Range<Timestamp>, T)> {
    let mut sums: Vec<(Range<Timestamp>, T)> = Vec::new();
    for (at, figure) in figures {
        match sums.last_mut() {
            Some((range, sum)) if at < range.end => add(sum, figure),
            _ => sums.push((interval_at(zone, interval, at), figure)),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    fn range(zone: &str, interval: SalesInterval, instant: &str) -> (Timestamp, Timestamp) {
        let range = interval_at(Zone::of(zone).expect("known"), interval, at(instant));
        (range.start, range.end)
    }

    #[test]
    fn a_day_lasts_from_midnight_to_midnight_also_if_clocks_are_changed() {
        for (instant, from, until) in [
            ("2026-06-01T21:59:59.999Z", "2026-05-31T22:00:00Z", "2026-06-01T22:00:00Z"),
            ("2026-06-01T22:00:00Z", "2026-06-01T22:00:00Z", "2026-06-02T22:00:00Z"),
            // 23 hours, and 25.
            ("2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ] {
            assert_eq!(range("Europe/Berlin", SalesInterval::Day, instant), (at(from), at(until)), "{instant}");
        }
    }

    #[test]
    fn hours_are_hours_that_passed_also_if_clocks_are_changed() {
        for (zone, instant, from, until) in [
            ("Europe/Berlin", "2026-06-01T12:34:56Z", "2026-06-01T12:00:00Z", "2026-06-01T13:00:00Z"),
            ("Asia/Kolkata", "2026-06-01T12:34:56Z", "2026-06-01T12:30:00Z", "2026-06-01T13:30:00Z"),
            // Clocks show 02:30 twice: these are two hours.
            ("Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"),
            // On Lord Howe Island, clocks are put back by half an hour: the day has 24 hours and a half.
            ("Australia/Lord_Howe", "2026-04-05T13:15:00Z", "2026-04-05T13:00:00Z", "2026-04-05T13:30:00Z"),
            ("Australia/Lord_Howe", "2026-04-05T13:30:00Z", "2026-04-05T13:30:00Z", "2026-04-05T14:30:00Z"),
        ] {
            assert_eq!(range(zone, SalesInterval::Hour, instant), (at(from), at(until)), "{zone} {instant}");
        }
    }

    #[test]
    fn figures_of_an_interval_are_added_up() {
        let figures = [("2026-06-01T00:00:00Z", 1), ("2026-06-01T23:59:59Z", 2), ("2026-06-03T10:00:00Z", 4)];
        let zone = Zone::of("UTC").expect("known");
        let figures = figures.map(|(instant, number)| (at(instant), number));
        let sums = sum_into(zone, SalesInterval::Day, figures, |sum, figure| *sum += figure);
        let sums: Vec<_> = sums.into_iter().map(|(range, sum)| (range.start, sum)).collect();
        assert_eq!(sums, [(at("2026-06-01T00:00:00Z"), 3), (at("2026-06-03T00:00:00Z"), 4)]);
    }

    #[cfg(feature = "server")]
    #[test]
    fn a_week_before_ends_when_clocks_show_the_same_time() {
        for (now, from, until) in [
            ("2026-06-10T12:34:56.789Z", "2026-06-02T22:00:00Z", "2026-06-03T12:34:56.790Z"),
            // Clocks were put back on 25 October, and forward on 29 March.
            ("2026-10-28T11:00:00Z", "2026-10-20T22:00:00Z", "2026-10-21T10:00:00.001Z"),
            ("2026-04-01T10:00:00Z", "2026-03-24T23:00:00Z", "2026-03-25T11:00:00.001Z"),
            // At 02:30 on 5 April. A week before, clocks showed no 02:30.
            ("2026-04-05T00:30:00Z", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00.001Z"),
        ] {
            let range = week_before(Zone::of("Europe/Berlin").expect("known"), at(now));
            assert_eq!((range.start, range.end), (at(from), at(until)), "{now}");
        }
    }
}
