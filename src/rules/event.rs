//! Validation of events, and the transitions of their status.

use std::time::Duration;

use super::money::amount_limits;
use super::ticket_type::NotOnSale;
use super::{Checked, calendar, text};
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::sale::event::{EventFields, EventStatus};
use crate::model::values::timestamp::Timestamp;

/// How long an event without an end lasts.
const DEFAULT_DURATION: Duration = Duration::from_hours(24);

/// When an event is over: at its end, or a day after its start.
pub(crate) fn over_at(start: Timestamp, end: Option<Timestamp>) -> Timestamp {
    end.unwrap_or_else(|| start.saturating_add(DEFAULT_DURATION))
}

impl EventFields {
    pub(crate) fn over_at(&self) -> Timestamp {
        over_at(self.start_date, self.end_date)
    }

    /// The text that searches look through.
    pub(crate) fn search_text(&self) -> String {
        search_text(&self.title, &self.slug)
    }
}

pub(crate) fn check(fields: EventFields, mut errors: FieldErrors) -> Result<Checked<EventFields>> {
    amount_limits::check_currency(&mut errors, "currency", &fields.currency);
    calendar::check_zone(&mut errors, "timezone", &fields.timezone);
    let ends_after_start = fields.end_date.is_none_or(|end| end >= fields.start_date);
    errors.check(ends_after_start, "endDate", "must not be before startDate");
    errors.into_result().map(|()| Checked(fields))
}

/// The text that searches look through: one line each for the title and the slug, in the form in which they are
/// compared.
pub(crate) fn search_text(title: &str, slug: &str) -> String {
    format!("{}\n{}", search_line(title), search_line(slug))
}

/// Converts a text that is searched, or searched for, into one line in the form in which it is compared, so that no
/// match spans two lines.
pub(crate) fn search_line(text: &str) -> String {
    text::fold(text).replace('\n', " ")
}

/// The status of an event at the time `now`: an event on sale or sold out is EXPIRED once it has ended.
pub(crate) fn status_at(stored: EventStatus, over_at: Timestamp, now: Timestamp) -> EventStatus {
    match stored {
        EventStatus::Published | EventStatus::SoldOut if now >= over_at => EventStatus::Expired,
        other => other,
    }
}

/// Checks that an event is on sale at the time `now`.
pub(crate) fn check_on_sale(stored: EventStatus, over_at: Timestamp, now: Timestamp) -> Result<(), NotOnSale> {
    match status_at(stored, over_at, now) {
        EventStatus::Published => Ok(()),
        other => Err(NotOnSale::Event(other)),
    }
}

/// Checks that an update may change the status of an event. `over_at` is the end of the event after the update.
pub(crate) fn check_transition(
    from: EventStatus,
    to: EventStatus,
    over_at: Timestamp,
    now: Timestamp,
    has_live_orders_or_tickets: bool,
) -> Result<()> {
    use EventStatus::{Cancelled, Drafted, Expired, Published, SoldOut};
    let refuse = |why: &str| {
        let detail = format!("an event cannot change from {from} to {to}{why}");
        Err(Error::conflict(Reason::InvalidTransition, detail))
    };
    match (from, to) {
        (Published, Drafted) if has_live_orders_or_tickets => {
            refuse(" because it has pending or completed orders, or tickets")
        }
        (Expired, Published) if over_at <= now => refuse(" because its end is in the past"),
        (Drafted | SoldOut, Published | Expired | Cancelled)
        | (Published, Drafted | SoldOut | Expired | Cancelled)
        | (Expired, Published | Cancelled) => Ok(()),
        _ if from == to => Ok(()),
        _ => refuse(""),
    }
}
