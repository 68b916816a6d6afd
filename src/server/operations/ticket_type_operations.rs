//! Operations on ticket types.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{TicketTypesRead, TicketTypesWrite};
use crate::error::Reason::{InUse, LimitReached, QuantityBelowSold};
use crate::model::sale::ticket_type::{CreateTicketType, ListTicketTypes, UpdateTicketType};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(
            list,
            list_ticket_types::<ListTicketTypes>(caller, id),
            "/events/{eventId}/ticket-types",
            TicketTypesRead
        )
        .docs("List an event's ticket types", "Ordered by `sortOrder`, then oldest first."),
        operation!(
            create,
            create_ticket_type::<CreateTicketType>(keyed, id),
            "/events/{eventId}/ticket-types",
            TicketTypesWrite,
            |ticket_type| &ticket_type.id
        )
        .docs("Create a ticket type", "An event may have at most 500 ticket types.")
        .conflicts(&[LimitReached]),
        operation!(get_with_etag, get_ticket_type(caller, id), "/ticket-types/{ticketTypeId}", TicketTypesRead)
            .docs("Get a ticket type", ""),
        operation!(
            update,
            update_ticket_type::<UpdateTicketType>(conditional, id),
            "/ticket-types/{ticketTypeId}",
            TicketTypesWrite
        )
        .docs("Update a ticket type", "Absent fields keep their value. Existing orders keep their prices.")
        .conflicts(&[QuantityBelowSold]),
        operation!(delete, delete_ticket_type(conditional, id), "/ticket-types/{ticketTypeId}", TicketTypesWrite)
            .docs("Delete a ticket type", "A ticket type that was ever ordered or issued cannot be deleted.")
            .conflicts(&[InUse]),
    ]
}
