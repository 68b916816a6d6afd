//! What entrances learn of scans whose outcome another entrance has changed: the conflicts of the roster.

use std::time::Duration;

use ticketing::Caller;
use ticketing::door::{GetRoster, Roster, ScanConflict, ScanOutcome};
use ticketing::error::Reason;
use ticketing::event::Event;
use ticketing::ticket::{CheckInTicket, TicketStatus};
use ticketing::ticket_type::TicketType;

use crate::common::door::{let_in, let_out, scan_id};
use crate::common::*;

/// Two entrances of an event, with what they have read so far.
struct Entrances {
    fixture: Fixture,
    event: Event,
    ticket_type: TicketType,
    gates: [Caller; 2],
    cursor: String,
}

const EVENING: &str = "2026-07-01T19:00:00Z";

impl Entrances {
    fn new(validity_hours: Option<i64>) -> Self {
        let fixture = Fixture::new();
        let event = fixture.event();
        let ticket_type = fixture.ticket_type_with(&event, |new| new.validity_hours = validity_hours);
        let gates = [fixture.gate(&event), fixture.gate(&event)];
        fixture.clock.set(at(EVENING));
        let cursor = fixture.roster(&gates[0], &event).cursor;
        Self { fixture, event, ticket_type, gates, cursor }
    }

    fn code(&self) -> String {
        self.fixture.issue(&self.ticket_type, 1).remove(0).code
    }

    /// What a device gets that asks for changes.
    fn changes(&self, gate: usize, limit: i64) -> Roster {
        let request = GetRoster::new().since(&*self.cursor).limit(limit);
        self.fixture.service.get_roster(&self.gates[gate], self.event.id, request).expect("changes")
    }

    /// The conflicts that both entrances get.
    #[track_caller]
    fn conflicts(&self) -> Vec<ScanConflict> {
        let [one, other] = [0, 1].map(|gate| self.changes(gate, 5000).conflicts);
        assert_eq!(one, other);
        one
    }
}

#[test]
fn both_entrances_learn_of_a_ticket_that_came_in_twice_whoever_reports_first() {
    for first in [0, 1] {
        let entrances = Entrances::new(None);
        let code = entrances.code();
        let reports = [
            ("Phone A", let_in(1, &code, "2026-07-01T18:52:00Z")),
            ("Phone B", let_in(2, &code, "2026-07-01T18:54:00Z")),
        ];
        assert_eq!(entrances.conflicts(), []);
        for gate in [first, 1 - first] {
            let (device, scan) = reports[gate].clone();
            entrances.fixture.report(&entrances.gates[gate], device, [scan]);
            entrances.fixture.clock.advance(Duration::from_secs(9));
        }
        let conflicts = entrances.conflicts();
        let [ScanConflict { id, uuid, ticket_id, outcome, reason, scanned_at, device, other, .. }] = &*conflicts else {
            panic!("{conflicts:?}")
        };
        let log = entrances.fixture.scan_log(&entrances.event);
        let late = log.iter().find(|scan| scan.uuid == Some(scan_id(2))).expect("logged");
        assert_eq!((*id, uuid, Some(*ticket_id)), (late.id, &late.uuid, late.ticket_id));
        assert_eq!((*outcome, *reason), (ScanOutcome::AdmittedTwice, Some(Reason::AlreadyCheckedIn)));
        assert_eq!((*scanned_at, device.as_deref()), (at("2026-07-01T18:54:00Z"), Some("Phone B")));
        let other = other.as_ref().expect("the first admission");
        assert_eq!((other.at, other.device.as_deref()), (at("2026-07-01T18:52:00Z"), Some("Phone A")));
        let fixture = &entrances.fixture;
        let ticket = fixture.service.get_ticket(&fixture.caller, *ticket_id).expect("the ticket");
        assert_eq!(ticket.check_in_date, Some(at("2026-07-01T18:52:00Z")));
        assert_eq!(ticket.last_scan_date, Some(at("2026-07-01T18:54:00Z")));
        assert_eq!((ticket.status, ticket.scan_count), (TicketStatus::CheckedIn, 2));
        assert_eq!(fixture.service.statistics().scans.admitted_twice, 1);
        let whole = entrances.fixture.roster(&entrances.gates[0], &entrances.event);
        assert_eq!(whole.conflicts, [], "only with changes");
    }
}

