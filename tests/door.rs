//! The door: who enters, in which order refusals are given, what a scan leaves behind, and who leaves.

mod common;

use common::*;
use ticketing::{
    Change, CheckInTicket, CreateApiKey, CreateTicketType, EventId, EventStatus, IssuedTicket, NewTicket, Reason,
    Result, Scope, TicketStatus, TicketType, UpdateTicketType,
};

fn scan(shop: &Shop, ticket: &NewTicket) -> Result<IssuedTicket> {
    shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(&ticket.code))
}

fn scan_at(shop: &Shop, ticket: &NewTicket, event: EventId) -> Result<IssuedTicket> {
    let request = CheckInTicket { code: ticket.code.clone(), event_id: Some(event) };
    shop.service.check_in_ticket(&shop.caller, request)
}

fn leave(shop: &Shop, ticket: &NewTicket) -> Result<IssuedTicket> {
    shop.service.check_out_ticket(&shop.caller, CheckInTicket::new(&ticket.code))
}

fn read(shop: &Shop, ticket: &NewTicket) -> IssuedTicket {
    shop.service.get_ticket(&shop.caller, ticket.id).expect("the ticket")
}

/// A ticket of a type in an event in Berlin.
fn berlin(shop: &Shop, change: impl FnOnce(&mut CreateTicketType)) -> (TicketType, NewTicket) {
    let event = shop.event_with(|new| {
        new.timezone = Some("Europe/Berlin".to_owned());
        new.end_date = Some(at("2027-01-01T00:00Z"));
    });
    let seat = shop.ticket_type_with(&event, change);
    let ticket = shop.issue(&seat, 1).remove(0);
    (seat, ticket)
}

/// What keeps a ticket out, in the order in which it is told, with what takes it away. Each row still meets every later one.
#[test]
fn where_several_refusals_apply_to_a_scan_the_first_is_given() {
    let shop = Shop::new();
    let (seat, ticket) = berlin(&shop, |new| new.price = eur(1250));
    // Inside, cancelled with its event, at the wrong door, outside of every time it is good for.
    shop.turn("2026-06-10T12:00Z");
    scan(&shop, &ticket).expect("nothing is in the way yet");
    let set = |sql: &str| {
        let file = rusqlite::Connection::open(shop.file()).expect("the file");
        assert_eq!(file.execute(sql, []).expect(sql), 1, "{sql}");
    };
    let limits = UpdateTicketType {
        valid_from: Change::Set(Some(at("2026-06-20T00:00Z"))),
        valid_until: Change::Set(Some(at("2026-06-21T00:00Z"))),
        allowed_dates: Change::Set(vec![at("2026-06-15T12:00Z")]),
        ..Default::default()
    };
    shop.service.update_ticket_type(&shop.caller, seat.id, limits).expect("limits");
    shop.move_event(seat.event_id, EventStatus::Cancelled).expect("cancelled");
    set("UPDATE tickets SET status = 'CANCELLED'");
    let elsewhere = shop.event();

    let mut scans = 1;
    let mut refused = |expected: Reason, event: EventId| {
        assert_eq!(reason(scan_at(&shop, &ticket, event)), expected);
        scans += 1;
        assert_eq!(read(&shop, &ticket).scan_count, scans, "{expected}: a refused scan counts");
    };
    refused(Reason::WrongEvent, elsewhere.id);
    refused(Reason::TicketCancelled, seat.event_id);
    set("UPDATE tickets SET status = 'CHECKED_IN'");
    refused(Reason::EventCancelled, seat.event_id);
    set("UPDATE events SET status = 'PUBLISHED' WHERE status = 'CANCELLED'");
    refused(Reason::NotYetValid, seat.event_id);
    shop.turn("2026-06-21T00:00Z");
    refused(Reason::NoLongerValid, seat.event_id);
    let endless = UpdateTicketType { valid_until: Change::Set(None), ..Default::default() };
    shop.service.update_ticket_type(&shop.caller, seat.id, endless).expect("no end");
    refused(Reason::NotValidToday, seat.event_id);
    let any_day = UpdateTicketType { allowed_dates: Change::Set(Vec::new()), ..Default::default() };
    shop.service.update_ticket_type(&shop.caller, seat.id, any_day).expect("any day");
    refused(Reason::AlreadyCheckedIn, seat.event_id);
    leave(&shop, &ticket).expect("out");
    assert_eq!(scan_at(&shop, &ticket, seat.event_id).expect("nothing is in the way").scan_count, 9);
}

