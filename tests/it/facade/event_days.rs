//! Events whose days begin at another time than midnight: a night is one day.

use ticketing::Result;
use ticketing::door::ScanOutcome;
use ticketing::error::Reason;
use ticketing::event::{Event, EventSettings};
use ticketing::ticket::{CheckInTicket, IssuedTicket, NewTicket};
use ticketing::ticket_type::CreateTicketType;

use crate::common::door::let_in;
use crate::common::*;

/// An event in a time zone whose days begin at this time.
fn event_in(fixture: &Fixture, timezone: &str, starts_at: Option<&str>) -> Event {
    let event = fixture.event_with(|new| {
        new.timezone = Some(timezone.to_owned());
        new.end_date = Some(at("2028-01-01T00:00Z"));
    });
    let Some(starts_at) = starts_at else { return event };
    set_days(fixture, &event, EventSettings::default().day_starts_at(starts_at))
}

fn set_days(fixture: &Fixture, event: &Event, settings: EventSettings) -> Event {
    fixture.service.update_event_settings(&fixture.caller, event.id, settings).expect("settings")
}

fn ticket(fixture: &Fixture, event: &Event, change: impl FnOnce(&mut CreateTicketType)) -> NewTicket {
    fixture.set_clock(NOW);
    fixture.issue(&fixture.ticket_type_with(event, change), 1).remove(0)
}

fn scan(fixture: &Fixture, ticket: &NewTicket, now: &str) -> Result<IssuedTicket> {
    fixture.set_clock(now);
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code))
}

/// The night in Berlin begins at 22:00 of 10 June, which is 20:00 in UTC. Without the setting, its day ends at midnight.
#[test]
fn an_allowed_date_is_a_whole_night_if_days_begin_in_the_morning() {
    let fixture = Fixture::new();
    let only = |event| ticket(&fixture, event, |new| new.allowed_dates = Some(vec![at("2026-06-10T20:00Z")]));
    let night = event_in(&fixture, "Europe/Berlin", Some("06:00"));
    let day = event_in(&fixture, "Europe/Berlin", None);
    for (now, of_night, of_day) in [
        ("2026-06-09T22:00Z", false, true),
        ("2026-06-10T03:59:59.999Z", false, true),
        ("2026-06-10T04:00Z", true, true),
        ("2026-06-10T21:59:59.999Z", true, true),
        ("2026-06-10T22:10Z", true, false),
        ("2026-06-11T03:59:59.999Z", true, false),
        ("2026-06-11T04:00Z", false, false),
    ] {
        for (event, is_allowed) in [(&night, of_night), (&day, of_day)] {
            let refusal = scan(&fixture, &only(event), now).map(drop).err();
            let expected = (!is_allowed).then_some(Reason::NotValidToday);
            assert_eq!(refusal.and_then(|refusal| refusal.reason()), expected, "{now} {:?}", event.day_starts_at);
        }
    }
}

