//! Check-in and check-out: which tickets are accepted, which refusal comes first, and what a scan changes.

use std::time::Duration;

use ticketing::Result;
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::id::EventId;
use ticketing::organization::{CreateApiKey, Scope};
use ticketing::ticket::{CheckInTicket, IssuedTicket, NewTicket, TicketStatus};
use ticketing::ticket_type::{CreateTicketType, TicketType, UpdateTicketType};

use crate::common::*;

fn scan(fixture: &Fixture, ticket: &NewTicket) -> Result<IssuedTicket> {
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code))
}

fn scan_at(fixture: &Fixture, ticket: &NewTicket, event: EventId) -> Result<IssuedTicket> {
    let request = CheckInTicket::new(ticket.code.clone()).event(event);
    fixture.service.check_in_ticket(&fixture.caller, request)
}

fn check_out(fixture: &Fixture, ticket: &NewTicket) -> Result<IssuedTicket> {
    fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(&ticket.code))
}

fn read(fixture: &Fixture, ticket: &NewTicket) -> IssuedTicket {
    fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket")
}

/// Creates an event in Berlin with a ticket type, and issues one ticket.
fn ticket_in_berlin(fixture: &Fixture, change: impl FnOnce(&mut CreateTicketType)) -> (TicketType, NewTicket) {
    let event = fixture.event_with(|new| {
        new.timezone = Some("Europe/Berlin".to_owned());
        new.end_date = Some(at("2027-01-01T00:00Z"));
    });
    let ticket_type = fixture.ticket_type_with(&event, change);
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    (ticket_type, ticket)
}

/// All reasons to refuse a scan apply at first. Each step checks which one is returned, and removes it.
#[test]
fn the_first_of_several_reasons_refuses_a_scan() {
    let fixture = Fixture::new();
    let (ticket_type, ticket) = ticket_in_berlin(&fixture, |new| new.price = eur(1250));
    // Checked in already, cancelled like its event, at the wrong event, and outside of all its valid times.
    fixture.set_clock("2026-06-10T12:00Z");
    scan(&fixture, &ticket).expect("nothing refuses it yet");
    let set = |sql: &str| {
        let file = fixture.database();
        assert_eq!(file.execute(sql, []), 1, "{sql}");
    };
    let limits = UpdateTicketType::default()
        .valid_from(at("2026-06-20T00:00Z"))
        .valid_until(at("2026-06-21T00:00Z"))
        .allowed_dates([at("2026-06-15T12:00Z")]);
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, limits).expect("limits");
    fixture.set_event_status(ticket_type.event_id, EventStatus::Cancelled).expect("cancelled");
    set("UPDATE tickets SET status = 'CANCELLED'");
    let other_event = fixture.event();

    let mut scans = 1;
    let mut refused = |expected: Reason, event: EventId| {
        assert_eq!(reason(scan_at(&fixture, &ticket, event)), expected);
        scans += 1;
        assert_eq!(read(&fixture, &ticket).scan_count, scans, "{expected}: a refused scan counts");
    };
    refused(Reason::WrongEvent, other_event.id);
    refused(Reason::TicketCancelled, ticket_type.event_id);
    set("UPDATE tickets SET status = 'CHECKED_IN'");
    refused(Reason::EventCancelled, ticket_type.event_id);
    set("UPDATE events SET status = 'PUBLISHED' WHERE status = 'CANCELLED'");
    refused(Reason::NotYetValid, ticket_type.event_id);
    fixture.set_clock("2026-06-21T00:00Z");
    refused(Reason::NoLongerValid, ticket_type.event_id);
    let no_end = UpdateTicketType::default().clear_valid_until();
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, no_end).expect("no end");
    refused(Reason::NotValidToday, ticket_type.event_id);
    let any_day = UpdateTicketType::default().allowed_dates(Vec::new());
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, any_day).expect("any day");
    refused(Reason::AlreadyCheckedIn, ticket_type.event_id);
    check_out(&fixture, &ticket).expect("out");
    assert_eq!(scan_at(&fixture, &ticket, ticket_type.event_id).expect("nothing refuses it any more").scan_count, 9);
}

