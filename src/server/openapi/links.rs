//! Where to go from what was made.

use serde_json::{Map, Value, json};

use super::super::operation::Operation;

/// The operations that make something: where its id is in their answer, and the parameter that takes it.
const MADE: &[(&str, &str, &str)] = &[
    ("create_event", "/id", "eventId"),
    ("create_ticket_type", "/id", "ticketTypeId"),
    ("create_order", "/order/id", "orderId"),
    ("issue_tickets", "/issuedTickets/0/id", "issuedTicketId"),
    ("create_discount", "/id", "discountId"),
    ("create_webhook", "/id", "webhookId"),
];

/// The operations on what an operation makes.
pub(super) fn of(operation: &Operation) -> Option<Value> {
    let (_, pointer, parameter) = MADE.iter().find(|(name, ..)| *name == operation.name)?;
    let takes_it = |other: &Operation| other.path.matches('{').count() == 1 && other.path.contains(parameter);
    let link = |other: Operation| {
        let link = json!({
            "operationId": other.name,
            "parameters": {(*parameter).to_owned(): format!("$response.body#{pointer}")},
        });
        (other.name.to_owned(), link)
    };
    let links: Map<_, _> = super::super::operations().filter(takes_it).map(link).collect();
    Some(Value::Object(links))
}
