//! Issued tickets, and the door, over HTTP.

use super::operation::{Answer, Call, Operation};
use super::problem::Problem;
use crate::model::scope::Scope::{TicketsCheckIn, TicketsRead, TicketsWrite};

pub(super) const OPERATIONS: [Operation; 6] = [
    Operation::get("/tickets", TicketsRead, list),
    Operation::post("/tickets/issue", TicketsWrite, issue),
    Operation::post("/tickets/check-in", TicketsCheckIn, check_in),
    Operation::post("/tickets/check-out", TicketsCheckIn, check_out),
    Operation::get("/tickets/{issuedTicketId}", TicketsRead, get),
    Operation::act("/tickets/{issuedTicketId}/cancel", TicketsWrite, cancel),
];

fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.list_tickets(call.caller, call.query()?)?)
}

fn issue(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::created(&call.service.issue_tickets(call.caller, call.json()?)?)
}

fn check_in(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.check_in_ticket(call.caller, call.json()?)?)
}

fn check_out(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.check_out_ticket(call.caller, call.json()?)?)
}

fn get(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_ticket(call.caller, call.id()?)?)
}

fn cancel(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.cancel_ticket(call.caller, call.id()?)?)
}