#[test]
fn an_unknown_code_is_not_found() {
    let fixture = Fixture::new();
    let ticket = fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1).remove(0);
    for code in ["0", " ", "-", "00000000000000000000", &ticket.code[..19], &format!("{}0", ticket.code), "Ä"] {
        assert_not_found(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(code)));
        assert_not_found(fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new(code)));
    }
    assert_eq!(paths(fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(""))), ["code"]);
    assert_eq!(read(&fixture, &ticket).scan_count, 0);
}

#[test]
fn a_code_is_read_as_people_type_it_and_scanners_send_it() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 20);
    // The vectors of `rules::ticket` have every form.
    for form in [
        |code: &str| code.to_lowercase().chars().flat_map(|c| [c, ' ', '-']).collect(),
        |code: &str| format!("\u{FEFF}\t{code}\r\n"),
        |code: &str| code.replace('0', "o").replace('1', "L"),
    ] {
        let ticket = fixture.issue(&ticket_type, 1).remove(0);
        let typed = CheckInTicket::new(form(&ticket.code));
        let found = fixture.service.get_ticket_by_code(&fixture.caller, &typed.code).expect("found");
        assert_eq!(found.id, ticket.id, "{:?}", typed.code);
        assert_eq!(fixture.service.check_in_ticket(&fixture.caller, typed.clone()).expect("checked in").id, ticket.id);
        assert_eq!(fixture.service.check_out_ticket(&fixture.caller, typed).expect("checked out").id, ticket.id);
    }
}

