//! Operations on issued tickets, including check-in.

use axum::http::StatusCode;

use super::operation::Operation;
use crate::enums::scope::Scope::{TicketsCheckIn, TicketsRead, TicketsWrite};
use crate::error::Reason::{
    AlreadyCheckedIn, EventCancelled, EventNotOnSale, NoDoorLink, NoLongerValid, NotCheckedIn, NotValidToday,
    NotYetValid, SoldOut, TicketCancelled, WrongEvent,
};
use crate::form::request::Request;
use crate::model::tickets::roster::GetRoster;
use crate::model::tickets::scan::{ListScans, UploadScans};
use crate::model::tickets::ticket::{CheckInTicket, IssueTickets, ListTickets};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_tickets", "/tickets", TicketsRead, |call, request: ListTickets| {
            call.service.list_tickets(call.caller, request)
        })
        .docs("List issued tickets", "Newest first."),
        Operation::action("issue_tickets", "/tickets/issue", TicketsWrite, |call, request: Request<IssueTickets>| {
            call.service.issue_tickets(call.keyed, request)
        })
        .returns(StatusCode::CREATED)
        .docs("Issue tickets without an order", "Takes seats as a sale does. The ticket type may have any status.")
        .conflicts(&[EventCancelled, EventNotOnSale, SoldOut]),
        Operation::action(
            "check_in_ticket",
            "/tickets/check-in",
            TicketsCheckIn,
            |call, scan: Request<CheckInTicket>| call.service.check_in_ticket(call.keyed, scan),
        )
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
        Operation::action(
            "check_out_ticket",
            "/tickets/check-out",
            TicketsCheckIn,
            |call, scan: Request<CheckInTicket>| call.service.check_out_ticket(call.keyed, scan),
        )
        .docs("Check out a ticket", "")
        .conflicts(&[WrongEvent, TicketCancelled, NotCheckedIn]),
        Operation::list("get_roster", "/events/{eventId}/roster", TicketsCheckIn, |call, request: GetRoster| {
            call.service.get_roster(call.caller, call.id(), request)
        })
        .docs(
            "Get the roster of an event",
            "For devices at the entrance that decide without a connection: the rules of admission, and the tickets with \
             a hash in place of each code, and without names. First come all tickets, in parts; after that, with the \
             `cursor` of the last answer as `since`, what has changed. The event needs a door link.",
        )
        .conflicts(&[NoDoorLink]),
        Operation::action(
            "upload_scans",
            "/tickets/scans",
            TicketsCheckIn,
            |call, request: Request<UploadScans>| call.service.upload_scans(call.keyed, request),
        )
        .docs(
            "Report scans",
            "Adds the scans of a device to the log of its event. Those without a verdict are decided on now. A scan whose \
             id is in the log already is not added again. All scans of a ticket are judged in the order in which they \
             happened, whoever reports them when: a later report can change an outcome.",
        )
        .conflicts(&[NoDoorLink]),
        Operation::list("list_scans", "/events/{eventId}/scans", TicketsRead, |call, request: ListScans| {
            call.service.list_scans(call.caller, call.id(), request)
        })
        .docs("List the scans of an event", "Newest first, with cancelled tickets. The log begins with the first door link."),
        Operation::get("get_ticket", "/tickets/{issuedTicketId}", TicketsRead, |call| {
            call.service.get_ticket(call.caller, call.id())
        })
        .docs("Get an issued ticket", ""),
        Operation::action_on("cancel_ticket", "/tickets/{issuedTicketId}/cancel", TicketsWrite, |call| {
            call.service.cancel_ticket(call.keyed, call.id())
        })
        .docs("Cancel an issued ticket", "Its seat can be sold again.")
        .conflicts(&[TicketCancelled]),
    ]
}
