//! Check-in on devices: keys of one event, the roster, and scans that are reported later.

use std::collections::BTreeSet;
use std::time::Duration;

use sha2::{Digest, Sha256};
use ticketing::Error;
use ticketing::door::{
    CreateDoorLink, GetRoster, ListDoorLinks, ListScans, LoggedKind, NewScan, ScanKind, ScanOutcome, UploadScans,
    Verdict,
};
use ticketing::environment::Clock;
use ticketing::error::{Reason, ResourceKind};
use ticketing::event::{Event, EventStatus};
use ticketing::organization::{CreateApiKey, Scope, Scopes};
use ticketing::ticket::{CheckInTicket, TicketStatus};
use ticketing::ticket_type::UpdateTicketType;
use ticketing::webhook::EventType;

use crate::common::door::{decided, let_in, let_out, scan_id};
use crate::common::threads::run_at_once;
use crate::common::*;

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn digest(purpose: &str, event: impl ToString, code: &str) -> Vec<u8> {
    Sha256::digest(format!("{purpose}{}{code}", event.to_string())).to_vec()
}

fn outcomes(results: &[ticketing::door::ScanResult]) -> Vec<ScanOutcome> {
    results.iter().map(|result| result.outcome).collect()
}

#[test]
fn a_link_leads_to_the_page_with_a_key_of_the_event() {
    let fixture = Fixture::with(|builder| builder.public_url("https://tickets.example.com/shop/"));
    let event = fixture.event();
    let request = CreateDoorLink::new("Gate A");
    let created = fixture.service.create_door_link(&fixture.caller, event.id, request).expect("a link");
    let (start, key) = created.url.expose().rsplit_once('/').expect("the key");
    assert_eq!(start, format!("https://tickets.example.com/shop/door/#{}", event.id));
    let until = at("2026-07-02T04:00:00Z");
    assert_eq!(created.link.expires_at, Some(until), "six hours after the end");
    assert_eq!((created.link.event_id, &*created.link.name), (event.id, "Gate A"));
    let gate = fixture.service.authenticate(key).expect("the key of the link");
    assert_eq!((gate.key(), gate.event()), (Some(created.link.id), Some(event.id)));
    assert_eq!(gate.scopes(), Scopes::from_iter([Scope::TicketsCheckIn]));
    assert_eq!(fixture.roster(&gate, &event).gate.as_deref(), Some("Gate A"));
    assert!(!format!("{created:?}").contains(key), "{created:?}");

    fixture.clock.set(until);
    assert_eq!(fixture.service.authenticate(key), Err(Error::Unauthenticated));
}

#[test]
fn a_link_is_refused_for_an_event_or_a_time_that_it_cannot_work_for() {
    let fixture = Fixture::with(|builder| builder.public_url("https://tickets.example.com"));
    let event = fixture.event();
    let create = |request| fixture.service.create_door_link(&fixture.caller, event.id, request);
    let until = |text: &str| CreateDoorLink::new("Gate A").until(at(text));
    assert_eq!(paths(create(until(NOW))), ["until"]);
    assert_eq!(paths(create(until("2026-07-08T22:00:00.001Z"))), ["until"]);
    let latest = at("2026-07-08T22:00:00Z");
    assert_eq!(create(until("2026-07-08T22:00:00Z")).expect("7 days").link.expires_at, Some(latest));
    assert_eq!(paths(create(CreateDoorLink::new(""))), ["name"]);
    let other = fixture.other_organization();
    let foreign = fixture.service.create_door_link(&other, event.id, CreateDoorLink::new("Gate A"));
    assert_eq!(foreign, Err(Error::NotFound(ResourceKind::Event)));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    let cancelled = create(CreateDoorLink::new("Gate A")).unwrap_err();
    assert_eq!(cancelled.reason(), Some(Reason::EventCancelled));

    let without_url = fixture.second_service();
    let refused = without_url.create_door_link(&fixture.caller, event.id, CreateDoorLink::new("Gate A"));
    assert_eq!(paths(refused), ["public_url"]);
}

#[test]
fn an_event_lists_its_links_and_a_revoked_one_ends_at_once() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let [first, second, elsewhere] = [&event, &event, &other].map(|event| fixture.gate(event).key().expect("a key"));
    let list = |request| fixture.service.list_door_links(&fixture.caller, event.id, request);
    let ids = |request| list(request).expect("a page").data.into_iter().map(|link| link.id).collect::<Vec<_>>();
    assert_eq!(ids(ListDoorLinks::new()), [second, first]);
    assert_eq!(ids(ListDoorLinks::new().after(second)), [first]);
    assert_eq!(paths(list(ListDoorLinks::new().after(elsewhere))), ["cursor"]);

    let service = &fixture.service;
    let revoke = |event: &Event, link| service.revoke_door_link(&fixture.caller, event.id, link);
    assert_eq!(revoke(&other, first), Err(Error::NotFound(ResourceKind::DoorLink)));
    let office = CreateApiKey::new("Office");
    let office = service.create_api_key(fixture.caller.organization(), office).expect("a key");
    assert_eq!(revoke(&event, office.api_key.id), Err(Error::NotFound(ResourceKind::DoorLink)));
    assert!(service.authenticate(&office.key).is_ok());
    for _ in 0..2 {
        assert_eq!(revoke(&event, first), Ok(()));
        fixture.clock.advance(Duration::from_secs(1));
    }
    let revoked: Vec<_> = list(ListDoorLinks::new()).expect("a page").data.iter().map(|link| link.revoked_at).collect();
    assert_eq!(revoked, [None, Some(at(NOW))]);
}

#[test]
fn a_key_of_one_event_can_only_have_the_scope_of_check_in() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let organization = fixture.caller.organization();
    let create = |key| fixture.service.create_api_key(organization, key);
    let key = || CreateApiKey::new("Gate A").event(event.id);
    assert_eq!(paths(create(key())), ["scopes"]);
    assert_eq!(paths(create(key().scopes([Scope::TicketsCheckIn, Scope::TicketsRead]))), ["scopes"]);
    let other = fixture.other_organization();
    let foreign = fixture.service.create_api_key(other.organization(), key().scopes([Scope::TicketsCheckIn]));
    assert_eq!(paths(foreign), ["eventId"]);
    assert!(create(key().scopes([Scope::TicketsCheckIn])).is_ok());
}