#[test]
fn every_scan_is_counted_and_dated_even_if_it_is_refused() {
    let fixture = Fixture::new();
    let (_, ticket) = ticket_in_berlin(&fixture, |new| new.valid_from = Some(at("2026-06-10T00:00Z")));
    fixture.set_clock("2026-06-09T23:59:59.999Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::NotYetValid);
    let refused = read(&fixture, &ticket);
    assert_eq!((refused.scan_count, refused.last_scan_date), (1, Some(at("2026-06-09T23:59:59.999Z"))));
    assert_eq!((refused.first_scan_date, refused.expires_at, refused.check_in_date), (None, None, None));
    assert_eq!(refused.status, TicketStatus::NotCheckedIn);

    fixture.set_clock("2026-06-10T00:00Z");
    let checked_in = scan(&fixture, &ticket).expect("from this instant on");
    assert_eq!((checked_in.scan_count, checked_in.status), (2, TicketStatus::CheckedIn));
    let now = Some(at("2026-06-10T00:00Z"));
    assert_eq!((checked_in.first_scan_date, checked_in.last_scan_date, checked_in.check_in_date), (now, now, now));
    assert_eq!(checked_in, read(&fixture, &ticket));

    fixture.set_clock("2026-06-10T01:00Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::AlreadyCheckedIn);
    let refused = read(&fixture, &ticket);
    assert_eq!((refused.scan_count, refused.first_scan_date, refused.check_in_date), (3, now, now));
    assert_eq!(refused.last_scan_date, Some(at("2026-06-10T01:00Z")));
}

#[test]
fn a_ticket_is_refused_from_the_instant_its_validity_ends() {
    let fixture = Fixture::new();
    let (_, ticket) = ticket_in_berlin(&fixture, |new| new.valid_until = Some(at("2026-06-10T00:00Z")));
    fixture.set_clock("2026-06-10T00:00Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::NoLongerValid);
    fixture.set_clock("2026-06-09T23:59:59.999Z");
    scan(&fixture, &ticket).expect("just before");
}

#[test]
fn the_first_scan_sets_when_the_ticket_expires() {
    let fixture = Fixture::new();
    for (days, hours, first_scan, expires) in [
        (None, None, "2026-06-10T12:00Z", None),
        // Until midnight in Berlin: summer time is UTC+2.
        (Some(1), None, "2026-06-10T12:00Z", Some("2026-06-10T22:00Z")),
        (Some(2), None, "2026-06-10T12:00Z", Some("2026-06-11T22:00Z")),
        // 23:30 in Berlin, and half an hour later the next day there.
        (Some(1), None, "2026-06-10T21:30Z", Some("2026-06-10T22:00Z")),
        (Some(1), None, "2026-06-10T22:00Z", Some("2026-06-11T22:00Z")),
        // On 2026-10-25 the clock goes back to UTC+1: the third day is the 26th, and that day has 25 hours.
        (Some(3), None, "2026-10-24T10:00Z", Some("2026-10-26T23:00Z")),
        (Some(1), None, "2026-10-24T22:00Z", Some("2026-10-25T23:00Z")),
        (Some(1), None, "2026-10-24T21:59:59.999Z", Some("2026-10-24T22:00Z")),
        (None, Some(25), "2026-10-24T22:00Z", Some("2026-10-25T23:00Z")),
        (None, Some(1), "2026-10-25T00:30Z", Some("2026-10-25T01:30Z")),
        // The earlier of both.
        (Some(1), Some(48), "2026-06-10T12:00Z", Some("2026-06-10T22:00Z")),
        (Some(3), Some(5), "2026-06-10T12:00Z", Some("2026-06-10T17:00Z")),
        // The last midnight in Berlin and the last instant that a timestamp can represent.
        (Some(i64::MAX), None, "2026-06-10T12:00Z", Some("9999-12-31T23:00Z")),
        (None, Some(i64::MAX), "2026-06-10T12:00Z", Some("9999-12-31T23:59:59.999Z")),
    ] {
        fixture.set_clock(NOW);
        let (_, ticket) = ticket_in_berlin(&fixture, |new| {
            new.validity_days = days;
            new.validity_hours = hours;
        });
        fixture.set_clock(first_scan);
        let checked_in = scan(&fixture, &ticket).expect("checked in");
        assert_eq!(checked_in.expires_at, expires.map(at), "{days:?} days, {hours:?} hours from {first_scan}");
        check_out(&fixture, &ticket).expect("checked out");
        let Some(expires) = expires.map(at) else { continue };
        fixture.clock.set(expires.checked_sub(Duration::from_millis(1)).expect("after 1970"));
        let again = scan(&fixture, &ticket).expect("just before");
        assert_eq!(again.expires_at, Some(expires), "only the first scan sets it");
        check_out(&fixture, &ticket).expect("checked out");
        fixture.clock.set(expires);
        assert_eq!(reason(scan(&fixture, &ticket)), Reason::NoLongerValid, "{days:?} days, {hours:?} hours");
    }
}

#[test]
fn an_allowed_date_means_its_day_in_the_time_zone_of_the_event() {
    let fixture = Fixture::new();
    // 23:30 on the 9th in UTC is 01:30 on the 10th in Berlin.
    for (now, is_accepted) in [
        ("2026-06-09T21:59:59.999Z", false),
        ("2026-06-09T22:00Z", true),
        ("2026-06-10T21:59:59.999Z", true),
        ("2026-06-10T22:00Z", false),
    ] {
        fixture.set_clock(NOW);
        let (_, ticket) = ticket_in_berlin(&fixture, |new| new.allowed_dates = Some(vec![at("2026-06-09T23:30Z")]));
        fixture.set_clock(now);
        match is_accepted {
            true => assert_eq!(scan(&fixture, &ticket).expect(now).status, TicketStatus::CheckedIn),
            false => assert_eq!(reason(scan(&fixture, &ticket)), Reason::NotValidToday, "{now}"),
        }
    }
}

#[test]
fn a_ticket_for_several_days_is_accepted_again_on_a_later_day() {
    let fixture = Fixture::new();
    let days = || Some(vec![at("2026-06-10T10:00Z"), at("2026-06-11T10:00Z"), at("2026-06-13T10:00Z")]);
    let (_, ticket) = ticket_in_berlin(&fixture, |new| new.allowed_dates = days());
    fixture.set_clock("2026-06-10T10:00Z");
    scan(&fixture, &ticket).expect("the first day");
    // 23:59 in Berlin.
    fixture.set_clock("2026-06-10T21:59Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::AlreadyCheckedIn);
    // Midnight in Berlin.
    fixture.set_clock("2026-06-10T22:00Z");
    let again = scan(&fixture, &ticket).expect("the second day");
    assert_eq!(
        (again.check_in_date, again.first_scan_date),
        (Some(at("2026-06-10T22:00Z")), Some(at("2026-06-10T10:00Z")))
    );
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::AlreadyCheckedIn);
    fixture.set_clock("2026-06-12T10:00Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::NotValidToday);
    fixture.set_clock("2026-06-13T10:00Z");
    check_out(&fixture, &ticket).expect("checked out");
    scan(&fixture, &ticket).expect("after a check-out it is accepted on any day");

    fixture.set_clock(NOW);
    let (_, ticket) = ticket_in_berlin(&fixture, |new| new.validity_days = Some(2));
    fixture.set_clock("2026-06-10T10:00Z");
    scan(&fixture, &ticket).expect("the first day");
    fixture.set_clock("2026-06-11T10:00Z");
    scan(&fixture, &ticket).expect("the second day");
    fixture.set_clock("2026-06-12T10:00Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::NoLongerValid);
}

#[test]
fn a_ticket_for_one_day_or_for_hours_is_accepted_once() {
    let fixture = Fixture::new();
    let one_date = |new: &mut CreateTicketType| new.allowed_dates = Some(vec![at("2026-06-10T10:00Z")]);
    let hours = |new: &mut CreateTicketType| new.validity_hours = Some(100);
    let plain = |_: &mut CreateTicketType| {};
    let tickets = [
        ticket_in_berlin(&fixture, hours).1,
        ticket_in_berlin(&fixture, plain).1,
        ticket_in_berlin(&fixture, one_date).1,
    ];
    fixture.set_clock("2026-06-10T10:00Z");
    for ticket in &tickets {
        scan(&fixture, ticket).expect("checked in");
    }
    fixture.set_clock("2026-06-11T10:00Z");
    assert_eq!(reason(scan(&fixture, &tickets[0])), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&fixture, &tickets[1])), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&fixture, &tickets[2])), Reason::NotValidToday);
}

#[test]
fn a_ticket_whose_only_day_was_moved_is_accepted_once() {
    let fixture = Fixture::new();
    let (ticket_type, ticket) =
        ticket_in_berlin(&fixture, |new| new.allowed_dates = Some(vec![at("2026-06-10T10:00Z")]));
    fixture.set_clock("2026-06-10T10:00Z");
    scan(&fixture, &ticket).expect("checked in");
    let moved = UpdateTicketType::default().allowed_dates([at("2026-06-11T10:00Z")]);
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, moved).expect("another day");
    fixture.set_clock("2026-06-11T10:00Z");
    assert_eq!(reason(scan(&fixture, &ticket)), Reason::AlreadyCheckedIn, "it is valid for one day");
}

