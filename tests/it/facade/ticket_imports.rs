//! Tickets that were sold elsewhere: imported with the codes of their seller, and checked in like others.

use ticketing::allocation::{AllocationState, ImportTickets, ImportedHolder, ImportedTicket, TicketImport};
use ticketing::error::Reason;
use ticketing::event::EventStatus;
use ticketing::ticket::{CheckInTicket, FindTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;
use ticketing::{Error, Result};

use crate::common::door::let_in;
use crate::common::*;

fn codes<const N: usize>(codes: [&str; N]) -> ImportTickets {
    ImportTickets::new("Box office", codes.map(ImportedTicket::new))
}

fn import(fixture: &Fixture, ticket_type: &TicketType, request: ImportTickets) -> Result<TicketImport> {
    fixture.service.import_tickets(&fixture.caller, ticket_type.id, request)
}

fn scan(fixture: &Fixture, scan: CheckInTicket) -> Result<ticketing::ticket::IssuedTicket> {
    fixture.service.check_in_ticket(&fixture.caller, scan)
}

#[test]
fn imported_tickets_have_no_order_no_money_and_no_notifications() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    fixture.webhook(EventType::ALL.iter().copied());
    let holder = ImportedHolder::new("Grace Hopper", "grace@example.com");
    let tickets = [
        ImportedTicket::new("4006381333931").label("Row 3, seat 7").holder(holder),
        ImportedTicket::new(" https://example.com/t/abc?x=1 "),
    ];
    let import = import(&fixture, &ticket_type, ImportTickets::new("Box office", tickets)).expect("imported");
    assert_eq!((import.imported, import.allocation.name.as_str()), (2, "Box office"));
    assert_eq!((import.allocation.imported, import.allocation.state), (true, AllocationState::Complete));
    assert_eq!((import.allocation.quantity, import.allocation.issued), (2, 2));
    assert_eq!(fixture.outbox().len(), 0);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM payments"), 0);
    let request = ListTickets::new().allocation(import.allocation.id);
    let listed = fixture.service.list_tickets(&fixture.caller, request).expect("tickets").data;
    let [second, first] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((first.code.as_str(), first.ticket_label.as_deref()), ("4006381333931", Some("Row 3, seat 7")));
    assert_eq!(first.customer.as_ref().expect("a holder").email, "grace@example.com");
    assert_eq!((second.code.as_str(), second.ticket_label.as_deref()), ("https://example.com/t/abc?x=1", None));
    assert_eq!((&second.customer, second.is_internal), (&None, true));
    let summary = fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary");
    let of_type = &summary.ticket_types[0];
    assert_eq!((of_type.sold, of_type.issued_without_order, of_type.imported), (2, 0, 2));
    assert_eq!((summary.gross_revenue, summary.tickets_issued), (eur(0), 2));

    let more = ImportTickets::add_to(import.allocation.id, [ImportedTicket::new("third-1")]).notify(true);
    let more = self::import(&fixture, &ticket_type, more).expect("imported");
    assert_eq!((more.allocation.id, more.allocation.quantity, more.allocation.issued), (import.allocation.id, 3, 3));
    assert_eq!(fixture.outbox().into_iter().map(|row| row.kind).collect::<Vec<_>>(), ["ticket.issued"]);
}

#[test]
fn codes_that_are_not_possible_are_listed_and_nothing_is_imported() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let long = "x".repeat(201);
    let before = fixture.all_rows();
    // Ours in small letters and groups, with letters that are read as digits.
    let request = codes(["12345", &long, "two words", "straße-1", "ol234-56789-abcde-fghjk", "same-code", "same-code"]);
    let errors = import(&fixture, ticket_type, request).unwrap_err();
    let listed: Vec<_> = errors.fields().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(listed, [0, 1, 2, 3, 4, 6].map(|index| format!("tickets[{index}].code")));
    assert_eq!(errors.fields()[5].message, "must not repeat that of tickets[5]");
    for (name, allocation) in [(None, None), (Some("x".to_owned()), Some("allocation_0000000000001".parse().unwrap()))]
    {
        let mut request = codes(["123456"]);
        request.name = name;
        request.allocation_id = allocation;
        let refused = paths(import(&fixture, ticket_type, request));
        assert!(refused.contains(&"name".to_owned()), "{refused:?}");
    }
    assert_eq!(fixture.all_rows(), before);
    import(&fixture, ticket_type, codes(["123456", &long[1..]])).expect("6 and 200 characters");
}

