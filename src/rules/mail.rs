//! When mails are tried again, and which are not sent any more.

use std::time::Duration;

use crate::model::sale::event::{Event, EventStatus};
use crate::model::sale::mail::MailKind;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject};
use crate::model::values::timestamp::Timestamp;

/// The pauses after the first failures.
const FIRST_PAUSES: [Duration; 4] =
    [Duration::from_mins(1), Duration::from_mins(5), Duration::from_mins(15), Duration::from_hours(1)];

/// The pause after each later failure.
const LATER_PAUSE: Duration = Duration::from_hours(1);

/// How many times a mail is tried again after the later pause.
const LATER_RETRIES: i64 = 48;

/// The longest time until a mail is due, and more: it may wait for others, or for the limit of an hour.
pub(crate) const LATEST_DUE: Duration = Duration::from_hours(25);

/// The greatest length of the text that the relay answers, as far as it is stored, in characters.
pub(crate) const ANSWER_LENGTH: usize = 500;

/// How long after its failure number `failures` a mail is tried again. `None` if it is given up.
pub(crate) fn delay_after(failures: i64) -> Option<Duration> {
    let index = usize::try_from(failures - 1).unwrap_or(0);
    match FIRST_PAUSES.get(index) {
        Some(pause) => Some(*pause),
        None => (failures <= 4 + LATER_RETRIES).then_some(LATER_PAUSE),
    }
}

/// Why a mail is not sent any more. `None` if it still says what is true.
pub(crate) fn reason_to_drop(facts: &MailFacts, now: Timestamp) -> Option<&'static str> {
    if !facts.settings.mail_enabled {
        return Some("mail is switched off");
    }
    match (&facts.subject, facts.mail.kind) {
        (MailSubject::Order(order), MailKind::Tickets) => {
            let (event, order) = (&order.page.event, &order.page.order);
            if order.status != OrderStatus::Completed {
                return Some("the order is cancelled");
            }
            no_ticket_left(event, order.tickets().map(|ticket| ticket.status))
        }
        (MailSubject::Order(order), MailKind::PaymentReminder) => {
            let page = &order.page;
            if page.order.status != OrderStatus::Pending || page.event.status == EventStatus::Cancelled {
                return Some("the order is not pending any more");
            }
            let is_over = page.receipt.details.hold_until.is_some_and(|until| until <= now);
            is_over.then_some("the order has expired")
        }
        (MailSubject::Tickets(tickets), MailKind::Tickets) => {
            no_ticket_left(&tickets.first()?.event, tickets.iter().map(|linked| linked.ticket.status))
        }
        _ => None,
    }
}

fn no_ticket_left(event: &Event, mut tickets: impl Iterator<Item = TicketStatus>) -> Option<&'static str> {
    if event.status == EventStatus::Cancelled {
        return Some("the event is cancelled");
    }
    tickets.all(|status| status == TicketStatus::Cancelled).then_some("the tickets are cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_tried_again_after_1_5_15_and_60_minutes_and_then_each_hour_for_48_hours() {
        let delays: Vec<_> = (1..).map_while(delay_after).collect();
        let minutes: Vec<_> = delays.iter().map(|delay| delay.as_secs() / 60).collect();
        assert_eq!(minutes[..4], [1, 5, 15, 60]);
        assert_eq!(minutes[4..], [60; 48]);
        assert_eq!(delay_after(53), None);
    }
}
