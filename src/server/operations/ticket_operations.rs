//! Operations on issued tickets, including check-in.

use axum::http::StatusCode;

use super::operation::Operation;
use crate::enums::scope::Scope::{TicketsCheckIn, TicketsRead, TicketsWrite};
use crate::error::Reason::{
    AlreadyCheckedIn, EventCancelled, EventNotOnSale, NoLongerValid, NotCheckedIn, NotValidToday, NotYetValid, SoldOut,
    TicketCancelled, WrongEvent,
};
use crate::form::request::Request;
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