#[test]
fn a_check_out_ignores_validity_and_the_status_of_the_event() {
    let fixture = Fixture::new();
    let (ticket_type, ticket) = ticket_in_berlin(&fixture, |new| new.price = eur(0));
    let other_event = fixture.event();
    let check_out_at = |event| {
        let request = CheckInTicket::new(ticket.code.clone()).event(event);
        fixture.service.check_out_ticket(&fixture.caller, request)
    };
    assert_eq!(reason(check_out_at(other_event.id)), Reason::WrongEvent);
    assert_eq!(reason(check_out_at(ticket_type.event_id)), Reason::NotCheckedIn);
    let before = read(&fixture, &ticket);
    assert_eq!((before.scan_count, before.last_scan_date), (0, None), "a check-out is not a scan");

    scan(&fixture, &ticket).expect("checked in");
    let over = UpdateTicketType::default().valid_until(at("2026-06-02T00:00Z"));
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, over).expect("an end");
    fixture.set_event_status(ticket_type.event_id, EventStatus::Cancelled).expect("cancelled");
    fixture.set_clock("2026-06-03T00:00Z");
    let checked_out = check_out_at(ticket_type.event_id).expect("a visitor who is inside may leave");
    assert_eq!(
        (checked_out.status, checked_out.check_out_date),
        (TicketStatus::NotCheckedIn, Some(at("2026-06-03T00:00Z")))
    );
    assert_eq!(
        (checked_out.check_in_date, checked_out.scan_count, checked_out.last_scan_date),
        (Some(at(NOW)), 1, Some(at(NOW)))
    );
    assert_eq!(checked_out, read(&fixture, &ticket));

    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    assert_eq!(reason(check_out_at(other_event.id)), Reason::WrongEvent);
    assert_eq!(reason(check_out_at(ticket_type.event_id)), Reason::TicketCancelled);
}

