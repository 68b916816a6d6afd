//! Operations on allocations, and imports of tickets that were sold elsewhere.

use axum::http::StatusCode;

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{TicketsRead, TicketsWrite};
use crate::error::Reason::{
    AllocationNotComplete, AlreadyAssigned, AlreadyCheckedIn, CodeTaken, EventCancelled, EventNotOnSale, SoldOut,
    TicketCancelled, TicketImported,
};
#[cfg(feature = "documents")]
use crate::model::sale::allocation::GetAllocationDocument;
use crate::model::sale::allocation::{CreateAllocation, ListAllocations};
use crate::model::sale::ticket::AssignTicket;
use crate::model::sale::ticket_import::ImportTickets;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(
            create,
            create_allocation::<CreateAllocation>(keyed, id),
            "/ticket-types/{ticketTypeId}/allocations",
            TicketsWrite,
            |allocation| &allocation.id
        )
        .docs(
            "Create an allocation",
            "Sets tickets aside, for example for a guest list or another seller. Takes seats as a sale does. The tickets are \
             issued in the background, without an order and without a customer, until the allocation is COMPLETE.",
        )
        .conflicts(&[EventCancelled, EventNotOnSale, SoldOut]),
        operation!(list, list_allocations::<ListAllocations>(caller), "/allocations", TicketsRead)
            .docs("List allocations", "Newest first, with those of imported tickets."),
        operation!(get, get_allocation(caller, id), "/allocations/{allocationId}", TicketsRead).docs(
            "Get an allocation",
            "With the numbers of its tickets that are issued, cancelled, and checked in.",
        ),
        operation!(action_on, cancel_allocation(keyed, id), "/allocations/{allocationId}/cancel", TicketsWrite).docs(
            "Cancel an allocation",
            "Cancels its tickets in the background, and their seats can be sold. Those whose holders are or were inside stay \
             valid. Those that are not issued yet will not be.",
        ),
        #[cfg(feature = "documents")]
        operation!(
            document_part,
            get_allocation_document::<GetAllocationDocument>(caller, id),
            "/allocations/{allocationId}/tickets.pdf",
            TicketsRead
        )
        .docs(
            "Get tickets of an allocation as PDF",
            "Up to 500 tickets, from the number `from` on, without those that are cancelled; if all are, there is no \
             document (410).",
        )
        .conflicts(&[TicketImported, AllocationNotComplete]),
        operation!(
            action,
            assign_ticket::<AssignTicket>(keyed, id),
            "/tickets/{issuedTicketId}/assign",
            TicketsWrite
        )
        .docs(
            "Assign a ticket",
            "Gives a ticket of an allocation to a customer, who gets a mail with it if the service sends mails.",
        )
        .conflicts(&[TicketImported, TicketCancelled, AlreadyCheckedIn, AlreadyAssigned]),
        operation!(
            action,
            import_tickets::<ImportTickets>(keyed, id),
            "/ticket-types/{ticketTypeId}/imports",
            TicketsWrite
        )
        .returns(StatusCode::CREATED)
        .docs(
            "Import tickets",
            "Tickets that were sold elsewhere, with the codes of their seller: all of the request, or none. They have no \
             order and no money, and nobody gets a mail. Codes that are not possible are listed in `errors` (422), and so \
             are codes of other tickets of the event (409).",
        )
        .conflicts(&[EventCancelled, EventNotOnSale, AllocationNotComplete, CodeTaken, SoldOut]),
    ]
}
