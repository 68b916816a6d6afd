//! What follows from the log of the scans of a ticket.
//!
//! Devices at the entrance decide without a connection and report later, in any order. So each report replays the whole
//! log of a ticket, in the order in which things happened. These laws hold as long as the rules of the event and of the
//! ticket type stay the same:
//! - The result depends on what is in the log, and not on the order in which it was reported.
//! - No scan is dropped: an admission that the rules refuse is still in the log, with the reason.
//! - The outcome of a scan depends only on itself and on what happened before it.
//! - Between two admissions of a ticket with the outcome `ADMITTED`, its holder left, or it admits once a day.
//! - A holder who was let in has the outcome `ADMITTED_TWICE` exactly if the ticket was checked in at that time, and nothing else
//!   speaks against it.

use super::admission::Scanned;
use crate::error::Reason;
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::scan::{LoggedKind, LoggedScan, ScanOutcome, Verdict};
use crate::model::values::id::ApiKeyId;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of rows of the log of a ticket, besides its cancellation. Beyond it, a new scan is not logged: it
/// is judged by the present state of the ticket, as if it were the last one.
pub(crate) const MOST_REPLAYED: usize = 200;

/// The greatest number of rows without a ticket that an API key can add to logs.
pub(crate) const MOST_WITHOUT_TICKET: usize = 1000;

/// A ticket, and what scans have changed of it.
#[derive(Debug, Clone)]
pub(crate) struct TicketState {
    pub(crate) ticket: Scanned,
    pub(crate) checked_in_by: Option<ApiKeyId>,
    pub(crate) check_out_date: Option<Timestamp>,
    /// The status of the event now, and when the event was cancelled, if that is known.
    pub(crate) event_status: EventStatus,
    pub(crate) event_cancelled_at: Option<Timestamp>,
    /// The first check-in that the log has set, and the expiry that is stored since: a change of the rules does not move it.
    pub(crate) stored_expiry: Option<(Timestamp, Option<Timestamp>)>,
}

/// What the log says of one of its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// `None` for rows that are no scans.
    pub(crate) outcome: Option<ScanOutcome>,
    pub(crate) reason: Option<Reason>,
    /// The index of the earlier admission, if the ticket was checked in already.
    pub(crate) other: Option<usize>,
}

/// A log that is replayed, row by row, in the order of the [positions](LoggedScan::position).
#[derive(Debug)]
pub(crate) struct Replay {
    /// What follows from the rows so far.
    pub(crate) state: TicketState,
    /// One of each row so far.
    pub(crate) judgements: Vec<Judgement>,
    /// The row since which the ticket is checked in.
    inside: Option<usize>,
}

impl From<TicketState> for Replay {
    fn from(state: TicketState) -> Self {
        Self { state, judgements: Vec::new(), inside: None }
    }
}

impl Replay {
    pub(crate) fn push(&mut self, row: &LoggedScan) {
        let index = self.judgements.len();
        let mut judgement = self.state.apply(row);
        if judgement.reason == Some(Reason::AlreadyCheckedIn) {
            judgement.other = self.inside;
        }
        match (row.kind, judgement.outcome) {
            (LoggedKind::Base, _) | (_, Some(ScanOutcome::Admitted)) => self.inside = Some(index),
            (LoggedKind::Cancelled, _) | (_, Some(ScanOutcome::Left)) => self.inside = None,
            _ => {}
        }
        self.judgements.push(judgement);
    }
}

impl TicketState {
    /// The state when the log began: without what its rows have set.
    pub(crate) fn before(&self, log: &[&LoggedScan]) -> Self {
        let mut state = self.clone();
        let is_of_log = |at: Option<Timestamp>, kind: LoggedKind| {
            let is_source = |row: &LoggedScan| row.kind == kind && row.verdict == Some(Verdict::Admitted);
            at.is_some_and(|at| log.iter().any(|row| row.scanned_at == at && is_source(row)))
        };
        if is_of_log(state.ticket.first_scan_date, LoggedKind::In) {
            let expires_at = state.ticket.expires_at.take();
            state.stored_expiry = state.ticket.first_scan_date.take().map(|first| (first, expires_at));
        }
        if is_of_log(state.ticket.check_in_date, LoggedKind::In) {
            state.ticket.check_in_date = None;
            state.checked_in_by = None;
        }
        if is_of_log(state.check_out_date, LoggedKind::Out) {
            state.check_out_date = None;
        }
        let is_cancelled_later = log.iter().any(|row| row.kind == LoggedKind::Cancelled);
        if state.ticket.status != TicketStatus::Cancelled || is_cancelled_later {
            state.ticket.status = TicketStatus::NotCheckedIn;
        }
        state
    }

    pub(crate) fn decide(&mut self, kind: LoggedKind, now: Timestamp) -> Verdict {
        self.ticket.event_status = self.event_status;
        let decision =
            if kind == LoggedKind::Out { self.ticket.check_out(None) } else { self.ticket.check_in(None, now) };
        if decision.is_ok() { Verdict::Admitted } else { Verdict::Refused }
    }

