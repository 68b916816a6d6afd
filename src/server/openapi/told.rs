//! What the document tells of each operation beside what its types say.

use crate::error::Reason::{
    self, AlreadyCheckedIn, CodeTaken, DiscountUsedUp, EventCancelled, EventNotOnSale, InUse, InvalidTransition,
    MaxPerOrderExceeded, NoLongerValid, NotCheckedIn, NotValidToday, NotYetValid, OrderNotCancellable, OrderNotPending,
    QuantityBelowSold, SaleEnded, SaleNotStarted, SlugTaken, SoldOut, TicketCancelled, TicketTypeNotOnSale, WrongEvent,
};

/// What is told of one operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// Which states of things can stand in its way.
    pub(super) conflicts: &'static [Reason],
}

/// Of an operation that is not in the table, no more than its types say. The tests demand that each is in it.
pub(super) fn about(operation: &str) -> Option<Told> {
    let (_, summary, description, conflicts) = *TABLE.iter().find(|(name, ..)| *name == operation)?;
    Some(Told { summary, description, conflicts })
}

type Row = (&'static str, &'static str, &'static str, &'static [Reason]);

const TABLE: &[Row] = &[
    ("list_events", "List events", "The newest first.", &[]),
    ("create_event", "Create an event", "It is DRAFTED unless the request says otherwise.", &[SlugTaken]),
    ("get_event", "Read an event", "", &[]),
    (
        "update_event",
        "Change an event",
        "A field that is absent stays as it is. Setting the status to CANCELLED cancels the event's pending orders.",
        &[SlugTaken, InvalidTransition, InUse],
    ),
    (
        "update_event_settings",
        "Change an event's settings",
        "What an event carries beside its sale. A field that is absent stays as it is.",
        &[],
    ),
    ("record_page_view", "Count a page view", "Adds one to the event's `pageViews`, each time it is called.", &[]),
    (
        "delete_event",
        "Delete an event",
        "With its ticket types and discounts. An event with orders or tickets cannot be deleted.",
        &[InUse],
    ),
    ("get_event_summary", "Sum up an event", "Figures that agree with orders and tickets at one instant.", &[]),
    (
        "list_ticket_types",
        "List an event's ticket types",
        "By `sortOrder`, and the older first where it is equal.",
        &[],
    ),
    ("create_ticket_type", "Create a ticket type", "", &[]),
    ("get_ticket_type", "Read a ticket type", "", &[]),
    (
        "update_ticket_type",
        "Change a ticket type",
        "A field that is absent stays as it is. Orders keep the price that they were made at.",
        &[QuantityBelowSold],
    ),
    ("delete_ticket_type", "Delete a ticket type", "One that was ever ordered or issued cannot be deleted.", &[InUse]),
    ("list_orders", "List orders", "The newest first, without their issued tickets.", &[]),
    (
        "create_order",
        "Place an order",
        "An order that costs nothing is COMPLETED at once. Any other holds its places for a while and waits for its \
         payment at `checkoutUrl`. Several things may stand in the way; the first in the order of the reasons is told.",
        &[EventNotOnSale, TicketTypeNotOnSale, SaleNotStarted, SaleEnded, MaxPerOrderExceeded, SoldOut],
    ),
    ("get_order", "Read an order", "", &[]),
    ("get_order_details", "Read what an order's request said", "What the order itself does not show.", &[]),
    (
        "cancel_order",
        "Cancel an order",
        "Its places and the use of its discount return, its tickets are cancelled, and what was paid through the \
         gateway goes back.",
        &[OrderNotCancellable],
    ),
    (
        "mark_order_paid",
        "Mark an order as paid",
        "For money that came another way than through the gateway. An EXPIRED order is revived where its places and \
         the use of its discount are still there.",
        &[OrderNotPending, EventCancelled, SoldOut, DiscountUsedUp],
    ),
    ("mark_checkout_reminder_sent", "Note that a customer was reminded to pay", "", &[OrderNotPending]),
    ("list_tickets", "List issued tickets", "The newest first.", &[]),
    (
        "issue_tickets",
        "Issue tickets without an order",
        "Takes places as a sale does, whatever the status of the ticket type.",
        &[EventCancelled, EventNotOnSale, SoldOut],
    ),
    (
        "check_in_ticket",
        "Let a ticket in",
        "Of two scans at once one is accepted. A scan that is refused counts as a scan.",
        &[WrongEvent, TicketCancelled, EventCancelled, NotYetValid, NoLongerValid, NotValidToday, AlreadyCheckedIn],
    ),
    ("check_out_ticket", "Let a ticket out", "", &[WrongEvent, TicketCancelled, NotCheckedIn]),
    ("get_ticket", "Read an issued ticket", "", &[]),
    ("cancel_ticket", "Cancel an issued ticket", "Its place returns.", &[TicketCancelled]),
    ("list_discounts", "List discounts", "The newest first.", &[]),
    ("create_discount", "Create a discount", "", &[CodeTaken]),
    (
        "validate_discount",
        "Ask what a code takes off a basket",
        "A code that does not apply is no problem: the answer says why. Nothing is used up.",
        &[],
    ),
    ("get_discount", "Read a discount", "", &[]),
    (
        "update_discount",
        "Change a discount",
        "A field that is absent stays as it is. Orders keep what they were given.",
        &[CodeTaken],
    ),
    ("delete_discount", "Delete a discount", "One that an order ever used cannot be deleted.", &[InUse]),
    ("list_webhooks", "List webhook endpoints", "The newest first.", &[]),
    (
        "create_webhook",
        "Register a webhook endpoint",
        "The answer carries the signing secret, which is shown here and on rotation only.",
        &[],
    ),
    ("get_webhook", "Read a webhook endpoint", "", &[]),
    (
        "update_webhook",
        "Change a webhook endpoint",
        "A field that is absent stays as it is. While it is not enabled, what it has waits; what waits of a type that is \
         taken out of `events` is dropped.",
        &[],
    ),
    ("delete_webhook", "Delete a webhook endpoint", "What is still to be sent to it is dropped.", &[]),
    (
        "rotate_webhook_secret",
        "Replace a webhook endpoint's secret",
        "The answer carries the new signing secret, which is shown here alone. The old one counts no more.",
        &[],
    ),
    ("list_webhook_deliveries", "List a webhook endpoint's deliveries", "One for each attempt, the newest first.", &[]),
    (
        "resend_webhook_delivery",
        "Send a notification again",
        "The same notification, with attempts counted from 1 again. While the endpoint is not enabled it waits. What the \
         endpoint no longer wants to hear of is not sent.",
        &[InvalidTransition],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_told_of_every_operation() {
        for operation in crate::server::operations() {
            assert!(about(operation.name).is_some(), "{}", operation.name);
        }
    }
}
