//! Devices without a connection report their scans in any order: the result is that of the order in which things happened.
//!
//! A random evening: some tickets, phones that know only what they have seen themselves, and meanwhile scans over the
//! connected routes, and cancellations. The same evening is reported several times, each time in other parts and in another
//! order, and must leave the same tickets and the same outcomes. If the clocks are right, these are the outcomes of an
//! observer who sees every entrance.

use std::collections::BTreeMap;
use std::time::Duration;

use ticketing::door::{NewScan, ScanKind, ScanOutcome, Verdict};
use ticketing::error::Reason;
use ticketing::ticket::{CheckInTicket, NewTicket, TicketStatus};
use ticketing::{Caller, Timestamp};

use crate::common::door::decided;
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::common::*;

const TICKETS: usize = 3;

/// Something that happened at the entrance, in the order of the true time.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A phone has let somebody through, or not.
    Phone {
        phone: usize,
        kind: ScanKind,
        verdict: Verdict,
    },
    /// A scan over the connected routes.
    Connected(ScanKind),
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
struct Happened {
    /// In seconds from the beginning. No two things happen at the same time.
    second: u64,
    ticket: usize,
    act: Act,
}

/// How the clocks of the phones differ from the true time, in seconds.
type Clocks = Vec<i64>;

fn evening(random: &mut Random, clocks_are_right: bool) -> (Vec<Happened>, Clocks) {
    let phones = 1 + random.below(4);
    let clocks = (0..phones).map(|_| match clocks_are_right {
        true => 0,
        false => i64::try_from(random.below(1201)).expect("small") - 600,
    });
    let clocks = clocks.collect();
    // What each phone believes: whether the holder of a ticket is inside.
    let mut inside = vec![[false; TICKETS]; phones];
    let mut second = 0;
    let happened = (0..4 + random.below(20)).map(|_| {
        second += 1 + u64::try_from(random.below(200)).expect("small");
        let ticket = random.below(TICKETS);
        let kind = random.pick(&[ScanKind::In, ScanKind::In, ScanKind::Out]);
        let act = match random.below(12) {
            0 => Act::Cancelled,
            1..=3 => Act::Connected(kind),
            _ => {
                let phone = random.below(phones);
                let known = &mut inside[phone][ticket];
                let is_right = *known == (kind == ScanKind::Out);
                // Now and then the staff decide against the phone.
                let passes = is_right || random.one_in(5);
                if passes {
                    *known = kind == ScanKind::In;
                }
                Act::Phone { phone, kind, verdict: if passes { Verdict::Admitted } else { Verdict::Refused } }
            }
        };
        Happened { second, ticket, act }
    });
    (happened.collect(), clocks)
}

/// What an observer says of the scans of the phones who sees every entrance. `connected` are the results of the scans over
/// the connected routes.
fn observed(happened: &[Happened], connected: &BTreeMap<u64, bool>) -> BTreeMap<u64, ScanOutcome> {
    let mut inside = [false; TICKETS];
    let mut cancelled = [false; TICKETS];
    let mut outcomes = BTreeMap::new();
    for Happened { second, ticket, act } in happened {
        let ticket = *ticket;
        let outcome = match *act {
            Act::Cancelled => {
                cancelled[ticket] = true;
                inside[ticket] = false;
                continue;
            }
            Act::Connected(kind) => {
                if connected[second] {
                    inside[ticket] = kind == ScanKind::In;
                }
                continue;
            }
            Act::Phone { verdict: Verdict::Refused, .. } => ScanOutcome::Refused,
            Act::Phone { .. } if cancelled[ticket] => ScanOutcome::WouldBeRefused,
            Act::Phone { kind: ScanKind::In, .. } if inside[ticket] => ScanOutcome::AdmittedTwice,
            Act::Phone { kind: ScanKind::In, .. } => {
                inside[ticket] = true;
                ScanOutcome::Admitted
            }
            Act::Phone { .. } if inside[ticket] => {
                inside[ticket] = false;
                ScanOutcome::Left
            }
            Act::Phone { .. } => ScanOutcome::WouldBeRefused,
        };
        outcomes.insert(*second, outcome);
    }
    outcomes
}

/// The status of a ticket, its check-in, check-out and first scan, and the number of scans.
type StoredTicket = (TicketStatus, [Option<Timestamp>; 3], i64);

/// What is stored after all reports.
#[derive(Debug, PartialEq)]
struct Stored {
    tickets: Vec<StoredTicket>,
    /// By the second of the scan.
    outcomes: BTreeMap<u64, (ScanOutcome, Option<Reason>)>,
}

/// One performance of an evening, with tickets of its own.
struct Performance<'f> {
    fixture: &'f Fixture,
    gate: Caller,
    event: ticketing::event::Event,
    tickets: Vec<NewTicket>,
    /// By the second of the scan.
    connected: BTreeMap<u64, bool>,
    reports: Vec<(usize, NewScan)>,
}

