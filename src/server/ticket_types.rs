//! Ticket types over HTTP.

use super::operation::{Answer, Call, Operation};
use super::problem::Problem;
use crate::model::scope::Scope::{TicketTypesRead, TicketTypesWrite};

pub(super) const OPERATIONS: [Operation; 5] = [
    Operation::get("/events/{eventId}/ticket-types", TicketTypesRead, list),
    Operation::post("/events/{eventId}/ticket-types", TicketTypesWrite, create),
    Operation::get("/ticket-types/{ticketTypeId}", TicketTypesRead, get),
    Operation::patch("/ticket-types/{ticketTypeId}", TicketTypesWrite, update),
    Operation::delete("/ticket-types/{ticketTypeId}", TicketTypesWrite, delete),
];

fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    let request = call.query()?;
    Answer::ok(&call.service.list_ticket_types(call.caller, call.id()?, request)?)
}

fn create(call: &Call<'_>) -> Result<Answer, Problem> {
    let request = call.json()?;
    let ticket_type = call.service.create_ticket_type(call.caller, call.id()?, request)?;
    Ok(Answer::created(&ticket_type)?.at("ticket-types", ticket_type.id))
}

fn get(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_ticket_type(call.caller, call.id()?)?)
}

fn update(call: &Call<'_>) -> Result<Answer, Problem> {
    let changes = call.json()?;
    Answer::ok(&call.service.update_ticket_type(call.caller, call.id()?, changes)?)
}

fn delete(call: &Call<'_>) -> Result<Answer, Problem> {
    call.service.delete_ticket_type(call.caller, call.id()?)?;
    Ok(Answer::nothing())
}
