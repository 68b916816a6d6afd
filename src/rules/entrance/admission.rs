//! Admission: whether a scanned ticket can be checked in or out.

use std::time::Duration;

use crate::error::{Conflict, Reason};
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::TicketStatus;
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::{Day, EventDays};

/// A scanned ticket, with the fields that decide whether it can be checked in or out.
#[derive(Debug, Clone)]
pub(crate) struct Scanned {
    pub(crate) event_id: EventId,
    pub(crate) event_status: EventStatus,
    pub(crate) days: EventDays,
    pub(crate) status: TicketStatus,
    pub(crate) check_in_date: Option<Timestamp>,
    pub(crate) first_scan_date: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) valid_from: Option<Timestamp>,
    pub(crate) valid_until: Option<Timestamp>,
    /// The only days on which it admits; empty if it admits on any day.
    pub(crate) allowed_days: Vec<Day>,
    pub(crate) validity_days: Option<i64>,
    pub(crate) validity_hours: Option<i64>,
}

fn refuse(reason: Reason, detail: impl Into<String>) -> Result<(), Conflict> {
    Err(Conflict { reason, detail: detail.into(), errors: Vec::new() })
}

impl Scanned {
    /// Checks that the ticket can be checked in at the entrance of `event`, or of any event if it is `None`. Returns
    /// the first reason against it.
    pub(crate) fn check_in(&self, event: Option<EventId>, now: Timestamp) -> Result<(), Conflict> {
        let today = self.days.day(now);
        self.check_event(event)?;
        self.check_not_cancelled()?;
        if self.event_status == EventStatus::Cancelled {
            return refuse(Reason::EventCancelled, "the event is cancelled");
        }
        if let Some(from) = self.valid_from.filter(|from| now < *from) {
            return refuse(Reason::NotYetValid, format!("the ticket is valid from {from}"));
        }
        let ends = [self.valid_until, self.expires_at].into_iter().flatten().min();
        if let Some(end) = ends.filter(|end| now >= *end) {
            return refuse(Reason::NoLongerValid, format!("the ticket was valid until {end}"));
        }
        if !self.allowed_days.is_empty() && !self.allowed_days.contains(&today) {
            return refuse(Reason::NotValidToday, "the ticket is not valid today");
        }
        if self.status == TicketStatus::CheckedIn && !self.may_enter_again(today) {
            return refuse(Reason::AlreadyCheckedIn, "the ticket is already checked in");
        }
        Ok(())
    }

    /// Checks that the ticket can be checked out at the entrance of `event`, or of any event if it is `None`.
    pub(crate) fn check_out(&self, event: Option<EventId>) -> Result<(), Conflict> {
        self.check_event(event)?;
        self.check_not_cancelled()?;
        if self.status != TicketStatus::CheckedIn {
            return refuse(Reason::NotCheckedIn, "the ticket is not checked in");
        }
        Ok(())
    }

    /// Returns when the ticket expires if its first accepted scan is at `now`; `None` if it does not expire by that.
    pub(crate) fn expiry_after_first_scan(&self, now: Timestamp) -> Option<Timestamp> {
        let days = self.validity_days.map(|days| self.days.start_of(self.days.day(now), days));
        let hours = self
            .validity_hours
            .map(|hours| now.saturating_add(Duration::from_hours(hours.unsigned_abs().min(1 << 40))));
        [days, hours].into_iter().flatten().min()
    }

    fn check_event(&self, event: Option<EventId>) -> Result<(), Conflict> {
        if event.is_some_and(|event| event != self.event_id) {
            return refuse(Reason::WrongEvent, "the ticket is for another event");
        }
        Ok(())
    }

    fn check_not_cancelled(&self) -> Result<(), Conflict> {
        if self.status == TicketStatus::Cancelled {
            return refuse(Reason::TicketCancelled, "the ticket is cancelled");
        }
        Ok(())
    }

    /// Whether a checked-in ticket can be checked in again: a ticket for several days can once a day, even if its
    /// holder did not check out.
    fn may_enter_again(&self, today: Day) -> bool {
        let several_days = self.allowed_days.len() > 1 || self.validity_days.is_some_and(|days| days > 1);
        several_days && self.check_in_date.is_some_and(|entered| self.days.day(entered) < today)
    }
}