impl<'f> Performance<'f> {
    /// Lets the evening happen. The phones have not reported yet.
    fn new(number: u64, fixture: &'f Fixture, happened: &[Happened], clocks: &Clocks) -> Self {
        let event = fixture.event();
        let tickets = fixture.issue(&fixture.ticket_type(&event, 0, 10), i64::try_from(TICKETS).expect("small"));
        let gate = fixture.gate(&event);
        let mut performance = Self { fixture, gate, event, tickets, connected: BTreeMap::new(), reports: Vec::new() };
        for Happened { second, ticket, act } in happened {
            fixture.clock.set(time(*second, 0));
            let NewTicket { id, code, .. } = &performance.tickets[*ticket];
            match *act {
                Act::Cancelled => drop(fixture.service.cancel_ticket(&fixture.caller, *id)),
                Act::Connected(kind) => {
                    let scan = CheckInTicket::new(code);
                    let passed = match kind {
                        ScanKind::In => fixture.service.check_in_ticket(&fixture.caller, scan).is_ok(),
                        _ => fixture.service.check_out_ticket(&fixture.caller, scan).is_ok(),
                    };
                    performance.connected.insert(*second, passed);
                }
                Act::Phone { phone, kind, verdict } => {
                    let scan = decided(number << 32 | *second, kind, code, time(*second, clocks[phone]), verdict);
                    performance.reports.push((phone, scan));
                }
            }
        }
        performance
    }

    /// Reports the scans in random parts and order. Returns the outcomes as they were answered.
    fn report(&self, random: &mut Random) -> BTreeMap<u64, ScanOutcome> {
        let mut left = self.reports.clone();
        for index in (1..left.len()).rev() {
            left.swap(index, random.below(index + 1));
        }
        let mut answered = BTreeMap::new();
        while !left.is_empty() {
            let phone = left[left.len() - 1].0;
            let most = 1 + random.below(6);
            let mut part = Vec::new();
            left.retain(|(of, scan)| {
                let is_taken = *of == phone && part.len() < most;
                if is_taken {
                    part.push(scan.clone());
                }
                !is_taken
            });
            let results = self.fixture.report(&self.gate, &format!("Phone {phone}"), part);
            answered.extend(results.into_iter().map(|result| (second_of(&result.id), result.outcome)));
        }
        answered
    }

    fn stored(&self) -> Stored {
        let tickets = self.tickets.iter().map(|ticket| {
            let ticket = self.fixture.service.get_ticket(&self.fixture.caller, ticket.id).expect("the ticket");
            let dates = [ticket.check_in_date, ticket.check_out_date, ticket.first_scan_date];
            (ticket.status, dates, ticket.scan_count)
        });
        let outcome = |scan: ticketing::door::LoggedScan| {
            Some((second_of(&scan.uuid?), (scan.outcome.expect("a scan has an outcome"), scan.reason)))
        };
        let outcomes = self.fixture.scan_log(&self.event).into_iter().filter_map(outcome).collect();
        Stored { tickets: tickets.collect(), outcomes }
    }
}

/// The second of a scan, from its id.
fn second_of(id: &str) -> u64 {
    u64::from_str_radix(&id[id.len() - 8..], 16).expect(id)
}

fn time(second: u64, clock: i64) -> Timestamp {
    let start = at("2026-06-01T18:00:00Z").millis();
    let millis = start + (i64::try_from(second).expect("small") + clock) * 1000;
    Timestamp::from_millis(millis).expect("in range")
}

fn run(seed: u64, clocks_are_right: bool) -> bool {
    let random = &mut Random::new(seed);
    let (happened, clocks) = evening(random, clocks_are_right);
    let fixture = Fixture::new();
    let performances: Vec<_> = (0..3)
        .map(|number| {
            fixture.clock.set(at(NOW));
            Performance::new(number, &fixture, &happened, &clocks)
        })
        .collect();
    fixture.clock.set(time(happened.last().map_or(0, |last| last.second) + 60, 0));
    let mut arrivals = Vec::new();
    let mut stored = Vec::new();
    for performance in &performances {
        arrivals.push(performance.report(random));
        stored.push(performance.stored());
        fixture.clock.advance(Duration::from_secs(30));
    }
    for other in &stored[1..] {
        assert_eq!(*other, stored[0], "seed {seed}: {happened:#?}, clocks {clocks:?}");
    }
    // Everybody who came in is in the log.
    for (_, scan) in &performances[0].reports {
        let (outcome, _) = stored[0].outcomes[&second_of(&scan.id)];
        assert_eq!(outcome == ScanOutcome::Refused, scan.verdict == Some(Verdict::Refused), "seed {seed}: {}", scan.id);
    }
    if clocks_are_right {
        let outcomes: BTreeMap<_, _> = stored[0].outcomes.iter().map(|(id, (outcome, _))| (*id, *outcome)).collect();
        let expected = observed(&happened, &performances[0].connected);
        assert_eq!(outcomes, expected, "seed {seed}: {happened:#?}");
    }
    arrivals.iter().any(|arrival| arrival != &arrivals[0])
}

#[test]
fn scans_of_phones_without_a_connection_merge_in_the_order_in_which_they_happened() {
    let mut differ = 0;
    let first = first_seed();
    let seeds = first..first + repetitions("TICKETING_SCAN_MERGES", 40);
    for seed in seeds.clone() {
        differ += usize::from(run(seed, seed.is_multiple_of(2)));
    }
    // The control: judged as they arrive, the same scans have other outcomes in another order.
    assert!(differ > 0, "no seed of {seeds:?} could have found that the order matters");
}