#[test]
fn an_unknown_code_is_not_found() {
    let shop = Shop::new();
    let ticket = shop.issue(&shop.ticket_type(&shop.event(), 0, 10), 1).remove(0);
    for code in ["0", " ", "-", "00000000000000000000", &ticket.code[..19], &format!("{}0", ticket.code), "Ä"] {
        is_not_found(shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(code)));
        is_not_found(shop.service.check_out_ticket(&shop.caller, CheckInTicket::new(code)));
    }
    assert_eq!(paths(shop.service.check_in_ticket(&shop.caller, CheckInTicket::new(""))), ["code"]);
    assert_eq!(read(&shop, &ticket).scan_count, 0);
}

#[test]
fn a_code_is_read_however_it_was_typed() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 0, 10);
    for form in [
        |code: &str| code.to_lowercase(),
        |code: &str| format!("  {code} "),
        |code: &str| format!("{}-{}-{}", &code[..5], &code[5..10], &code[10..]),
        |code: &str| code.to_lowercase().chars().flat_map(|c| [c, ' ', '-']).collect(),
    ] {
        let ticket = shop.issue(&seat, 1).remove(0);
        let typed = CheckInTicket::new(form(&ticket.code));
        assert_eq!(shop.service.check_in_ticket(&shop.caller, typed.clone()).expect("inside").id, ticket.id);
        assert_eq!(shop.service.check_out_ticket(&shop.caller, typed).expect("outside").id, ticket.id);
    }
}

