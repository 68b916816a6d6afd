//! Operations on the documents and links of tickets and orders.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{OrdersRead, TicketsRead, TicketsWrite};
use crate::error::Reason::{OrderNotCompleted, TicketImported};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(document, get_ticket_document(caller, id), "/tickets/{issuedTicketId}/document", TicketsRead)
            .docs(
                "Get an issued ticket as PDF",
                "With its QR code. A cancelled ticket has no document (410). If ticket documents are not switched on, \
             there is none (404).",
            )
            .conflicts(&[TicketImported]),
        operation!(document, get_order_document(caller, id), "/orders/{orderId}/document", OrdersRead)
            .docs(
                "Get all tickets of an order as PDF",
                "Without those that are cancelled; if all are, there is no document (410).",
            )
            .also_requires(TicketsRead)
            .conflicts(&[OrderNotCompleted]),
        operation!(action_on, renew_ticket_link(keyed, id), "/tickets/{issuedTicketId}/renew-link", TicketsWrite)
            .docs(
                "Renew the link of an issued ticket",
                "For a link that somebody else got to know. Returns the ticket with a new `downloadTicketUrl`; the \
             earlier one is answered with 404. The code of the ticket stays the same.",
            )
            .conflicts(&[TicketImported]),
    ]
}