    /// Changes the state by a row, and judges the row.
    pub(crate) fn apply(&mut self, row: &LoggedScan) -> Judgement {
        let refusal = match row.kind {
            LoggedKind::Base => {
                if self.ticket.status != TicketStatus::Cancelled {
                    self.enter(row);
                }
                return Judgement::default();
            }
            LoggedKind::Cancelled => {
                self.ticket.status = TicketStatus::Cancelled;
                return Judgement::default();
            }
            LoggedKind::In => {
                let is_before = self.event_cancelled_at.is_some_and(|cancelled| row.scanned_at < cancelled);
                self.ticket.event_status = if is_before { EventStatus::Published } else { self.event_status };
                self.ticket.check_in(None, row.scanned_at)
            }
            LoggedKind::Out => self.ticket.check_out(None),
        };
        let reason = refusal.err().map(|refusal| refusal.reason);
        let outcome = match (reason, row.kind) {
            _ if row.verdict != Some(Verdict::Admitted) => ScanOutcome::Refused,
            (Some(Reason::AlreadyCheckedIn), _) => ScanOutcome::AdmittedTwice,
            (Some(_), _) => ScanOutcome::WouldBeRefused,
            (None, LoggedKind::Out) => {
                self.ticket.status = TicketStatus::NotCheckedIn;
                self.check_out_date = Some(row.scanned_at);
                ScanOutcome::Left
            }
            (None, _) => {
                if self.ticket.first_scan_date.is_none_or(|first| row.scanned_at < first) {
                    self.ticket.first_scan_date = Some(row.scanned_at);
                    self.ticket.expires_at = match self.stored_expiry {
                        Some((first, expires_at)) if first == row.scanned_at => expires_at,
                        _ => self.ticket.expiry_after_first_scan(row.scanned_at),
                    };
                }
                self.enter(row);
                ScanOutcome::Admitted
            }
        };
        Judgement { outcome: Some(outcome), reason, other: None }
    }

    fn enter(&mut self, row: &LoggedScan) {
        self.ticket.status = TicketStatus::CheckedIn;
        self.ticket.check_in_date = Some(row.scanned_at);
        self.checked_in_by = row.api_key_id;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::model::values::id::EventId;
    use crate::rules::calendar::{EventDays, Zone};

    /// A linear congruential generator, so that each run has the same scans.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }

        fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
            values[usize::try_from(self.below(values.len() as u64)).unwrap()]
        }

        /// An instant around a base: often exactly a whole hour, or a millisecond beside one.
        fn around(&mut self, base: Timestamp) -> Timestamp {
            let within = self.one_of(&[3, 96]);
            let hours = base.saturating_add(Duration::from_hours(self.below(within)));
            match self.below(4) {
                0 => hours,
                1 => hours.checked_sub(Duration::from_millis(1)).unwrap(),
                2 => hours.saturating_add(Duration::from_millis(1)),
                _ => hours.saturating_add(Duration::from_secs(self.below(3600))),
            }
        }

