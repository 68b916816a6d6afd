//! OpenAPI links: from the response of an operation that creates a resource to the operations on that resource.

use serde_json::{Map, Value, json};

use super::super::operation::Operation;

/// An operation that creates a resource.
struct Creates {
    operation: &'static str,
    /// Where the response has the id, as a JSON pointer.
    id: &'static str,
    /// The path parameter of other operations that takes the id.
    parameter: &'static str,
}

const CREATES: [Creates; 6] = [
    Creates { operation: "create_event", id: "/id", parameter: "eventId" },
    Creates { operation: "create_ticket_type", id: "/id", parameter: "ticketTypeId" },
    Creates { operation: "create_order", id: "/order/id", parameter: "orderId" },
    Creates { operation: "issue_tickets", id: "/issuedTickets/0/id", parameter: "issuedTicketId" },
    Creates { operation: "create_discount", id: "/id", parameter: "discountId" },
    Creates { operation: "create_webhook", id: "/id", parameter: "webhookId" },
];

/// Links to every operation whose only path parameter is the id of the created resource.
pub(super) fn of(operation: &Operation) -> Option<Value> {
    let created = CREATES.iter().find(|creates| creates.operation == operation.name)?;
    let mut links = Map::new();
    for other in super::super::operations::all() {
        if other.path.matches('{').count() == 1 && other.path.contains(created.parameter) {
            let mut parameters = Map::new();
            parameters.insert(created.parameter.to_owned(), format!("$response.body#{}", created.id).into());
            let link = json!({"operationId": other.name, "parameters": parameters});
            links.insert(other.name.to_owned(), link);
        }
    }
    Some(Value::Object(links))
}
