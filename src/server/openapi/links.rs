//! OpenAPI links: from the response of an operation that creates a resource to the operations on that resource.

use serde_json::{Map, Value, json};

use crate::server::operations::operation::Operation;

/// An operation that creates a resource.
struct Creation {
    operation: &'static str,
    /// The JSON pointer to the id in the response.
    id: &'static str,
    /// The path parameter for the id in other operations.
    parameter: &'static str,
}

const CREATIONS: [Creation; 6] = [
    Creation { operation: "create_event", id: "/id", parameter: "eventId" },
    Creation { operation: "create_ticket_type", id: "/id", parameter: "ticketTypeId" },
    Creation { operation: "create_order", id: "/order/id", parameter: "orderId" },
    Creation { operation: "issue_tickets", id: "/issuedTickets/0/id", parameter: "issuedTicketId" },
    Creation { operation: "create_discount", id: "/id", parameter: "discountId" },
    Creation { operation: "create_webhook", id: "/id", parameter: "webhookId" },
];

/// Returns links to every operation whose only path parameter is the id of the created resource.
pub(super) fn of(operation: &Operation) -> Option<Value> {
    let creation = CREATIONS.iter().find(|creation| creation.operation == operation.route.name)?;
    let mut links = Map::new();
    for other in super::super::operations::all() {
        if other.route.path.matches('{').count() == 1 && other.route.path.contains(creation.parameter) {
            let mut parameters = Map::new();
            parameters.insert(creation.parameter.to_owned(), format!("$response.body#{}", creation.id).into());
            let link = json!({"operationId": other.route.name, "parameters": parameters});
            links.insert(other.route.name.to_owned(), link);
        }
    }
    Some(Value::Object(links))
}