#[test]
fn expired_keys_make_room_for_new_ones() {
    let fixture = Fixture::new();
    let organization = fixture.caller.organization();
    let mut key = CreateApiKey::new("Gate");
    key.expires_at = Some(fixture.clock.now().checked_add(Duration::from_secs(1)).expect("in range"));
    for _ in 0..1000 {
        fixture.service.create_api_key(organization, key.clone()).expect("a key");
    }
    let create = || fixture.service.create_api_key(organization, CreateApiKey::new("Office"));
    assert_eq!(create().unwrap_err().reason(), Some(Reason::LimitReached));
    fixture.clock.advance(Duration::from_secs(1));
    create().expect("room");
}

#[test]
fn a_key_of_one_event_sees_no_holder_and_no_ticket_of_another_event() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    let foreign = fixture.issue(&fixture.ticket_type(&other, 0, 10), 1).remove(0);
    let gate = fixture.gate(&event);
    let service = &fixture.service;

    let admitted = service.check_in_ticket(&gate, CheckInTicket::new(&ticket.code)).expect("admitted");
    assert_eq!((admitted.customer, admitted.customer_id, admitted.download_ticket_url), (None, None, None));
    assert_eq!(admitted.checked_in_by_id, gate.key());
    let left = service.check_out_ticket(&gate, CheckInTicket::new(&ticket.code)).expect("left");
    assert_eq!((left.customer, left.customer_id), (None, None));
    let keyed = gate.with_idempotency_key("once");
    for _ in 0..2 {
        let once = service.check_in_ticket(&keyed, CheckInTicket::new(&ticket.code)).expect("admitted");
        assert_eq!(once.value.customer, None);
    }
    let whole = service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
    assert!(whole.customer.is_some());

    let refused = service.check_in_ticket(&gate, CheckInTicket::new(&foreign.code)).unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::WrongEvent));
    let refused = service.check_out_ticket(&gate, CheckInTicket::new(&foreign.code)).unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::WrongEvent));
    let not_found = Error::NotFound(ResourceKind::Event);
    let elsewhere = CheckInTicket::new(&foreign.code).event(other.id);
    assert_eq!(service.check_in_ticket(&gate, elsewhere).unwrap_err(), not_found);
    assert_eq!(service.get_roster(&gate, other.id, GetRoster::new()).unwrap_err(), not_found);
    let mut report = UploadScans::new("Phone", [let_in(1, &foreign.code, NOW)]);
    report.event_id = Some(other.id);
    assert_eq!(service.upload_scans(&gate, report).unwrap_err(), not_found);
    assert_eq!(service.list_scans(&gate, event.id, ListScans::new()), Err(Error::Forbidden(Scope::TicketsRead)));
}

#[test]
fn a_roster_has_hashes_in_place_of_codes_and_no_names() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let tickets = fixture.issue(&ticket_type, 3);
    let order = fixture.paid_order(&fixture.ticket_type(&event, 1250, 10), 2);
    let gate = fixture.gate(&event);
    fixture.service.check_in_ticket(&gate, CheckInTicket::new(&tickets[1].code)).expect("admitted");
    fixture.service.cancel_ticket(&fixture.caller, tickets[2].id).expect("cancelled");

    let roster = fixture.roster(&gate, &event);
    assert_eq!((roster.tickets.len(), roster.complete, roster.now), (5, true, at(NOW)));
    let of = |id| roster.tickets.iter().find(|ticket| ticket.ticket_id == id).expect("in the roster");
    for ticket in &tickets {
        assert_eq!(of(ticket.id).hash, base64url(&digest("roster", event.id, &ticket.code)[..12]));
        assert_eq!(of(ticket.id).hash.len(), 16);
        assert_eq!(roster.types[usize::try_from(of(ticket.id).ticket_type).expect("small")].id, ticket_type.id);
    }
    let statuses = tickets.iter().map(|ticket| of(ticket.id).status).collect::<Vec<_>>();
    assert_eq!(statuses, [TicketStatus::NotCheckedIn, TicketStatus::CheckedIn, TicketStatus::Cancelled]);
    assert_eq!(of(tickets[1].id).check_in_date, Some(at(NOW)));
    let counts = roster.counts;
    assert_eq!((counts.tickets, counts.cancelled, counts.inside), (5, 1, 1));

    let json = serde_json::to_string(&roster).expect("JSON");
    assert_eq!(from_json::<ticketing::door::Roster>(serde_json::from_str(&json).expect("JSON")), roster);
    let codes = order.items.iter().flat_map(|item| &item.issued_tickets).map(|ticket| &ticket.code);
    let customer = new_customer();
    for secret in codes.chain(tickets.iter().map(|ticket| &ticket.code)).chain([&customer.name, &customer.email]) {
        assert!(!json.contains(secret), "{secret} is in {json}");
    }
}