        fn sometimes<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
            (self.below(3) == 0).then(|| value(self))
        }
    }

    const ZONES: [&str; 10] = [
        "Europe/Berlin",
        "America/New_York",
        "America/Sao_Paulo",
        "America/St_Johns",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "Europe/London",
        "UTC",
    ];

    const STARTS_OF_DAYS: [&str; 5] = ["00:00", "02:00", "03:00", "06:00", "23:59"];

    /// Days on or before which clocks change in some of the zones.
    const BASES: [&str; 6] = [
        "2026-10-23T00:00:00Z",
        "2026-03-27T00:00:00Z",
        "2018-11-02T12:00:00Z",
        "2011-12-28T12:00:00Z",
        "2026-06-10T22:00:00Z",
        "2028-02-27T12:00:00Z",
    ];

    /// Hours in which clocks change, so that the day of an event begins in an hour that is skipped or comes twice.
    const CHANGES: [(&str, &str, &str); 6] = [
        ("Europe/Berlin", "2026-03-29T00:00:00Z", "02:30"),
        ("Europe/Berlin", "2026-10-25T00:00:00Z", "02:30"),
        ("America/Santiago", "2026-04-05T02:00:00Z", "23:30"),
        ("America/Santiago", "2026-09-06T03:00:00Z", "00:30"),
        ("Australia/Lord_Howe", "2026-04-04T14:00:00Z", "01:45"),
        ("Australia/Lord_Howe", "2026-10-03T15:00:00Z", "02:15"),
    ];

    fn state(numbers: &mut Numbers, base: Timestamp, days: EventDays, allowed_dates: &[Timestamp]) -> TicketState {
        let is_inside = numbers.below(4) == 0;
        let ticket = Scanned {
            event_id: EventId::from_raw(1),
            event_status: if numbers.below(8) == 0 { EventStatus::Cancelled } else { EventStatus::Published },
            days,
            status: match numbers.below(12) {
                0 => TicketStatus::Cancelled,
                _ if is_inside => TicketStatus::CheckedIn,
                _ => TicketStatus::NotCheckedIn,
            },
            check_in_date: is_inside.then(|| numbers.around(base)),
            first_scan_date: is_inside.then(|| numbers.around(base)),
            expires_at: if is_inside { numbers.sometimes(|numbers| numbers.around(base)) } else { None },
            valid_from: numbers.sometimes(|numbers| numbers.around(base)),
            valid_until: numbers.sometimes(|numbers| numbers.around(base)),
            allowed_days: allowed_dates.iter().map(|date| days.day(*date)).collect(),
            validity_days: numbers.sometimes(|numbers| i64::try_from(numbers.below(4) + 1).unwrap()),
            validity_hours: numbers.sometimes(|numbers| i64::try_from(numbers.below(60) + 1).unwrap()),
        };
        let event_cancelled_at = numbers.sometimes(|numbers| numbers.around(base));
        let event_status = ticket.event_status;
        let (checked_in_by, check_out_date, stored_expiry) = (None, None, None);
        TicketState { ticket, checked_in_by, check_out_date, event_status, event_cancelled_at, stored_expiry }
    }

    fn of_ticket(state: &TicketState) -> Value {
        let Scanned { status, check_in_date, first_scan_date, expires_at, .. } = &state.ticket;
        let millis = |at: &Option<Timestamp>| at.map(Timestamp::millis);
        json!({"status": status, "checkInDate": millis(check_in_date), "firstScanDate": millis(first_scan_date),
            "expiresAt": millis(expires_at)})
    }

    /// A ticket with scans of it, and what the rules say of each. The devices at the entrance decide in the same way: with
    /// the variable `TICKETING_DOOR_VECTORS`, the vectors are written to that file, and `.ci/door/run` compares them.
    fn vector(numbers: &mut Numbers, reasons: &mut BTreeMap<String, usize>) -> Value {
        let (mut zone, mut base) = (numbers.one_of(&ZONES), numbers.one_of(&BASES));
        let mut day_starts_at = numbers.sometimes(|numbers| numbers.one_of(&STARTS_OF_DAYS));
        if numbers.below(4) == 0 {
            let change = numbers.one_of(&CHANGES);
            (zone, base, day_starts_at) = (change.0, change.1, Some(change.2));
        }
        let base = base.parse().unwrap();
        let allowed_dates: Vec<_> = (0..numbers.below(4)).map(|_| numbers.around(base)).collect();
        let days = EventDays::new(Zone::of(zone).unwrap(), day_starts_at).unwrap();
        let mut state = state(numbers, base, days, &allowed_dates);
        let millis = |at: Option<Timestamp>| at.map(Timestamp::millis);
        let Scanned { valid_from, valid_until, validity_days, validity_hours, .. } = &state.ticket;
        let mut vector = json!({
            "event": {
                "timezone": zone, "dayStartsAt": day_starts_at,
                "status": state.ticket.event_status, "cancelledAt": millis(state.event_cancelled_at),
            },
            "type": {
                "validFrom": millis(*valid_from), "validUntil": millis(*valid_until),
                "allowedDates": allowed_dates.iter().map(|date| date.millis()).collect::<Vec<_>>(),
                "validityDays": validity_days, "validityHours": validity_hours,
            },
            "ticket": of_ticket(&state),
        });
        let ends = [*valid_from, *valid_until, state.ticket.expires_at, state.event_cancelled_at];
        let ends: Vec<_> = ends.into_iter().flatten().collect();
        let mut instants: Vec<_> = (0..4)
            .map(|_| match numbers.below(2) {
                0 if !ends.is_empty() => {
                    let before = numbers.one_of(&ends).checked_sub(Duration::from_millis(1)).unwrap();
                    before.saturating_add(Duration::from_millis(numbers.below(3)))
                }
                _ => numbers.around(base),
            })
            .collect();
        instants.sort_unstable();
        let scans = instants.into_iter().map(|at| {
            let kind = if numbers.below(4) == 0 { LoggedKind::Out } else { LoggedKind::In };
            let scan = LoggedScan::new(EventId::from_raw(1), None, kind, at, at);
            let row = LoggedScan { verdict: Some(Verdict::Admitted), ..scan };
            let reason = state.apply(&row).reason.map(|reason| reason.as_str().to_owned());
            *reasons.entry(reason.clone().unwrap_or_default()).or_default() += 1;
            json!({"kind": kind, "at": at.millis(), "reason": reason, "after": of_ticket(&state)})
        });
        vector["scans"] = scans.collect();
        vector
    }

    #[test]
    fn vectors_for_other_implementations_have_every_reason() {
        let mut numbers = Numbers(1);
        let mut reasons = BTreeMap::new();
        let vectors: Vec<_> = (0..5000).map(|_| vector(&mut numbers, &mut reasons)).collect();
        assert!(reasons.len() == 8 && reasons.values().all(|count| *count > 100), "{reasons:?}");
        if let Some(path) = std::env::var_os("TICKETING_DOOR_VECTORS") {
            let mut file = std::fs::File::create(path).unwrap();
            for vector in &vectors {
                writeln!(file, "{vector}").unwrap();
            }
        }
    }
}