#[test]
fn every_scan_of_a_ticket_is_counted_and_dated_also_a_refused_one() {
    let shop = Shop::new();
    let (_, ticket) = berlin(&shop, |new| new.valid_from = Some(at("2026-06-10T00:00Z")));
    shop.turn("2026-06-09T23:59:59.999Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::NotYetValid);
    let refused = read(&shop, &ticket);
    assert_eq!((refused.scan_count, refused.last_scan_date), (1, Some(at("2026-06-09T23:59:59.999Z"))));
    assert_eq!((refused.first_scan_date, refused.expires_at, refused.check_in_date), (None, None, None));
    assert_eq!(refused.status, TicketStatus::NotCheckedIn);

    shop.turn("2026-06-10T00:00Z");
    let inside = scan(&shop, &ticket).expect("from this instant on");
    assert_eq!((inside.scan_count, inside.status), (2, TicketStatus::CheckedIn));
    let now = Some(at("2026-06-10T00:00Z"));
    assert_eq!((inside.first_scan_date, inside.last_scan_date, inside.check_in_date), (now, now, now));
    assert_eq!(inside, read(&shop, &ticket));

    shop.turn("2026-06-10T01:00Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::AlreadyCheckedIn);
    let refused = read(&shop, &ticket);
    assert_eq!((refused.scan_count, refused.first_scan_date, refused.check_in_date), (3, now, now));
    assert_eq!(refused.last_scan_date, Some(at("2026-06-10T01:00Z")));
}

#[test]
fn a_ticket_is_refused_from_the_instant_at_which_it_is_no_longer_valid() {
    let shop = Shop::new();
    let (_, ticket) = berlin(&shop, |new| new.valid_until = Some(at("2026-06-10T00:00Z")));
    shop.turn("2026-06-10T00:00Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::NoLongerValid);
    shop.turn("2026-06-09T23:59:59.999Z");
    scan(&shop, &ticket).expect("just before");
}

#[test]
fn a_first_scan_sets_the_instant_from_which_the_ticket_is_refused() {
    let shop = Shop::new();
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
        // The last midnight in Berlin, and the last instant, that have a text.
        (Some(i64::MAX), None, "2026-06-10T12:00Z", Some("9999-12-31T23:00Z")),
        (None, Some(i64::MAX), "2026-06-10T12:00Z", Some("9999-12-31T23:59:59.999Z")),
    ] {
        shop.turn(NOW);
        let (_, ticket) = berlin(&shop, |new| (new.validity_days, new.validity_hours) = (days, hours));
        shop.turn(first_scan);
        let inside = scan(&shop, &ticket).expect("inside");
        assert_eq!(inside.expires_at, expires.map(at), "{days:?} days, {hours:?} hours from {first_scan}");
        leave(&shop, &ticket).expect("outside");
        let Some(expires) = expires.map(at) else { continue };
        shop.clock.set(ticketing::Timestamp::from_millis(expires.millis() - 1));
        let again = scan(&shop, &ticket).expect("just before");
        assert_eq!(again.expires_at, Some(expires), "the first scan alone sets it");
        leave(&shop, &ticket).expect("outside");
        shop.clock.set(expires);
        assert_eq!(reason(scan(&shop, &ticket)), Reason::NoLongerValid, "{days:?} days, {hours:?} hours");
    }
}

#[test]
fn an_allowed_date_stands_for_its_day_in_the_time_zone_of_the_event() {
    let shop = Shop::new();
    // 23:30 on the 9th in UTC is 01:30 on the 10th in Berlin.
    for (now, enters) in [
        ("2026-06-09T21:59:59.999Z", false),
        ("2026-06-09T22:00Z", true),
        ("2026-06-10T21:59:59.999Z", true),
        ("2026-06-10T22:00Z", false),
    ] {
        shop.turn(NOW);
        let (_, ticket) = berlin(&shop, |new| new.allowed_dates = Some(vec![at("2026-06-09T23:30Z")]));
        shop.turn(now);
        match enters {
            true => assert_eq!(scan(&shop, &ticket).expect(now).status, TicketStatus::CheckedIn),
            false => assert_eq!(reason(scan(&shop, &ticket)), Reason::NotValidToday, "{now}"),
        }
    }
}

#[test]
fn a_ticket_for_several_days_lets_in_again_on_a_later_day() {
    let shop = Shop::new();
    let days = || Some(vec![at("2026-06-10T10:00Z"), at("2026-06-11T10:00Z"), at("2026-06-13T10:00Z")]);
    let (_, ticket) = berlin(&shop, |new| new.allowed_dates = days());
    shop.turn("2026-06-10T10:00Z");
    scan(&shop, &ticket).expect("the first day");
    // 23:59 in Berlin.
    shop.turn("2026-06-10T21:59Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::AlreadyCheckedIn);
    // Midnight in Berlin.
    shop.turn("2026-06-10T22:00Z");
    let again = scan(&shop, &ticket).expect("the second day");
    assert_eq!(
        (again.check_in_date, again.first_scan_date),
        (Some(at("2026-06-10T22:00Z")), Some(at("2026-06-10T10:00Z")))
    );
    assert_eq!(reason(scan(&shop, &ticket)), Reason::AlreadyCheckedIn);
    shop.turn("2026-06-12T10:00Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::NotValidToday);
    shop.turn("2026-06-13T10:00Z");
    leave(&shop, &ticket).expect("outside");
    scan(&shop, &ticket).expect("a check-out lets in again on any day");

    shop.turn(NOW);
    let (_, ticket) = berlin(&shop, |new| new.validity_days = Some(2));
    shop.turn("2026-06-10T10:00Z");
    scan(&shop, &ticket).expect("the first day");
    shop.turn("2026-06-11T10:00Z");
    scan(&shop, &ticket).expect("the second day");
    shop.turn("2026-06-12T10:00Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::NoLongerValid);
}

#[test]
fn a_ticket_for_one_day_or_for_hours_does_not_let_in_again() {
    let shop = Shop::new();
    let one_date = |new: &mut CreateTicketType| new.allowed_dates = Some(vec![at("2026-06-10T10:00Z")]);
    let hours = |new: &mut CreateTicketType| new.validity_hours = Some(100);
    let plain = |_: &mut CreateTicketType| {};
    let tickets = [berlin(&shop, hours).1, berlin(&shop, plain).1, berlin(&shop, one_date).1];
    shop.turn("2026-06-10T10:00Z");
    for ticket in &tickets {
        scan(&shop, ticket).expect("inside");
    }
    shop.turn("2026-06-11T10:00Z");
    assert_eq!(reason(scan(&shop, &tickets[0])), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&shop, &tickets[1])), Reason::AlreadyCheckedIn);
    assert_eq!(reason(scan(&shop, &tickets[2])), Reason::NotValidToday);
}

#[test]
fn a_ticket_whose_one_day_was_moved_does_not_let_in_again() {
    let shop = Shop::new();
    let (seat, ticket) = berlin(&shop, |new| new.allowed_dates = Some(vec![at("2026-06-10T10:00Z")]));
    shop.turn("2026-06-10T10:00Z");
    scan(&shop, &ticket).expect("inside");
    let moved = UpdateTicketType { allowed_dates: Change::Set(vec![at("2026-06-11T10:00Z")]), ..Default::default() };
    shop.service.update_ticket_type(&shop.caller, seat.id, moved).expect("another day");
    shop.turn("2026-06-11T10:00Z");
    assert_eq!(reason(scan(&shop, &ticket)), Reason::AlreadyCheckedIn, "it is for one day, whichever");
}

#[test]
fn a_check_out_is_refused_in_its_order_and_judges_neither_validity_nor_the_event() {
    let shop = Shop::new();
    let (seat, ticket) = berlin(&shop, |new| new.price = eur(0));
    let elsewhere = shop.event();
    let leave_at = |event| {
        let request = CheckInTicket { code: ticket.code.clone(), event_id: Some(event) };
        shop.service.check_out_ticket(&shop.caller, request)
    };
    assert_eq!(reason(leave_at(elsewhere.id)), Reason::WrongEvent);
    assert_eq!(reason(leave_at(seat.event_id)), Reason::NotCheckedIn);
    let before = read(&shop, &ticket);
    assert_eq!((before.scan_count, before.last_scan_date), (0, None), "it is no scan");

    scan(&shop, &ticket).expect("inside");
    let over = UpdateTicketType { valid_until: Change::Set(Some(at("2026-06-02T00:00Z"))), ..Default::default() };
    shop.service.update_ticket_type(&shop.caller, seat.id, over).expect("an end");
    shop.move_event(seat.event_id, EventStatus::Cancelled).expect("cancelled");
    shop.turn("2026-06-03T00:00Z");
    let outside = leave_at(seat.event_id).expect("who is inside may leave");
    assert_eq!((outside.status, outside.check_out_date), (TicketStatus::NotCheckedIn, Some(at("2026-06-03T00:00Z"))));
    assert_eq!((outside.check_in_date, outside.scan_count, outside.last_scan_date), (Some(at(NOW)), 1, Some(at(NOW))));
    assert_eq!(outside, read(&shop, &ticket));

    shop.service.cancel_ticket(&shop.caller, ticket.id).expect("cancelled");
    assert_eq!(reason(leave_at(elsewhere.id)), Reason::WrongEvent);
    assert_eq!(reason(leave_at(seat.event_id)), Reason::TicketCancelled);
}

#[test]
fn a_check_in_after_a_check_out_dates_the_last_of_each() {
    let shop = Shop::new();
    let (_, ticket) = berlin(&shop, |_| {});
    scan(&shop, &ticket).expect("inside");
    shop.turn("2026-06-01T13:00Z");
    leave(&shop, &ticket).expect("outside");
    shop.turn("2026-06-01T14:00Z");
    let again = scan(&shop, &ticket).expect("inside again");
    assert_eq!(
        (again.check_in_date, again.check_out_date),
        (Some(at("2026-06-01T14:00Z")), Some(at("2026-06-01T13:00Z")))
    );
    assert_eq!((again.first_scan_date, again.scan_count), (Some(at(NOW)), 2));
    assert_eq!(again, read(&shop, &ticket));
}

#[test]
fn a_ticket_names_the_key_that_let_its_holder_in_last() {
    let shop = Shop::new();
    let (_, ticket) = berlin(&shop, |_| {});
    let key = |name: &str| {
        let request = CreateApiKey {
            name: name.to_owned(),
            scopes: [Scope::TicketsCheckIn].into_iter().collect(),
            expires_at: None,
        };
        let created = shop.service.create_api_key(shop.caller.organization(), request).expect("a key");
        (created.api_key.id, shop.service.authenticate(created.key.expose()).expect("a caller"))
    };
    let ((north, at_north), (_, at_south)) = (key("north"), key("south"));
    let scan_by = |caller| shop.service.check_in_ticket(caller, CheckInTicket::new(&ticket.code));
    assert_eq!(scan_by(&at_north).expect("inside").checked_in_by_id, Some(north));
    assert_eq!(reason(scan_by(&at_south)), Reason::AlreadyCheckedIn);
    assert_eq!(read(&shop, &ticket).checked_in_by_id, Some(north), "of the last accepted check-in");
    let out = shop.service.check_out_ticket(&at_south, CheckInTicket::new(&ticket.code)).expect("outside");
    assert_eq!(out.checked_in_by_id, Some(north));
    assert_eq!(scan(&shop, &ticket).expect("inside").checked_in_by_id, None, "the program itself has no key");
}

#[test]
fn a_ticket_of_an_event_that_is_over_or_sold_out_enters() {
    let shop = Shop::new();
    let seat = shop.ticket_type(&shop.event(), 0, 2);
    let tickets = shop.issue(&seat, 2);
    assert_eq!(shop.event_status(seat.event_id), EventStatus::SoldOut);
    scan(&shop, &tickets[0]).expect("sold out");
    shop.turn(END);
    scan(&shop, &tickets[1]).expect("over: the ticket's own limits decide");
}

#[test]
fn of_two_scans_at_once_exactly_one_is_accepted() {
    let shop = Shop::new();
    let second = shop.second();
    for ticket in shop.issue(&shop.ticket_type(&shop.event(), 0, 100), 10) {
        let accepted = std::thread::scope(|scope| {
            let doors = [&shop.service, &second, &shop.service, &second]
                .map(|service| scope.spawn(|| service.check_in_ticket(&shop.caller, CheckInTicket::new(&ticket.code))));
            doors.into_iter().map(|door| door.join().expect("no panic")).filter(Result::is_ok).count()
        });
        assert_eq!((accepted, read(&shop, &ticket).scan_count), (1, 4));
    }
}