#[test]
fn a_roster_comes_in_parts_and_then_as_changes() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let types = [fixture.ticket_type(&event, 0, 100), fixture.ticket_type(&event, 0, 100)];
    let mut tickets: Vec<_> = types.iter().flat_map(|ticket_type| fixture.issue(ticket_type, 10)).collect();
    let gate = fixture.gate(&event);
    let get = |request| fixture.service.get_roster(&gate, event.id, request).expect("a part");
    let read = |mut since: Option<String>, limit| {
        let mut found = Vec::new();
        for parts in 1.. {
            let mut request = GetRoster::new().limit(limit);
            request.since = since;
            let part = get(request);
            assert!(i64::try_from(part.tickets.len()).expect("few") <= limit);
            found.extend(part.tickets.into_iter().map(|ticket| (ticket.ticket_id, ticket.status)));
            if part.complete {
                return (found, part.cursor, parts);
            }
            since = Some(part.cursor);
        }
        unreachable!("parts end")
    };
    let (all, cursor, parts) = read(None, 3);
    assert_eq!(parts, 7, "20 tickets");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 20);

    // What is older than the overlap is not read again.
    fixture.clock.advance(Duration::from_secs(31));
    let (changed, cursor, _) = read(Some(cursor), 5000);
    assert_eq!(changed.len(), 20, "issued within the 30 seconds before the first part");
    fixture.clock.advance(Duration::from_secs(31));
    assert_eq!(read(Some(cursor.clone()), 5000).0, []);
    tickets.extend(fixture.issue(&types[0], 5));
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&tickets[0].code)).expect("admitted");
    fixture.report(&gate, "Phone", [let_in(1, &tickets[1].code, NOW)]);
    fixture.service.cancel_ticket(&fixture.caller, tickets[2].id).expect("cancelled");
    for limit in [1, 2, 5000] {
        let (changed, _, _) = read(Some(cursor.clone()), limit);
        let changed: BTreeSet<_> = changed.into_iter().collect();
        let expected = [
            (tickets[0].id, TicketStatus::CheckedIn),
            (tickets[1].id, TicketStatus::CheckedIn),
            (tickets[2].id, TicketStatus::Cancelled),
        ];
        let new = tickets[20..].iter().map(|ticket| (ticket.id, TicketStatus::NotCheckedIn));
        assert_eq!(changed, expected.into_iter().chain(new).collect(), "in parts of {limit}");
    }
    fixture.clock.advance(Duration::from_hours(24));
    assert_eq!(read(Some(cursor), 5000).0.len(), 25, "after a day, everything is read again");
}

#[test]
fn only_a_cursor_of_the_same_roster_is_accepted() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let gate = fixture.gate(&event);
    let of_other = fixture.roster(&fixture.gate(&other), &other).cursor;
    let own = fixture.roster(&gate, &event).cursor;
    for cursor in ["", "x", &of_other, &format!("{own}."), &format!("{own}.all.x.y.z"), &own.replace('.', "-")] {
        let refused = fixture.service.get_roster(&gate, event.id, GetRoster::new().since(cursor));
        assert_eq!(paths(refused), ["since"]);
    }
    for limit in [0, 5001] {
        assert_eq!(paths(fixture.service.get_roster(&gate, event.id, GetRoster::new().limit(limit))), ["limit"]);
    }
    let third = fixture.event();
    let without_link = fixture.service.get_roster(&fixture.caller, third.id, GetRoster::new()).unwrap_err();
    assert_eq!(without_link.reason(), Some(Reason::NoDoorLink));
    let mut report = UploadScans::new("Phone", [let_in(1, "AAAA", NOW)]);
    report.event_id = Some(third.id);
    let without_link = fixture.service.upload_scans(&fixture.caller, report).unwrap_err();
    assert_eq!(without_link.reason(), Some(Reason::NoDoorLink));
}

#[test]
fn a_report_that_is_sent_again_changes_nothing() {
    let fixture = Fixture::new();
    let webhook = fixture.webhook([EventType::TicketCheckedIn]).endpoint.id;
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let code = fixture.issue(&ticket_type, 1).remove(0).code;
    let gate = fixture.gate(&event);
    let scans = [let_in(1, &code, NOW), let_in(2, "0000", NOW), let_out(3, &code, "2026-06-01T12:01:00Z")];
    let first = fixture.report(&gate, "Phone", scans.clone());
    assert_eq!(outcomes(&first), [ScanOutcome::Admitted, ScanOutcome::UnknownCode, ScanOutcome::Left]);
    let stored = fixture.service.get_ticket_by_code(&fixture.caller, &code).expect("the ticket");
    let log = fixture.scan_log(&event);
    fixture.clock.advance(Duration::from_secs(1));
    let twice = scans.iter().chain(&scans).cloned();
    let again = fixture.report(&gate, "Phone", twice);
    assert_eq!(outcomes(&again[..3]), outcomes(&first));
    assert_eq!(again[..3], again[3..]);
    assert_eq!(fixture.service.get_ticket_by_code(&fixture.caller, &code).expect("the ticket"), stored);
    assert_eq!(fixture.scan_log(&event), log);
    fixture.fail_all_deliveries();
    assert_eq!(fixture.deliveries(webhook).len(), 1, "one notification");
}

#[test]
fn a_scan_that_has_happened_finds_its_ticket_by_what_the_scanner_has_read() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let tickets = fixture.issue(&ticket_type, 2);
    let gate = fixture.gate(&event);
    let read = [format!("{}\r\n", tickets[0].code), tickets[1].code.replace('0', "O").replace('1', "l") + "\u{2009}"];
    let results = fixture.report(&gate, "Phone", [let_in(1, &read[0], NOW), let_in(2, &read[1], NOW)]);
    assert_eq!(outcomes(&results), [ScanOutcome::Admitted, ScanOutcome::Admitted]);
    let logged = fixture.scan_log(&event);
    assert!(tickets.iter().all(|ticket| logged.iter().any(|scan| scan.ticket_id == Some(ticket.id))), "{logged:?}");
}

#[test]
fn the_service_decides_on_scans_without_a_verdict() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let code = fixture.issue(&ticket_type, 1).remove(0).code;
    let gate = fixture.gate(&event);
    let scan = |number, kind| NewScan::of_code(scan_id(number), kind, &code, at("2026-06-01T11:00:00Z"));
    let scans = [ScanKind::In, ScanKind::In, ScanKind::Out, ScanKind::Out, ScanKind::In];
    let scans = scans.into_iter().zip(1..).map(|(kind, number)| scan(number, kind));
    let results = fixture.report(&gate, "Phone", scans);
    use ScanOutcome::{Admitted, Left, Refused};
    assert_eq!(outcomes(&results), [Admitted, Refused, Left, Refused, Admitted]);
    assert_eq!(results[1].reason, Some(Reason::AlreadyCheckedIn));
    let other = results[1].other.clone().expect("the admission");
    assert_eq!((other.at, other.device.as_deref()), (at(NOW), Some("Phone")), "the decision counts, not the scan");
    assert_eq!(results[3].reason, Some(Reason::NotCheckedIn));
    let ticket = fixture.service.get_ticket_by_code(&fixture.caller, &code).expect("the ticket");
    assert_eq!((ticket.status, ticket.scan_count), (TicketStatus::CheckedIn, 3));
}

