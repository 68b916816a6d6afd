//! Issued tickets, and the door, over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::scope::Scope::{TicketsCheckIn, TicketsRead, TicketsWrite};
use crate::model::ticket::{CheckInTicket, IssueTickets, ListTickets};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(("list_tickets", "/tickets", TicketsRead), |call, request: Request<ListTickets>| {
            call.service.list_tickets(call.caller, request)
        }),
        Operation::create_several(
            ("issue_tickets", "/tickets/issue", TicketsWrite),
            |call, request: Request<IssueTickets>| call.service.issue_tickets(call.caller, request),
        ),
        Operation::act(
            ("check_in_ticket", "/tickets/check-in", TicketsCheckIn),
            |call, scan: Request<CheckInTicket>| call.service.check_in_ticket(call.caller, scan),
        ),
        Operation::act(
            ("check_out_ticket", "/tickets/check-out", TicketsCheckIn),
            |call, scan: Request<CheckInTicket>| call.service.check_out_ticket(call.caller, scan),
        ),
        Operation::get(("get_ticket", "/tickets/{issuedTicketId}", TicketsRead), |call| {
            call.service.get_ticket(call.caller, call.id())
        }),
        Operation::act_on(("cancel_ticket", "/tickets/{issuedTicketId}/cancel", TicketsWrite), |call| {
            call.service.cancel_ticket(call.caller, call.id())
        }),
    ]
}
