//! Operations on ticket types.

use super::operation::Operation;
use crate::enums::scope::Scope::{TicketTypesRead, TicketTypesWrite};
use crate::error::Reason::{InUse, LimitReached, QuantityBelowSold};
use crate::form::request::Request;
use crate::model::sale::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(
            "list_ticket_types",
            "/events/{eventId}/ticket-types",
            TicketTypesRead,
            |call, request: ListTicketTypes| call.service.list_ticket_types(call.caller, call.id(), request),
        )
        .docs("List an event's ticket types", "Ordered by `sortOrder`, then oldest first."),
        Operation::create(
            "create_ticket_type",
            "/events/{eventId}/ticket-types",
            TicketTypesWrite,
            |call, request: Request<CreateTicketType>| call.service.create_ticket_type(call.keyed, call.id(), request),
            |ticket_type| format!("ticket-types/{}", ticket_type.id),
        )
        .docs("Create a ticket type", "An event may have at most 500 ticket types.")
        .conflicts(&[LimitReached]),
        Operation::get_with_etag("get_ticket_type", "/ticket-types/{ticketTypeId}", TicketTypesRead, |call| {
            call.service.get_ticket_type(call.caller, call.id())
        })
        .docs("Get a ticket type", ""),
        Operation::update(
            "update_ticket_type",
            "/ticket-types/{ticketTypeId}",
            TicketTypesWrite,
            |call, changes: Request<UpdateTicketType>| {
                call.service.update_ticket_type(call.conditional, call.id(), changes)
            },
        )
        .docs("Update a ticket type", "Absent fields keep their value. Existing orders keep their prices.")
        .conflicts(&[QuantityBelowSold]),
        Operation::delete("delete_ticket_type", "/ticket-types/{ticketTypeId}", TicketTypesWrite, |call| {
            call.service.delete_ticket_type(call.conditional, call.id())
        })
        .docs("Delete a ticket type", "A ticket type that was ever ordered or issued cannot be deleted.")
        .conflicts(&[InUse]),
    ]
}