#[test]
fn a_ticket_of_the_roster_is_checked_in_only_with_the_proof_of_its_code() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    let gate = fixture.gate(&event);
    let in_roster = fixture.roster(&gate, &event).tickets.remove(0);
    let scan = |number, proof: String| {
        let mut scan = NewScan::of_ticket(scan_id(number), ScanKind::In, ticket.id, proof, at(NOW));
        scan.verdict = Some(Verdict::Admitted);
        scan
    };
    let wrong = [
        scan(1, in_roster.hash),
        scan(2, base64url(&[0; 16])),
        scan(3, base64url(&digest("roster", event.id, &ticket.code)[..16])),
    ];
    let results = fixture.report(&gate, "Phone", wrong);
    assert_eq!(outcomes(&results), [ScanOutcome::UnknownCode; 3]);
    assert!(results.iter().all(|result| result.ticket.is_none()), "{results:?}");
    let untouched = fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
    assert_eq!((untouched.status, untouched.scan_count), (TicketStatus::NotCheckedIn, 0));
    let right = scan(4, base64url(&digest("scan", event.id, &ticket.code)[..16]));
    let result = fixture.report(&gate, "Phone", [right]).remove(0);
    assert_eq!(result.outcome, ScanOutcome::Admitted);
    assert_eq!(result.ticket.expect("the ticket").ticket_id, ticket.id);
}

#[test]
fn an_order_lists_its_tickets_with_their_proofs_and_without_codes_and_names() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.paid_order(&ticket_type, 3);
    let gate = fixture.gate(&event);
    let service = &fixture.service;
    let get = |event: &Event, order| service.get_roster_order(&gate, event.id, order);
    let found = get(&event, order.id).expect("the order");
    let tickets = &order.items[0].issued_tickets;
    service.cancel_ticket(&fixture.caller, tickets[2].id).expect("cancelled");
    assert_eq!(found.now, at(NOW));
    assert_eq!(found.tickets.len(), 3);
    for (listed, ticket) in found.tickets.iter().zip(tickets) {
        let expected = (ticket.id, ticket_type.id, &*ticket_type.name);
        assert_eq!((listed.ticket_id, listed.ticket_type_id, &*listed.ticket_type_name), expected);
        assert_eq!(listed.proof, base64url(&digest("scan", event.id, &ticket.code)[..16]));
    }
    let json = serde_json::to_string(&found).expect("JSON");
    let customer = new_customer();
    for secret in tickets.iter().map(|ticket| &ticket.code).chain([&customer.name, &customer.email]) {
        assert!(!json.contains(secret), "{secret} is in {json}");
    }
    let scan = |number: u64, index: usize| {
        let listed = &found.tickets[index];
        NewScan::of_ticket(scan_id(number), ScanKind::In, listed.ticket_id, &*listed.proof, at(NOW))
    };
    let results = fixture.report(&gate, "Phone", [scan(1, 1), scan(2, 1), scan(3, 2)]);
    assert_eq!(outcomes(&results), [ScanOutcome::Admitted, ScanOutcome::Refused, ScanOutcome::Refused]);
    let statuses: Vec<_> = get(&event, order.id).expect("the order").tickets.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [TicketStatus::NotCheckedIn, TicketStatus::CheckedIn, TicketStatus::Cancelled]);

    let unknown = Error::NotFound(ResourceKind::Order);
    assert_eq!(get(&event, "order_0000000000001".parse().expect("an id")), Err(unknown.clone()));
    assert_eq!(get(&event, fixture.order(&ticket_type, 1).id), Err(unknown.clone()), "it has no tickets yet");
    let elsewhere = fixture.paid_order(&fixture.ticket_type(&other, 1250, 10), 1);
    assert_eq!(get(&event, elsewhere.id), Err(unknown));
    assert_eq!(get(&other, elsewhere.id), Err(Error::NotFound(ResourceKind::Event)), "of another key");
    let without_link = service.get_roster_order(&fixture.caller, other.id, elsewhere.id).unwrap_err();
    assert_eq!(without_link.reason(), Some(Reason::NoDoorLink));
}

#[test]
fn what_the_rules_refuse_stays_in_the_log_with_the_reason() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let ticket_type = fixture.ticket_type_with(&event, |new| new.valid_from = Some(at("2026-06-01T12:30:00Z")));
    let tickets = fixture.issue(&ticket_type, 3);
    let foreign = fixture.issue(&fixture.ticket_type(&other, 0, 10), 1).remove(0).code;
    let gate = fixture.gate(&event);
    fixture.clock.set(at("2026-06-01T13:00:00Z"));
    fixture.service.cancel_ticket(&fixture.caller, tickets[1].id).expect("cancelled");
    fixture.clock.set(at("2026-06-01T14:00:00Z"));
    let codes = tickets.iter().map(|ticket| &*ticket.code).collect::<Vec<_>>();
    let mut foreign_scan = let_in(5, &foreign, "2026-06-01T13:30:00Z");
    foreign_scan.is_override = Some(true);
    let results = fixture.report(
        &gate,
        "Phone",
        [
            let_in(1, codes[0], "2026-06-01T12:29:59Z"),
            let_in(2, codes[1], "2026-06-01T12:59:59Z"),
            let_in(3, codes[1], "2026-06-01T13:30:00Z"),
            decided(4, ScanKind::In, codes[2], at("2026-06-01T13:30:00Z"), Verdict::Refused),
            foreign_scan,
        ],
    );
    use ScanOutcome::{Admitted, Refused, WouldBeRefused};
    let found: Vec<_> = results.iter().map(|result| (result.outcome, result.reason)).collect();
    let expected = [
        (WouldBeRefused, Some(Reason::NotYetValid)),
        (Admitted, None),
        (WouldBeRefused, Some(Reason::TicketCancelled)),
        (Refused, None),
        (WouldBeRefused, Some(Reason::WrongEvent)),
    ];
    assert_eq!(found, expected);
    assert_eq!(results[4].ticket, None, "a ticket of another event is not shown");
    let statuses: Vec<_> = tickets
        .iter()
        .map(|ticket| fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").status)
        .collect();
    assert_eq!(statuses, [TicketStatus::NotCheckedIn, TicketStatus::Cancelled, TicketStatus::NotCheckedIn]);
    let log = fixture.scan_log(&event);
    let overridden: Vec<_> = log.iter().filter(|scan| scan.is_override).map(|scan| scan.uuid.clone()).collect();
    assert_eq!(overridden, [Some(scan_id(5))]);
    assert_eq!(log.iter().filter(|scan| scan.kind == LoggedKind::Cancelled).count(), 1);
    let foreign = fixture.service.get_ticket_by_code(&fixture.caller, &foreign).expect("the ticket");
    assert_eq!((foreign.status, foreign.scan_count), (TicketStatus::NotCheckedIn, 0));
}

