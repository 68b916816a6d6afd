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

use uuid::Uuid;

use super::admission::Scanned;
use crate::error::Reason;
use crate::model::sale::event::EventStatus;
use crate::model::tickets::scan::{LoggedKind, ScanOutcome, Verdict};
use crate::model::tickets::ticket::TicketStatus;
use crate::model::values::id::ApiKeyId;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of rows of a log that is replayed. With more, a new scan is judged by the present state of the
/// ticket, as if it were the last one.
pub(crate) const MOST_REPLAYED: usize = 200;

/// A row of the log of a ticket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogRow {
    pub(crate) kind: LoggedKind,
    pub(crate) at: Timestamp,
    /// The id that the device gave. `None` if the server made the row.
    pub(crate) client_id: Option<Uuid>,
    pub(crate) api_key: Option<ApiKeyId>,
    /// `None` for rows that are no scans.
    pub(crate) verdict: Option<Verdict>,
}

impl LogRow {
    /// The position of the row in its log. Rows of the server at the same time stay in the order of their ids.
    pub(crate) fn position(&self) -> impl Ord + use<> {
        (self.at, self.kind != LoggedKind::Base, self.client_id)
    }
}

/// A ticket, and what scans have changed of it.
#[derive(Debug, Clone)]
pub(crate) struct TicketState {
    pub(crate) ticket: Scanned,
    pub(crate) checked_in_by: Option<ApiKeyId>,
    pub(crate) check_out_date: Option<Timestamp>,
    /// When the event was cancelled, if that is known.
    pub(crate) event_cancelled_at: Option<Timestamp>,
}

/// What the log says of one of its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// `None` for rows that are no scans.
    pub(crate) outcome: Option<ScanOutcome>,
    pub(crate) reason: Option<Reason>,
    /// The index of the row because of which the ticket was checked in already.
    pub(crate) other: Option<usize>,
}

/// Replays a log that is sorted by [`position`](LogRow::position). `present` is the ticket as it is stored. Returns the
/// state that follows, and a judgement of each row.
pub(crate) fn replay(present: &TicketState, log: &[LogRow]) -> (TicketState, Vec<Judgement>) {
    let mut state = present.before(log);
    let mut inside = None;
    let mut judgements = Vec::with_capacity(log.len());
    for (index, row) in log.iter().enumerate() {
        let mut judgement = state.apply(row);
        if judgement.reason == Some(Reason::AlreadyCheckedIn) {
            judgement.other = inside;
        }
        match (row.kind, judgement.outcome) {
            (LoggedKind::Base, _) | (_, Some(ScanOutcome::Admitted)) => inside = Some(index),
            (LoggedKind::Cancelled, _) | (_, Some(ScanOutcome::Left)) => inside = None,
            _ => {}
        }
        judgements.push(judgement);
    }
    (state, judgements)
}

impl TicketState {
    /// The state when the log began: without what rows of the log have set.
    fn before(&self, log: &[LogRow]) -> Self {
        let mut state = self.clone();
        let is_of_log = |at: Option<Timestamp>, kind: LoggedKind| {
            at.is_some_and(|at| {
                log.iter().any(|row| row.kind == kind && row.verdict == Some(Verdict::Admitted) && row.at == at)
            })
        };
        if is_of_log(state.ticket.first_scan_date, LoggedKind::In) {
            state.ticket.first_scan_date = None;
            state.ticket.expires_at = None;
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

    /// Changes the state by a row, and judges the row.
    pub(crate) fn apply(&mut self, row: &LogRow) -> Judgement {
        match row.kind {
            LoggedKind::Base => {
                self.enter(row);
                Judgement::default()
            }
            LoggedKind::Cancelled => {
                self.ticket.status = TicketStatus::Cancelled;
                Judgement::default()
            }
            LoggedKind::In => {
                let refusal = self.at(row.at).check_in(None, row.at).err().map(|refusal| refusal.reason);
                let is_admitted = row.verdict == Some(Verdict::Admitted);
                let outcome = match refusal {
                    _ if !is_admitted => ScanOutcome::Refused,
                    None => ScanOutcome::Admitted,
                    Some(Reason::AlreadyCheckedIn) => ScanOutcome::AdmittedTwice,
                    Some(_) => ScanOutcome::WouldBeRefused,
                };
                if outcome == ScanOutcome::Admitted {
                    if self.ticket.first_scan_date.is_none_or(|first| row.at < first) {
                        self.ticket.first_scan_date = Some(row.at);
                        self.ticket.expires_at = self.ticket.expiry_after_first_scan(row.at);
                    }
                    self.enter(row);
                }
                Judgement { outcome: Some(outcome), reason: refusal, other: None }
            }
            LoggedKind::Out => {
                let refusal = self.ticket.check_out(None).err().map(|refusal| refusal.reason);
                let outcome = match refusal {
                    _ if row.verdict != Some(Verdict::Admitted) => ScanOutcome::Refused,
                    None => ScanOutcome::Left,
                    Some(_) => ScanOutcome::WouldBeRefused,
                };
                if outcome == ScanOutcome::Left {
                    self.ticket.status = TicketStatus::NotCheckedIn;
                    self.check_out_date = Some(row.at);
                }
                Judgement { outcome: Some(outcome), reason: refusal, other: None }
            }
        }
    }

    fn enter(&mut self, row: &LogRow) {
        self.ticket.status = TicketStatus::CheckedIn;
        self.ticket.check_in_date = Some(row.at);
        self.checked_in_by = row.api_key;
    }

    /// The ticket with the status that its event had at an instant.
    fn at(&self, instant: Timestamp) -> Scanned {
        let mut ticket = self.ticket.clone();
        if self.event_cancelled_at.is_some_and(|cancelled| instant < cancelled) {
            ticket.event_status = EventStatus::Published;
        }
        ticket
    }
}
