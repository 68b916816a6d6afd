//! The kinds of resources that can be missing.

use crate::enums::text_enum::text_enum;

text_enum! {
    /// A kind of resource that can be missing.
    pub enum ResourceKind {
        /// An organization.
        Organization = "organization",
        /// An API key.
        ApiKey = "API key",
        /// A link for the staff of an entrance.
        DoorLink = "door link",
        /// An event.
        Event = "event",
        /// A ticket type.
        TicketType = "ticket type",
        /// An allocation.
        Allocation = "allocation",
        /// A run that cancels the orders of an event.
        CancellationRun = "cancellation run",
        /// An order.
        Order = "order",
        /// A checkout page of the sandbox.
        Checkout = "checkout",
        /// A refund.
        Refund = "refund",
        /// An issued ticket.
        Ticket = "ticket",
        /// A ticket document.
        TicketDocument = "ticket document",
        /// A discount.
        Discount = "discount",
        /// A webhook endpoint.
        WebhookEndpoint = "webhook endpoint",
        /// A delivery to a webhook endpoint.
        WebhookDelivery = "webhook delivery",
        /// A mail.
        Mail = "mail",
    }
}