#[test]
fn scans_before_an_event_was_cancelled_still_count() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let tickets = fixture.issue(&ticket_type, 2);
    let gate = fixture.gate(&event);
    fixture.clock.set(at("2026-06-01T13:00:00Z"));
    fixture.set_event_status(event.id, EventStatus::Cancelled).expect("cancelled");
    fixture.clock.set(at("2026-06-01T14:00:00Z"));
    let scans = [
        let_in(1, &tickets[0].code, "2026-06-01T12:59:00Z"),
        let_in(2, &tickets[1].code, "2026-06-01T13:00:00Z"),
        NewScan::of_code(scan_id(3), ScanKind::In, &tickets[1].code, at("2026-06-01T12:59:00Z")),
    ];
    let results = fixture.report(&gate, "Phone", scans);
    assert_eq!(outcomes(&results), [ScanOutcome::Admitted, ScanOutcome::WouldBeRefused, ScanOutcome::Refused]);
    assert_eq!(results[2].reason, Some(Reason::EventCancelled));
    assert_eq!(fixture.roster(&gate, &event).event.cancelled_at, Some(at("2026-06-01T13:00:00Z")));
}

#[test]
fn a_ticket_that_was_inside_before_its_log_began_is_inside_in_the_log() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let tickets = fixture.issue(&ticket_type, 4);
    for ticket in &tickets {
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("admitted");
    }
    let gate = fixture.gate(&event);
    assert_eq!(fixture.scan_log(&event), [], "nothing was logged before");
    fixture.clock.set(at("2026-06-01T13:00:00Z"));
    // The log of each ticket begins in another way.
    fixture.service.check_out_ticket(&gate, CheckInTicket::new(&tickets[1].code)).expect("left");
    fixture.service.check_in_ticket(&gate, CheckInTicket::new(&tickets[2].code)).expect_err("inside");
    fixture.service.cancel_ticket(&fixture.caller, tickets[3].id).expect("cancelled");
    let scans = tickets.iter().zip(1..).map(|(ticket, number)| let_in(number, &ticket.code, "2026-06-01T12:30:00Z"));
    let results = fixture.report(&gate, "Phone", scans);
    assert_eq!(outcomes(&results), [ScanOutcome::AdmittedTwice; 4]);
    for result in &results {
        assert_eq!(result.other.as_ref().map(|other| (other.at, other.device.clone())), Some((at(NOW), None)));
    }
    let bases: Vec<_> = fixture.scan_log(&event).into_iter().filter(|scan| scan.kind == LoggedKind::Base).collect();
    assert_eq!(bases.len(), 4);
    assert!(bases.iter().all(|base| base.scanned_at == at(NOW)), "{bases:?}");
    let statuses: Vec<_> = tickets
        .iter()
        .map(|ticket| fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket").status)
        .collect();
    use TicketStatus::{Cancelled, CheckedIn, NotCheckedIn};
    assert_eq!(statuses, [CheckedIn, NotCheckedIn, CheckedIn, Cancelled]);
}

#[test]
fn a_cancelled_order_is_in_the_log_of_each_of_its_tickets() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    let order = fixture.paid_order(&ticket_type, 3);
    let gate = fixture.gate(&event);
    fixture.clock.advance(Duration::from_secs(60));
    let cursor = fixture.roster(&gate, &event).cursor;
    fixture.clock.advance(Duration::from_secs(60));
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let log = fixture.scan_log(&event);
    assert_eq!(log.iter().map(|scan| scan.kind).collect::<Vec<_>>(), [LoggedKind::Cancelled; 3]);
    let changes = fixture.service.get_roster(&gate, event.id, GetRoster::new().since(cursor)).expect("changes");
    assert_eq!(changes.tickets.len(), 3);
    assert!(changes.tickets.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
}

#[test]
fn a_scan_counts_at_most_48_hours_before_its_receipt_and_10_minutes_after() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let tickets = fixture.issue(&fixture.ticket_type(&event, 0, 10), 4);
    let gate = fixture.gate(&event);
    let times = ["2026-05-30T11:59:59Z", "2026-05-30T12:00:00Z", "2026-06-01T12:10:00Z", "2026-06-01T12:10:01Z"];
    let scans = tickets.iter().zip(times).zip(1..).map(|((ticket, time), number)| let_in(number, &ticket.code, time));
    let results = fixture.report(&gate, "Phone", scans);
    let counted: Vec<_> = results.into_iter().map(|result| result.ticket.expect("a ticket").check_in_date).collect();
    // The last one is moved, and stays behind the others of the report.
    let expected = ["2026-05-30T12:00:00Z", "2026-05-30T12:00:00Z", "2026-06-01T12:10:00Z", "2026-06-01T12:10:00.003Z"];
    assert_eq!(counted, expected.map(|time| Some(at(time))));
}

