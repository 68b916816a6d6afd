//! The arrivals at an event, with figures computed by hand.

use ticketing::door::{ArrivalsItem, EventArrivals, GetEventArrivals};
use ticketing::error::Reason;
use ticketing::event::Event;
use ticketing::ticket::CheckInTicket;

use crate::common::door::{let_in, let_out};
use crate::common::*;

fn arrivals(fixture: &Fixture, event: &Event) -> EventArrivals {
    fixture.service.get_event_arrivals(&fixture.caller, event.id, GetEventArrivals::new()).expect("arrivals")
}

/// The beginning of an item, admitted, left, and refused by reason.
type Row = (String, i64, i64, Vec<(Option<Reason>, i64)>);

fn rows(items: &[ArrivalsItem]) -> Vec<Row> {
    let row = |item: &ArrivalsItem| {
        let refused = item.refused.iter().map(|refused| (refused.reason, refused.count)).collect();
        (item.from.to_string()[11..16].to_owned(), item.admitted, item.left, refused)
    };
    items.iter().map(row).collect()
}

#[test]
fn admissions_departures_and_refusals_count_in_their_five_minutes() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.start_date = at("2026-07-01T18:00:00Z"));
    let seat = fixture.ticket_type(&event, 1250, 100);
    let gate = fixture.gate(&event);
    let codes: Vec<_> = fixture.issue(&seat, 4).into_iter().map(|ticket| ticket.code).collect();
    fixture.set_clock("2026-07-01T18:30:00Z");
    fixture.report(
        &gate,
        "Phone 1",
        [
            let_in(1, &codes[0], "2026-07-01T18:00:00Z"),
            let_in(2, &codes[1], "2026-07-01T18:04:59Z"),
            // A second person with the same ticket.
            let_in(3, &codes[1], "2026-07-01T18:05:00Z"),
            let_out(4, &codes[0], "2026-07-01T18:06:00Z"),
            let_in(5, &codes[0], "2026-07-01T18:10:00Z"),
            let_in(6, "00000000000000000000", "2026-07-01T18:11:00Z"),
        ],
    );
    // Without a key, by the program.
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&codes[2])).expect("valid");
    let found = arrivals(&fixture, &event);
    assert_eq!((found.inside, found.expected, found.missing), (3, 4, 1));
    let gates: Vec<_> = found.items.iter().map(|item| item.gate.as_deref()).collect();
    assert_eq!(gates, [Some("Gate A"), Some("Gate A"), Some("Gate A"), None]);
    let expected = [
        ("18:00", 2, 0, vec![]),
        ("18:05", 0, 1, vec![(Some(Reason::AlreadyCheckedIn), 1)]),
        ("18:10", 1, 0, vec![(None, 1)]),
        ("18:30", 1, 0, vec![]),
    ];
    let expected = expected.map(|(from, admitted, left, refused)| (from.to_owned(), admitted, left, refused));
    assert_eq!(rows(&found.items), expected);
    assert_eq!(found.items[0].until, at("2026-07-01T18:05:00Z"));
}

#[test]
fn only_scans_from_six_hours_before_the_start_until_a_day_after_the_end_count_by_default() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    fixture.gate(&event);
    let codes: Vec<_> = fixture.issue(&seat, 4).into_iter().map(|ticket| ticket.code).collect();
    let start = event.start_date.millis();
    let end = event.end_date.expect("an end").millis();
    let hour = 3_600_000;
    for (code, time) in codes.iter().zip([start - 6 * hour - 1, start - 6 * hour, end + 24 * hour - 1, end + 24 * hour])
    {
        fixture.clock.set(ticketing::Timestamp::from_millis(time).expect("in range"));
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("valid");
    }
    let found = arrivals(&fixture, &event);
    assert_eq!((found.items.len(), found.inside), (2, 4));
    let all = GetEventArrivals::new().from(at("2026-01-01T00:00:00Z")).before(at("2027-01-01T00:00:00Z"));
    let all = fixture.service.get_event_arrivals(&fixture.caller, event.id, all).expect("arrivals");
    assert_eq!(all.items.iter().map(|item| item.admitted).sum::<i64>(), 4);
}

#[test]
fn without_a_log_each_ticket_that_is_inside_counts_with_its_last_check_in() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 100);
    let codes: Vec<_> = fixture.issue(&seat, 3).into_iter().map(|ticket| ticket.code).collect();
    fixture.clock.set(event.start_date);
    for code in &codes[..2] {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)).expect("valid");
    }
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&codes[0])).expect("inside");
    let found = arrivals(&fixture, &event);
    assert_eq!((found.inside, found.expected, found.missing, found.items.len()), (1, 3, 1, 1));
    assert_eq!(found.items[0].admitted, 1);
    // Those who were inside when the log began.
    fixture.gate(&event);
    let before = arrivals(&fixture, &event);
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&codes[1])).expect("inside");
    let after = arrivals(&fixture, &event);
    let sum = |found: &EventArrivals, of: fn(&ArrivalsItem) -> i64| found.items.iter().map(of).sum::<i64>();
    assert_eq!((sum(&before, |item| item.admitted), sum(&after, |item| item.admitted)), (1, 1));
    assert_eq!((after.inside, sum(&after, |item| item.left)), (0, 1));
}