/// The clock changes are those of Python's `zoneinfo`.
#[test]
fn validity_in_days_ends_when_the_day_of_the_event_ends() {
    let fixture = Fixture::new();
    for (timezone, starts_at, days, first_scan, expires) in [
        ("Europe/Berlin", None, 1, "2026-06-10T21:30Z", "2026-06-10T22:00Z"),
        ("Europe/Berlin", Some("06:00"), 1, "2026-06-10T21:30Z", "2026-06-11T04:00Z"),
        ("Europe/Berlin", Some("06:00"), 1, "2026-06-11T03:59:59.999Z", "2026-06-11T04:00Z"),
        ("Europe/Berlin", Some("06:00"), 2, "2026-06-11T03:59:59.999Z", "2026-06-12T04:00Z"),
        // Clocks are put back at 01:00 UTC: the night has one hour more.
        ("Europe/Berlin", Some("06:00"), 1, "2026-10-24T20:00Z", "2026-10-25T05:00Z"),
        // On that day, 02:30 comes twice. The day begins at the first.
        ("Europe/Berlin", Some("02:30"), 1, "2026-10-24T20:00Z", "2026-10-25T00:30Z"),
        ("Europe/Berlin", Some("02:30"), 1, "2026-10-25T01:15Z", "2026-10-26T01:30Z"),
        // 02:00 is 03:00, at 01:00 UTC: the day that begins at 02:30 begins then, and the next one at 02:30.
        ("Europe/Berlin", Some("02:30"), 1, "2027-03-27T12:00Z", "2027-03-28T01:00Z"),
        ("Europe/Berlin", Some("02:30"), 1, "2027-03-28T01:00Z", "2027-03-29T00:30Z"),
        // 02:00 is 02:30, at 15:30 UTC of the day before; in April, it is 01:30, at 15:00 UTC.
        ("Australia/Lord_Howe", Some("02:15"), 1, "2026-10-03T12:00Z", "2026-10-03T15:30Z"),
        ("Australia/Lord_Howe", Some("02:30"), 1, "2026-10-03T12:00Z", "2026-10-03T15:30Z"),
        ("Australia/Lord_Howe", Some("01:45"), 1, "2027-04-03T12:00Z", "2027-04-03T14:45Z"),
        ("Australia/Lord_Howe", Some("01:45"), 1, "2027-04-03T15:05Z", "2027-04-04T15:15Z"),
        // 24:00 is 01:00, at 04:00 UTC; in April, it is 23:00, at 03:00 UTC.
        ("America/Santiago", Some("00:30"), 1, "2026-09-06T02:00Z", "2026-09-06T04:00Z"),
        ("America/Santiago", Some("23:30"), 1, "2027-04-04T01:00Z", "2027-04-04T02:30Z"),
        ("America/Santiago", Some("23:30"), 1, "2027-04-04T03:15Z", "2027-04-05T03:30Z"),
        ("America/Santiago", None, 1, "2027-04-04T03:15Z", "2027-04-04T04:00Z"),
    ] {
        fixture.set_clock(NOW);
        let event = event_in(&fixture, timezone, starts_at);
        let ticket = ticket(&fixture, &event, |new| new.validity_days = Some(days));
        let scanned = scan(&fixture, &ticket, first_scan).expect("admitted");
        assert_eq!(scanned.expires_at, Some(at(expires)), "{timezone} {starts_at:?} {first_scan}");
    }
}

#[test]
fn a_ticket_for_several_days_admits_once_a_night() {
    let fixture = Fixture::new();
    let two_nights = Some(vec![at("2026-06-10T20:00Z"), at("2026-06-11T20:00Z")]);
    let changes: [&dyn Fn(&mut CreateTicketType); 2] =
        [&|new| new.allowed_dates = two_nights.clone(), &|new| new.validity_days = Some(2)];
    for change in changes {
        let event = event_in(&fixture, "Europe/Berlin", Some("06:00"));
        let ticket = ticket(&fixture, &event, change);
        scan(&fixture, &ticket, "2026-06-10T21:30Z").expect("the first night");
        // From midnight to 06:00, a second person with the same code is refused.
        for now in ["2026-06-10T22:01Z", "2026-06-11T03:59:59.999Z"] {
            let refused = scan(&fixture, &ticket, now).unwrap_err();
            assert_eq!(refused.reason(), Some(Reason::AlreadyCheckedIn), "{now}");
        }
        scan(&fixture, &ticket, "2026-06-11T04:00Z").expect("the second day");
    }
}

#[test]
fn a_stored_expiry_stays_when_days_begin_at_another_time() {
    let fixture = Fixture::new();
    let event = event_in(&fixture, "Europe/Berlin", None);
    let two_days = |new: &mut CreateTicketType| new.validity_days = Some(2);
    let [plain, logged] = [(); 2].map(|()| ticket(&fixture, &event, two_days));
    scan(&fixture, &plain, "2026-06-10T12:00Z").expect("admitted");
    let gate = fixture.gate(&event);
    let report = |number, now| {
        fixture.set_clock(now);
        fixture.report(&gate, "Phone", [let_in(number, &logged.code, now)]).remove(0)
    };
    let expires = Some(at("2026-06-11T22:00Z"));
    assert_eq!(report(1, "2026-06-10T12:00Z").ticket.expect("the ticket").expires_at, expires);

    let event = set_days(&fixture, &event, EventSettings::default().day_starts_at("06:00"));
    assert_eq!(fixture.roster(&gate, &event).event.day_starts_at.as_deref(), Some("06:00"));
    // 05:00 in Berlin is still the first day, 06:00 is the second.
    assert_eq!(report(2, "2026-06-11T03:00Z").outcome, ScanOutcome::AdmittedTwice);
    let again = report(3, "2026-06-11T04:00Z");
    assert_eq!(again.outcome, ScanOutcome::Admitted);
    assert_eq!(again.ticket.expect("the ticket").expires_at, expires);
    assert_eq!(scan(&fixture, &plain, "2026-06-11T04:00Z").expect("admitted").expires_at, expires);

    let event = set_days(&fixture, &event, EventSettings::default().clear_day_starts_at());
    assert_eq!((&event.day_starts_at, fixture.roster(&gate, &event).event.day_starts_at), (&None, None));
}