#[test]
fn scans_that_are_moved_into_these_limits_stay_in_their_order() {
    for (entered, left) in
        [("2026-05-28T12:00:00Z", "2026-05-28T13:00:00Z"), ("2026-06-01T14:00:00Z", "2026-06-01T15:00:00Z")]
    {
        let fixture = Fixture::new();
        let event = fixture.event();
        let code = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0).code;
        let gate = fixture.gate(&event);
        // The ids would sort in the other order.
        let results = fixture.report(&gate, "Phone", [let_in(2, &code, entered), let_out(1, &code, left)]);
        assert_eq!(outcomes(&results), [ScanOutcome::Admitted, ScanOutcome::Left], "{entered}");
        let ticket = fixture.service.get_ticket_by_code(&fixture.caller, &code).expect("the ticket");
        assert_eq!(ticket.status, TicketStatus::NotCheckedIn);
    }
}

#[test]
fn what_the_server_decides_comes_after_everything_that_was_reported() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let tickets = fixture.issue(&fixture.ticket_type(&event, 0, 10), 3);
    let gate = fixture.gate(&event);
    // By a clock that is five minutes fast.
    let fast = "2026-06-01T12:05:00Z";
    let left = fixture.report(&gate, "Phone", [let_out(1, &tickets[0].code, fast)]).remove(0);
    assert_eq!(left.outcome, ScanOutcome::WouldBeRefused);
    let admitted = fixture.service.check_in_ticket(&gate, CheckInTicket::new(&tickets[0].code)).expect("admitted");
    assert_eq!(admitted.check_in_date, Some(at("2026-06-01T12:05:00.001Z")));
    fixture.report(&gate, "Phone", [let_in(2, &tickets[1].code, fast)]);
    fixture.service.cancel_ticket(&fixture.caller, tickets[1].id).expect("cancelled");
    // Any further report replays the logs.
    let refused = |number, ticket: usize| {
        decided(number, ScanKind::In, &tickets[ticket].code, at("2026-06-01T11:00:00Z"), Verdict::Refused)
    };
    fixture.report(&gate, "Phone", [refused(3, 0), refused(4, 1)]);
    let ticket = |index: usize| fixture.service.get_ticket(&fixture.caller, tickets[index].id).expect("the ticket");
    assert_eq!((ticket(0).status, ticket(0).check_in_date), (TicketStatus::CheckedIn, admitted.check_in_date));
    assert_eq!((ticket(1).status, ticket(1).check_in_date), (TicketStatus::Cancelled, Some(at(fast))));
    let outcome = |number| {
        let log = fixture.scan_log(&event);
        log.into_iter().find(|scan| scan.uuid == Some(scan_id(number))).expect("logged").outcome
    };
    assert_eq!((outcome(1), outcome(2)), (Some(ScanOutcome::WouldBeRefused), Some(ScanOutcome::Admitted)));

    // A scan that is decided on now knows what the same report says of earlier ones.
    let open = NewScan::of_code(scan_id(5), ScanKind::In, &tickets[2].code, at(NOW));
    let results = fixture.report(&gate, "Phone", [open, let_in(6, &tickets[2].code, "2026-06-01T11:50:00Z")]);
    assert_eq!(outcomes(&results), [ScanOutcome::Refused, ScanOutcome::Admitted]);
}

#[test]
fn a_ticket_that_is_cancelled_after_the_clock_was_set_back_stays_cancelled() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&ticket.code)).expect("admitted");
    let gate = fixture.gate(&event);
    fixture.clock.set(at("2026-06-01T11:59:50Z"));
    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    let late = fixture.report(&gate, "Phone", [let_in(1, &ticket.code, "2026-06-01T11:00:00Z")]).remove(0);
    assert_eq!(late.ticket.expect("the ticket").status, TicketStatus::Cancelled);
    let kinds: Vec<_> = fixture.scan_log(&event).iter().map(|scan| (scan.kind, scan.scanned_at)).collect();
    let cancelled_at = at("2026-06-01T12:00:00.001Z");
    assert_eq!(kinds[..2], [(LoggedKind::Base, at(NOW)), (LoggedKind::Cancelled, cancelled_at)]);
}

#[test]
fn a_report_that_is_sent_again_shows_the_ticket_as_it_is_stored() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let code = fixture.issue(&ticket_type, 1).remove(0).code;
    let gate = fixture.gate(&event);
    let report = || fixture.report(&gate, "Phone", [let_in(1, &code, NOW)]).remove(0);
    let first = report();
    let later = UpdateTicketType::default().valid_from(at("2026-06-02T00:00:00Z"));
    fixture.service.update_ticket_type(&fixture.caller, ticket_type.id, later).expect("changed");
    assert_eq!(report(), first);
}

#[test]
fn invented_codes_are_logged_only_if_somebody_passed() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let gate = fixture.gate(&event);
    let unknown = |number, verdict| decided(number, ScanKind::In, "0000", at(NOW), verdict);
    let open = NewScan::of_code(scan_id(1), ScanKind::In, "0000", at(NOW));
    let scans = [open, unknown(2, Verdict::Refused), unknown(3, Verdict::Admitted)];
    assert_eq!(outcomes(&fixture.report(&gate, "Phone", scans)), [ScanOutcome::UnknownCode; 3]);
    let logged: Vec<_> = fixture.scan_log(&event).into_iter().map(|scan| scan.uuid).collect();
    assert_eq!(logged, [Some(scan_id(3))]);
    // Check-outs are not counted.
    assert_eq!(fixture.service.statistics().scans.unknown, 3);
    fixture.report(&gate, "Phone", [let_out(4, "0000", NOW)]);
    assert_eq!(fixture.service.statistics().scans.unknown, 3);
}

