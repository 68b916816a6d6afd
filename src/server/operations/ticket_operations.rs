//! Operations on issued tickets, including check-in.

use axum::http::StatusCode;

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{TicketsCheckIn, TicketsRead, TicketsWrite};
use crate::error::Reason::{
    AlreadyCheckedIn, EventCancelled, EventNotOnSale, NoDoorLink, NoLongerValid, NotCheckedIn, NotValidToday,
    NotYetValid, SoldOut, TicketCancelled, WrongEvent,
};
use crate::model::tickets::roster::GetRoster;
use crate::model::tickets::scan::{ListScans, UploadScans};
use crate::model::tickets::ticket::{CheckInTicket, IssueTickets, ListTickets};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_tickets::<ListTickets>(caller), "/tickets", TicketsRead)
            .docs("List issued tickets", "Newest first."),
        operation!(action, issue_tickets::<IssueTickets>(keyed), "/tickets/issue", TicketsWrite)
            .returns(StatusCode::CREATED)
            .docs("Issue tickets without an order", "Takes seats as a sale does. The ticket type may have any status.")
            .conflicts(&[EventCancelled, EventNotOnSale, SoldOut]),
        operation!(action, check_in_ticket::<CheckInTicket>(keyed), "/tickets/check-in", TicketsCheckIn)
            .docs(
                "Check in a ticket",
                "Of two simultaneous scans of a ticket, one is accepted. Refused scans count in `scanCount` too.",
            )
            .conflicts(&[
                WrongEvent,
                TicketCancelled,
                EventCancelled,
                NotYetValid,
                NoLongerValid,
                NotValidToday,
                AlreadyCheckedIn,
            ]),
        operation!(action, check_out_ticket::<CheckInTicket>(keyed), "/tickets/check-out", TicketsCheckIn)
            .docs("Check out a ticket", "")
            .conflicts(&[WrongEvent, TicketCancelled, NotCheckedIn]),
        operation!(list, get_roster::<GetRoster>(caller, id), "/events/{eventId}/roster", TicketsCheckIn)
            .docs(
                "Get the roster of an event",
                "For devices at the entrance that decide without a connection: the rules of admission, and the \
                 tickets with a hash in place of each code, and without names. First come all tickets, in parts; \
                 after that, with the `cursor` of the last answer as `since`, what has changed. The event needs a \
                 door link.",
            )
            .conflicts(&[NoDoorLink]),
        operation!(action, upload_scans::<UploadScans>(keyed), "/tickets/scans", TicketsCheckIn)
            .docs(
                "Report scans",
                "Adds the scans of a device to the log of its event. Those without a verdict are decided on now. A \
                 scan whose id is in the log already is not added again. All scans of a ticket are judged in the \
                 order in which they happened, whoever reports them when: a later report can change an outcome.",
            )
            .conflicts(&[NoDoorLink]),
        operation!(list, list_scans::<ListScans>(caller, id), "/events/{eventId}/scans", TicketsRead).docs(
            "List the scans of an event",
            "Newest first, with cancelled tickets. The log begins with the first door link.",
        ),
        operation!(get, get_ticket(caller, id), "/tickets/{issuedTicketId}", TicketsRead)
            .docs("Get an issued ticket", ""),
        operation!(action_on, cancel_ticket(keyed, id), "/tickets/{issuedTicketId}/cancel", TicketsWrite)
            .docs("Cancel an issued ticket", "Its seat can be sold again.")
            .conflicts(&[TicketCancelled]),
    ]
}