#[test]
fn a_code_is_unique_among_the_valid_tickets_of_an_event() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let types = [(); 2].map(|()| fixture.ticket_type(&event, 1250, 10));
    let elsewhere = fixture.ticket_type(&other, 1250, 10);
    import(&fixture, &types[0], codes(["AAA-111", "aaa-111"])).expect("compared exactly");
    let before = fixture.all_rows();
    let refused = import(&fixture, &types[1], codes(["new-code", "aaa-111", "AAA-111"])).unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::CodeTaken));
    let listed: Vec<_> = refused.fields().iter().map(|error| error.path.as_str()).collect();
    assert_eq!(listed, ["tickets[1].code", "tickets[2].code"]);
    assert_eq!(fixture.all_rows(), before);
    import(&fixture, &elsewhere, codes(["AAA-111"])).expect("another event");
    let ticket =
        fixture.service.get_ticket_by_code(&fixture.caller, FindTicket::new("AAA-111").event(event.id)).unwrap();
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    let again = import(&fixture, &types[1], codes(["AAA-111"])).expect("a cancelled code can be imported again");
    let found =
        fixture.service.get_ticket_by_code(&fixture.caller, FindTicket::new("AAA-111").event(event.id)).unwrap();
    assert_eq!((found.internal_allocation_id, found.status), (Some(again.allocation.id), TicketStatus::NotCheckedIn));
}

#[test]
fn an_import_takes_seats_and_says_how_many_are_left() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 2);
    let refused = import(&fixture, &ticket_type, codes(["code-1", "code-2", "code-3"]));
    assert_eq!(refused.as_ref().unwrap_err().to_string(), "2 seats of the ticket type Seat are left");
    assert_eq!(reason(refused), Reason::SoldOut);
    import(&fixture, &ticket_type, codes(["code-1", "code-2"])).expect("imported");
    assert_eq!(fixture.event_status(event.id), EventStatus::SoldOut);
    assert_eq!(reason(fixture.try_issue(ticket_type.id, 1)), Reason::SoldOut);
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    assert_eq!(reason(import(&fixture, &ticket_type, codes(["code-4"]))), Reason::EventCancelled);
}

#[test]
fn a_scan_finds_the_exact_text_and_white_space_at_its_ends_is_cut() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    import(&fixture, ticket_type, codes(["Code-0001-O", "https://t.example/?id=7"])).expect("imported");
    assert_not_found(scan(&fixture, CheckInTicket::new("code-0001-o")));
    assert_not_found(scan(&fixture, CheckInTicket::new("Code00010")));
    assert_eq!(scan(&fixture, CheckInTicket::new("Code-0001-O\r\n")).expect("in").code, "Code-0001-O");
    assert_eq!(reason(scan(&fixture, CheckInTicket::new("Code-0001-O"))), Reason::AlreadyCheckedIn);
    let out = fixture.service.check_out_ticket(&fixture.caller, CheckInTicket::new("\tCode-0001-O "));
    assert_eq!(out.expect("out").status, TicketStatus::NotCheckedIn);
    let url = scan(&fixture, CheckInTicket::new("https://t.example/?id=7")).expect("in");
    assert_eq!(url.status, TicketStatus::CheckedIn);
    let own = fixture.issue(ticket_type, 1).remove(0);
    let spaced = own.code.to_lowercase().chars().map(|letter| format!("{letter} ")).collect::<String>();
    assert_eq!(scan(&fixture, CheckInTicket::new(spaced)).expect("in").id, own.id);
}