#[test]
fn a_ticket_has_at_most_200_rows_and_is_then_judged_by_its_present_state() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    let gate = fixture.gate(&event);
    let time = |second: u64| at(NOW).checked_add(Duration::from_secs(second)).expect("in range");
    fixture.clock.set(time(1000));
    let scan = |number: u64| {
        let kind = if number.is_multiple_of(2) { ScanKind::In } else { ScanKind::Out };
        decided(number, kind, &ticket.code, time(number), Verdict::Admitted)
    };
    let results = fixture.report(&gate, "Phone", (0..100).map(scan));
    assert!(results.iter().all(|result| !result.log_full));
    let results = fixture.report(&gate, "Phone", (100..200).map(scan));
    assert!(results.iter().all(|result| matches!(result.outcome, ScanOutcome::Admitted | ScanOutcome::Left)));
    assert!(results.iter().all(|result| !result.log_full));
    let last = fixture.report(&gate, "Phone", [scan(200)]).remove(0);
    assert_eq!((last.outcome, last.log_full), (ScanOutcome::Admitted, true));
    assert_eq!(fixture.scan_log(&event).len(), 200);
    // This one comes too late to change what happened before.
    let late = decided(201, ScanKind::In, &ticket.code, at(NOW), Verdict::Admitted);
    let late = fixture.report(&gate, "Phone", [late.clone(), late]).remove(0);
    assert_eq!((late.outcome, late.reason), (ScanOutcome::AdmittedTwice, Some(Reason::AlreadyCheckedIn)));
    let stored = fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
    assert_eq!((stored.status, stored.check_in_date), (TicketStatus::CheckedIn, Some(time(200))));
    assert_eq!(stored.scan_count, 102);

    // A report that was stored has its results again.
    let again = fixture.report(&gate, "Phone", [scan(0)]).remove(0);
    assert_eq!((again.outcome, again.log_full), (ScanOutcome::Admitted, false));
    // Other routes add nothing either, but for the cancellation.
    let service = &fixture.service;
    service.check_in_ticket(&gate, CheckInTicket::new(&ticket.code)).expect_err("checked in");
    service.check_out_ticket(&gate, CheckInTicket::new(&ticket.code)).expect("left");
    service.check_in_ticket(&gate, CheckInTicket::new(&ticket.code)).expect("admitted");
    assert_eq!(fixture.scan_log(&event).len(), 200);
    service.cancel_ticket(&fixture.caller, ticket.id).expect("cancelled");
    let open = NewScan::of_code(scan_id(203), ScanKind::In, &ticket.code, at(NOW));
    let refused = fixture.report(&gate, "Phone", [open]).remove(0);
    assert_eq!((refused.reason, refused.log_full), (Some(Reason::TicketCancelled), true));
    assert_eq!(fixture.scan_log(&event).len(), 201);
}

#[test]
fn a_report_with_more_scans_of_a_ticket_than_have_room_fills_its_log() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    let gate = fixture.gate(&event);
    let scan = |number: u64| {
        let kind = if number.is_multiple_of(2) { ScanKind::In } else { ScanKind::Out };
        let time = at(NOW).checked_sub(Duration::from_secs(1000 - number)).expect("in range");
        decided(number, kind, &ticket.code, time, Verdict::Admitted)
    };
    fixture.report(&gate, "Phone", (0..100).map(scan));
    fixture.report(&gate, "Phone", (100..150).map(scan));
    let results = fixture.report(&gate, "Phone", (150..249).map(scan));
    let full: Vec<_> = results.iter().map(|result| result.log_full).collect();
    assert_eq!(full, [vec![false; 50], vec![true; 49]].concat());
    assert_eq!(results[98].outcome, ScanOutcome::Admitted, "the 249th, an entry");
    assert_eq!(fixture.scan_log(&event).len(), 200);
    let stored = || fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket");
    assert_eq!(stored().status, TicketStatus::CheckedIn);
    let left = NewScan::of_code(scan_id(300), ScanKind::Out, &ticket.code, at(NOW));
    assert_eq!(outcomes(&fixture.report(&gate, "Phone", [left])), [ScanOutcome::Left]);
    assert_eq!(stored().status, TicketStatus::NotCheckedIn);
}

#[test]
fn a_key_adds_at_most_1000_rows_without_a_ticket() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (gate, other) = (fixture.gate(&event), fixture.gate(&event));
    let invented = |numbers: std::ops::Range<u64>| numbers.map(|number| let_in(number, "0000", NOW));
    let rows = || fixture.stored("SELECT COUNT(*) FROM scans");
    for start in 0..10 {
        let results = fixture.report(&gate, "Phone", invented(start * 100..start * 100 + 100));
        assert!(results.iter().all(|result| !result.log_full), "{start}");
    }
    assert_eq!(rows(), 1000);
    let results = fixture.report(&gate, "Phone", invented(990..1010));
    let full: Vec<_> = results.iter().map(|result| result.log_full).collect();
    assert_eq!(full, [[false; 10], [true; 10]].concat(), "those that are logged already have room");
    assert_eq!(outcomes(&results), [ScanOutcome::UnknownCode; 20]);
    assert_eq!(rows(), 1000);
    // Scans of tickets go on, and those with other keys too.
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    let admitted = fixture.report(&gate, "Phone", [let_in(5000, &ticket.code, NOW)]).remove(0);
    assert_eq!((admitted.outcome, admitted.log_full), (ScanOutcome::Admitted, false));
    assert!(!fixture.report(&other, "Phone", invented(2000..2001)).remove(0).log_full);
    assert_eq!(rows(), 1002);
    let usage = fixture.service.get_organization_usage(fixture.caller.organization()).expect("the usage");
    assert_eq!(usage.scans, 1002);
}

#[test]
fn a_report_with_the_key_of_a_link_stores_no_answer() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let keyed = fixture.gate(&event).with_idempotency_key("order-1001");
    let report = || UploadScans::new("Phone", [let_in(1, "0000", NOW)]);
    let upload = || fixture.service.upload_scans(&keyed, report()).expect("a report");
    let (first, again) = (upload(), upload());
    assert_eq!((&first.value, first.replayed, again.replayed), (&again.value, false, false));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 0);
    // The control: an answer to the organization is stored.
    let own = fixture.caller_with_key("order-1001");
    let mut of_event = report();
    of_event.event_id = Some(event.id);
    fixture.service.upload_scans(&own, of_event).expect("a report");
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM idempotency_records"), 1);
}