#[test]
fn the_dates_are_those_of_the_last_check_in_and_the_last_check_out() {
    let fixture = Fixture::new();
    let (_, ticket) = ticket_in_berlin(&fixture, |_| {});
    scan(&fixture, &ticket).expect("checked in");
    fixture.set_clock("2026-06-01T13:00Z");
    check_out(&fixture, &ticket).expect("checked out");
    fixture.set_clock("2026-06-01T14:00Z");
    let again = scan(&fixture, &ticket).expect("checked in again");
    assert_eq!(
        (again.check_in_date, again.check_out_date),
        (Some(at("2026-06-01T14:00Z")), Some(at("2026-06-01T13:00Z")))
    );
    assert_eq!((again.first_scan_date, again.scan_count), (Some(at(NOW)), 2));
    assert_eq!(again, read(&fixture, &ticket));
}

#[test]
fn a_ticket_names_the_key_of_its_last_accepted_check_in() {
    let fixture = Fixture::new();
    let (_, ticket) = ticket_in_berlin(&fixture, |_| {});
    let key = |name: &str| {
        let request = CreateApiKey::new(name).scopes([Scope::TicketsCheckIn]);
        let created = fixture.service.create_api_key(fixture.caller.organization(), request).expect("a key");
        (created.api_key.id, fixture.service.authenticate(&created.key).expect("a caller"))
    };
    let ((north_key, at_north), (_, at_south)) = (key("north"), key("south"));
    let scan_by = |caller| fixture.service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
    assert_eq!(scan_by(&at_north).expect("checked in").checked_in_by_id, Some(north_key));
    assert_eq!(reason(scan_by(&at_south)), Reason::AlreadyCheckedIn);
    assert_eq!(read(&fixture, &ticket).checked_in_by_id, Some(north_key), "the key of the last accepted check-in");
    let out = fixture.service.check_out_ticket(&at_south, CheckInTicket::new(&ticket.code)).expect("checked out");
    assert_eq!(out.checked_in_by_id, Some(north_key));
    assert_eq!(scan(&fixture, &ticket).expect("checked in").checked_in_by_id, None, "a caller without an API key");
}

#[test]
fn a_ticket_of_a_sold_out_or_ended_event_is_accepted() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 0, 2);
    let tickets = fixture.issue(&ticket_type, 2);
    assert_eq!(fixture.event_status(ticket_type.event_id), EventStatus::SoldOut);
    scan(&fixture, &tickets[0]).expect("sold out");
    fixture.set_clock(EVENT_END);
    scan(&fixture, &tickets[1]).expect("an event that has ended: only the ticket's own validity counts");
}