#[test]
fn a_code_of_several_events_needs_the_event() {
    let fixture = Fixture::new();
    let events = [(); 2].map(|()| fixture.event());
    let types = [0, 1].map(|index| fixture.ticket_type(&events[index], 1250, 10));
    for ticket_type in &types {
        import(&fixture, ticket_type, codes(["0000000017"])).expect("imported");
    }
    let scan_at = |event: Option<usize>| {
        let request = CheckInTicket::new("0000000017");
        event.map_or(request.clone(), |event| request.event(events[event].id))
    };
    assert_eq!(reason(scan(&fixture, scan_at(None))), Reason::AmbiguousCode);
    let out = fixture.service.check_out_ticket(&fixture.caller, scan_at(None));
    assert_eq!(reason(out), Reason::AmbiguousCode);
    let found = fixture.service.get_ticket_by_code(&fixture.caller, "0000000017");
    assert_eq!(reason(found), Reason::AmbiguousCode);
    assert_eq!(scan(&fixture, scan_at(Some(1))).expect("in").ticket_type_id, types[1].id);
    let gate = fixture.gate(&events[0]);
    let admitted = fixture.service.check_in_ticket(&gate, scan_at(None)).expect("a key of one event is clear");
    assert_eq!(admitted.ticket_type_id, types[0].id);

    // The code of one other event only.
    import(&fixture, &types[0], codes(["0000000018"])).expect("imported");
    let elsewhere = CheckInTicket::new("0000000018").event(events[1].id);
    assert_eq!(reason(scan(&fixture, elsewhere)), Reason::WrongEvent);
    assert_not_found(
        fixture.service.get_ticket_by_code(&fixture.caller, FindTicket::new("0000000018").event(events[1].id)),
    );
    let stranger = fixture.other_organization();
    assert_not_found(fixture.service.get_ticket_by_code(&stranger, "0000000018"));
    // A cancelled ticket is known as such.
    let ticket = fixture.service.get_ticket_by_code(&fixture.caller, "0000000018").expect("the ticket");
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    let refused = scan(&fixture, CheckInTicket::new("0000000018").event(events[0].id));
    assert_eq!(reason(refused), Reason::TicketCancelled);
}

#[test]
fn an_imported_ticket_is_not_assigned_and_a_cancelled_import_gets_no_more() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let allocation = import(&fixture, ticket_type, codes(["code-1", "code-2"])).expect("imported").allocation;
    let ticket = fixture.service.get_ticket_by_code(&fixture.caller, "code-1").expect("the ticket");
    let refused = fixture.service.assign_ticket(&fixture.caller, ticket.id, new_customer());
    assert_eq!(reason(refused), Reason::TicketImported);
    fixture.service.cancel_allocation(&fixture.caller, allocation.id).expect("cancelled");
    let add = || ImportTickets::add_to(allocation.id, [ImportedTicket::new("code-3")]);
    assert_eq!(reason(import(&fixture, ticket_type, add())), Reason::AllocationNotComplete);
    fixture.service.run_maintenance().expect("a run");
    let cancelled = fixture.service.get_allocation(&fixture.caller, allocation.id).expect("the allocation");
    assert_eq!((cancelled.state, cancelled.cancelled), (AllocationState::Cancelled, 2));
    assert_eq!(reason(import(&fixture, ticket_type, add())), Reason::AllocationNotComplete);
    let other_type = fixture.new_ticket_type(1250, 10);
    assert_eq!(paths(import(&fixture, &other_type, add())), ["allocationId"]);
    import(&fixture, ticket_type, codes(["code-1", "code-2"])).expect("their codes are free");
}

#[test]
fn phones_find_imported_codes_by_their_hashes() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    import(&fixture, &ticket_type, codes(["4006381333931"])).expect("imported");
    let gate = fixture.gate(&event);
    let roster = fixture.roster(&gate, &event);
    // `printf '%s' "roster${EVENT}4006381333931" | sha256sum`, the first 12 bytes in base64url.
    let digest = <sha2::Sha256 as sha2::Digest>::digest(format!("roster{}4006381333931", event.id));
    let hash = base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, &digest[..12]);
    assert_eq!(roster.tickets[0].hash, hash);
    let results = fixture.report(&gate, "Phone", [let_in(1, "4006381333931\n", NOW), let_in(2, "4006381333932", NOW)]);
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome.as_str()).collect();
    assert_eq!(outcomes, ["ADMITTED", "UNKNOWN_CODE"]);
}

#[test]
fn a_thousand_tickets_of_the_largest_size_are_one_import() {
    let fixture = Fixture::new();
    let ticket_type = fixture.default_ticket_type();
    let ticket = |number: usize| {
        let holder = ImportedHolder::new("n".repeat(255), format!("{number}@{}.example", "d".repeat(60)));
        ImportedTicket::new(format!("{number:0>200}")).label("l".repeat(100)).holder(holder)
    };
    let tickets = |count: usize| ImportTickets::new("Partner", (0..count).map(ticket));
    assert_eq!(paths(import(&fixture, ticket_type, tickets(1001))), ["tickets"]);
    assert_eq!(import(&fixture, ticket_type, tickets(1000)).expect("imported").imported, 1000);
    let refused = import(&fixture, ticket_type, tickets(1000)).unwrap_err();
    assert!(matches!(refused, Error::Conflict(_)), "{refused}");
    assert_eq!(refused.fields().len(), 100);
}
