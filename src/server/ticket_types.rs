//! Ticket types over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::scope::Scope::{TicketTypesRead, TicketTypesWrite};
use crate::model::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(
            ("list_ticket_types", "/events/{eventId}/ticket-types", TicketTypesRead),
            |call, request: Request<ListTicketTypes>| call.service.list_ticket_types(call.caller, call.id(), request),
        ),
        Operation::create(
            ("create_ticket_type", "/events/{eventId}/ticket-types", TicketTypesWrite),
            |call, request: Request<CreateTicketType>| call.service.create_ticket_type(call.caller, call.id(), request),
            |ticket_type| format!("ticket-types/{}", ticket_type.id),
        ),
        Operation::get_revised(("get_ticket_type", "/ticket-types/{ticketTypeId}", TicketTypesRead), |call| {
            call.service.get_ticket_type(call.caller, call.id())
        }),
        Operation::update(
            ("update_ticket_type", "/ticket-types/{ticketTypeId}", TicketTypesWrite),
            |call, changes: Request<UpdateTicketType>| call.service.update_ticket_type(call.caller, call.id(), changes),
        ),
        Operation::delete(("delete_ticket_type", "/ticket-types/{ticketTypeId}", TicketTypesWrite), |call| {
            call.service.delete_ticket_type(call.caller, call.id())
        }),
    ]
}
