//! Compares the summary of the event with figures that are counted from the model.

use ticketing::order::OrderStatus;
use ticketing::ticket::TicketStatus;

use super::System;
use super::model::{Model, Order};
use crate::common::eur;

/// Asserts that every figure of the summary is that of the model.
pub fn compare(system: &System, model: &Model) {
    #[cfg(feature = "exports")]
    crate::common::settlements::assert_settled(
        system.service(),
        &system.fixture.caller,
        system.event,
        "the settlement",
    );
    let summary = system.service().get_event_summary(&system.fixture.caller, system.event).expect("a summary");
    let orders =
        |status: OrderStatus| count((0..model.orders.len()).filter(|order| model.order_status(*order) == status));
    let by_status = summary.orders_by_status;
    assert_eq!(
        (by_status.pending, by_status.completed, by_status.cancelled, by_status.expired),
        (
            orders(OrderStatus::Pending),
            orders(OrderStatus::Completed),
            orders(OrderStatus::Cancelled),
            orders(OrderStatus::Expired)
        ),
        "the orders by status"
    );

    // An order that was ever completed has tickets.
    let is_completed = |order: usize| model.tickets.iter().any(|ticket| ticket.order == Some(order));
    let completed: Vec<&Order> =
        model.orders.iter().enumerate().filter(|(index, _)| is_completed(*index)).map(|(_, order)| order).collect();
    let total = |is_counted: fn(&Order) -> bool| {
        eur(completed.iter().filter(|order| is_counted(order)).map(|order| order.total).sum())
    };
    assert_eq!(summary.gross_revenue, total(|_| true), "the gross revenue");
    let discounts = completed.iter().filter_map(|order| order.discounted).sum();
    assert_eq!(summary.discount_total, eur(discounts), "the discounts");
    let paid_by_gateway = completed.iter().filter(|order| order.paid_by_gateway);
    let refunded = eur(paid_by_gateway.map(|order| order.given_back).sum());
    assert_eq!(summary.refunded_total, refunded, "the refunds");
    assert_eq!(summary.manual_payment_total, total(|order| !order.paid_by_gateway), "the manual payments");
    // The gateway of this test makes every refund.
    let manual_refunds = completed.iter().map(|order| order.manual).sum();
    assert_eq!(summary.manual_refund_total, eur(manual_refunds), "the manual refunds");

    let tickets = |status: TicketStatus| count(model.tickets.iter().filter(|ticket| ticket.status == status));
    assert_eq!(summary.tickets_issued, count(&model.tickets), "the tickets");
    assert_eq!(summary.tickets_checked_in, tickets(TicketStatus::CheckedIn), "the checked-in tickets");
    assert_eq!(summary.tickets_cancelled, tickets(TicketStatus::Cancelled), "the cancelled tickets");
    compare_types(system, model, &summary.ticket_types);
    let revenues = summary.ticket_types.iter().map(|ticket_type| ticket_type.revenue.minor_units()).sum();
    assert_eq!(summary.gross_revenue, eur(revenues), "the revenues of the types");
}

fn compare_types(system: &System, model: &Model, summaries: &[ticketing::event::TicketTypeSummary]) {
    for (index, ticket_type) in model.types.iter().enumerate() {
        let id = system.types[index];
        let Some(summary) = summaries.iter().find(|summary| summary.ticket_type_id == id) else {
            assert!(ticket_type.deleted, "{id} is missing");
            continue;
        };
        let mut reserved = model.set_aside(index);
        for (order, of_order) in model.orders.iter().enumerate() {
            if model.order_status(order) == OrderStatus::Pending {
                let items = of_order.items.iter().filter(|item| item.ticket_type == index);
                reserved += items.map(|item| item.quantity).sum::<i64>();
            }
        }
        let inside =
            |ticket: &&super::model::Ticket| ticket.ticket_type == index && ticket.status == TicketStatus::CheckedIn;
        let checked_in = count(model.tickets.iter().filter(inside));
        let without_order = |imported| {
            let is_counted = |ticket: &&super::model::Ticket| {
                let is_valid = ticket.order.is_none() && ticket.status != TicketStatus::Cancelled;
                ticket.ticket_type == index && is_valid && ticket.imported == imported
            };
            count(model.tickets.iter().filter(is_counted))
        };
        let counts = (without_order(false), without_order(true));
        assert_eq!((summary.issued_without_order, summary.imported), counts, "{id}");
        assert_eq!(
            (summary.sold, summary.reserved, summary.available, summary.checked_in),
            (ticket_type.sold, reserved, ticket_type.quantity - ticket_type.sold - reserved, checked_in),
            "{id}"
        );
    }
}

fn count<T>(found: impl IntoIterator<Item = T>) -> i64 {
    i64::try_from(found.into_iter().count()).expect("few")
}