#[test]
fn simultaneous_reports_store_no_more_rows_than_there_may_be() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let gate = fixture.gate(&event);
    let ticket = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0);
    let refused = |number| decided(number, ScanKind::In, &ticket.code, at(NOW), Verdict::Refused);
    fixture.report(&gate, "Phone", (0..95).map(refused));
    fixture.report(&gate, "Phone", (95..190).map(refused));
    fixture.database().run("UPDATE api_keys SET scans_without_ticket = 990");
    let services: Vec<_> = (0..4).map(|_| fixture.second_service()).collect();
    let report_at_once = |first: u64| {
        run_at_once(8, |thread| {
            let service = &services[thread % 4];
            let first = first + thread as u64 * 100;
            let report =
                |scan| service.upload_scans(&gate, UploadScans::new("Phone", [scan])).expect("a report").results;
            let results = (first..first + 5).flat_map(|number| {
                [report(let_in(number, "0000", NOW)).remove(0), report(refused(number + 50)).remove(0)]
            });
            results.filter(|result| !result.log_full).count()
        })
    };
    assert_eq!(report_at_once(1000).into_iter().sum::<usize>(), 20);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM scans WHERE ticket_id IS NULL"), 10);
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM scans WHERE ticket_id IS NOT NULL"), 200);
    // The control: with the counter set back, all 40 without a ticket are stored.
    fixture.database().run("UPDATE api_keys SET scans_without_ticket = 0");
    assert_eq!(report_at_once(2000).into_iter().sum::<usize>(), 40);
}

#[test]
fn bad_scans_are_refused_with_their_index_before_anything_is_stored() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let code = fixture.issue(&fixture.ticket_type(&event, 0, 10), 1).remove(0).code;
    let gate = fixture.gate(&event);
    let good = || let_in(1, &code, NOW);
    let upload = |scans: Vec<NewScan>| fixture.service.upload_scans(&gate, UploadScans::new("Phone", scans));
    let bad = |change: fn(&mut NewScan)| {
        let mut scan = let_in(2, &code, NOW);
        change(&mut scan);
        upload(vec![good(), scan])
    };
    assert_eq!(paths(bad(|scan| scan.id = "0192000000007000800000000000002a".to_owned())), ["scans[1].id"]);
    assert_eq!(paths(bad(|scan| scan.code = None)), ["scans[1].code"]);
    assert_eq!(paths(bad(|scan| scan.proof = Some("x".to_owned()))), ["scans[1].proof"]);
    let without_event = fixture.service.upload_scans(&fixture.caller, UploadScans::new("Phone", [good()]));
    assert_eq!(paths(without_event), ["eventId"]);
    assert_eq!(fixture.scan_log(&event), []);
    let mut with_event = UploadScans::new("Phone", [good()]);
    with_event.event_id = Some(event.id);
    assert!(fixture.service.upload_scans(&fixture.caller, with_event).is_ok());
}

#[test]
fn an_id_that_was_used_at_another_event_is_refused() {
    let fixture = Fixture::new();
    let (event, other) = (fixture.event(), fixture.event());
    let (gate, elsewhere) = (fixture.gate(&event), fixture.gate(&other));
    fixture.report(&elsewhere, "Phone", [let_in(1, "0000", NOW)]);
    let scans = [let_in(2, "0000", NOW), let_in(1, "0000", NOW)];
    let refused = fixture.service.upload_scans(&gate, UploadScans::new("Phone", scans));
    assert_eq!(paths(refused), ["scans[1].id"]);
    assert_eq!(fixture.scan_log(&event), []);
}

#[test]
fn a_log_is_listed_by_outcome_device_and_time() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let tickets = fixture.issue(&fixture.ticket_type(&event, 0, 10), 2);
    let gate = fixture.gate(&event);
    fixture.report(&gate, "Phone 1", [let_in(1, &tickets[0].code, NOW)]);
    fixture.report(&gate, "Phone 1", [let_in(2, "0000", NOW)]);
    fixture.clock.advance(Duration::from_secs(60));
    fixture.report(&gate, "Phone 2", [let_in(3, &tickets[1].code, NOW)]);
    let list = |request: ListScans| {
        let listed = fixture.service.list_scans(&fixture.caller, event.id, request).expect("a page");
        listed.data.into_iter().map(|scan| scan.uuid.expect("a device")).collect::<Vec<_>>()
    };
    assert_eq!(list(ListScans::new()), [3, 2, 1].map(scan_id));
    assert_eq!(list(ListScans::new().outcome(ScanOutcome::Admitted)), [3, 1].map(scan_id));
    assert_eq!(list(ListScans::new().device("Phone 1")), [2, 1].map(scan_id));
    assert_eq!(list(ListScans::new().since(at("2026-06-01T12:00:01Z"))), [scan_id(3)]);
    let first = fixture.service.list_scans(&fixture.caller, event.id, ListScans::new().limit(2)).expect("a page");
    let after = first.next_cursor.expect("another page");
    assert_eq!(list(ListScans::new().after(after)), [scan_id(1)]);
    let other = fixture.event();
    assert_eq!(list(ListScans::new()).len(), 3);
    let elsewhere = fixture.service.list_scans(&fixture.caller, other.id, ListScans::new().after(after));
    assert_eq!(paths(elsewhere), ["cursor"]);
}

#[test]
fn a_deleted_event_takes_its_keys_with_it() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let gate = fixture.gate(&event);
    fixture.report(&gate, "Phone", [let_in(1, "0000", NOW)]);
    fixture.service.delete_event(&fixture.caller, event.id).expect("deleted");
    assert_eq!(fixture.service.list_api_keys(fixture.caller.organization()).expect("keys"), []);
}