#[test]
fn a_conflict_that_a_later_report_resolves_is_not_listed_any_more() {
    let entrances = Entrances::new(None);
    let (code, [a, b]) = (entrances.code(), &entrances.gates);
    let report = |gate, scan| entrances.fixture.report(gate, "Phone", [scan]);
    report(a, let_in(1, &code, "2026-07-01T18:52:00Z"));
    report(b, let_in(2, &code, "2026-07-01T18:54:00Z"));
    report(b, let_in(3, &code, "2026-07-01T18:56:00Z"));
    let times: Vec<_> = entrances.conflicts().iter().map(|conflict| conflict.scanned_at).collect();
    assert_eq!(times, [at("2026-07-01T18:56:00Z"), at("2026-07-01T18:54:00Z")], "the newest first");
    let firsts = entrances.conflicts().into_iter().map(|conflict| conflict.other.expect("the first admission").at);
    assert_eq!(firsts.collect::<Vec<_>>(), [at("2026-07-01T18:52:00Z"); 2]);
    report(a, let_out(4, &code, "2026-07-01T18:53:00Z"));
    let conflicts = entrances.conflicts();
    assert_eq!(conflicts.len(), 1, "he left before he came back: {conflicts:?}");
    assert_eq!(conflicts[0].other.as_ref().map(|other| other.at), Some(at("2026-07-01T18:54:00Z")));
    report(a, let_out(5, &code, "2026-07-01T18:55:00Z"));
    assert_eq!(entrances.conflicts(), []);
    assert!(!entrances.changes(0, 5000).tickets.is_empty(), "the ticket is among those that have changed");
}

#[test]
fn an_admission_that_an_earlier_first_scan_makes_invalid_is_a_conflict() {
    let entrances = Entrances::new(Some(2));
    let (code, [a, b]) = (entrances.code(), &entrances.gates);
    let report = |gate, scans: [_; 2]| entrances.fixture.report(gate, "Phone", scans);
    report(b, [let_in(1, &code, "2026-07-01T17:00:00Z"), let_out(2, &code, "2026-07-01T17:30:00Z")]);
    report(b, [let_in(3, &code, "2026-07-01T18:30:00Z"), let_out(4, &code, "2026-07-01T18:40:00Z")]);
    assert_eq!(entrances.conflicts(), []);
    report(a, [let_in(5, &code, "2026-07-01T16:00:00Z"), let_out(6, &code, "2026-07-01T16:10:00Z")]);
    let conflicts = entrances.conflicts();
    let found: Vec<_> = conflicts.iter().map(|found| (found.uuid.clone(), found.outcome, found.reason)).collect();
    let invalid = (Some(scan_id(3)), ScanOutcome::WouldBeRefused, Some(Reason::NoLongerValid));
    assert_eq!(found, [invalid], "two hours from 16:00 on; who leaves is no conflict");
    assert_eq!(conflicts[0].other, None);
}

#[test]
fn a_decision_of_the_staff_is_no_conflict_and_a_check_in_of_the_office_can_be_one() {
    let entrances = Entrances::new(None);
    let (code, second, gate) = (entrances.code(), entrances.code(), &entrances.gates[0]);
    let mut on_purpose = let_in(2, &code, "2026-07-01T18:54:00Z");
    on_purpose.is_override = Some(true);
    entrances.fixture.report(gate, "Phone", [let_in(1, &code, "2026-07-01T18:52:00Z"), on_purpose]);
    assert_eq!(entrances.conflicts(), []);
    let service = &entrances.fixture.service;
    service.check_in_ticket(&entrances.fixture.caller, CheckInTicket::new(&second)).expect("checked in");
    assert_eq!(entrances.conflicts(), []);
    entrances.fixture.report(gate, "Phone", [let_in(3, &second, "2026-07-01T18:54:00Z")]);
    let conflicts = entrances.conflicts();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!((&conflicts[0].uuid, &conflicts[0].device), (&None, &None), "that of the office came later");
    assert_eq!(conflicts[0].scanned_at, at(EVENING));
}

#[test]
fn conflicts_come_with_the_part_that_has_their_tickets() {
    let entrances = Entrances::new(None);
    let codes: Vec<_> = (0..3).map(|_| entrances.code()).collect();
    entrances.fixture.clock.advance(Duration::from_secs(60));
    let cursor = entrances.changes(0, 5000).cursor;
    entrances.fixture.clock.advance(Duration::from_secs(60));
    for (code, number) in codes.iter().zip((1..).step_by(2)) {
        let scans = [let_in(number, code, "2026-07-01T18:52:00Z"), let_in(number + 1, code, "2026-07-01T18:54:00Z")];
        entrances.fixture.report(&entrances.gates[0], "Phone", scans);
    }
    let mut found = Vec::new();
    let mut since = cursor;
    loop {
        let request = GetRoster::new().since(&*since).limit(1);
        let part = entrances.fixture.service.get_roster(&entrances.gates[1], entrances.event.id, request);
        let part = part.expect("a part");
        for conflict in &part.conflicts {
            assert_eq!(part.tickets.iter().map(|ticket| ticket.ticket_id).collect::<Vec<_>>(), [conflict.ticket_id]);
        }
        found.extend(part.conflicts.into_iter().map(|conflict| conflict.ticket_id));
        if part.complete {
            break;
        }
        since = part.cursor;
    }
    // Each row of the log is a change: two of each ticket.
    assert_eq!(found.len(), 6, "{found:?}");
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 3);
}
