//! The tables of events, ticket types, discounts, customers and orders.

pub(crate) mod customers;
pub(crate) mod discounts;
pub(crate) mod event_cancellations;
pub(crate) mod event_figures;
pub(crate) mod events;
pub(crate) mod order_details;
pub(crate) mod order_items;
pub(crate) mod order_status;
pub(crate) mod orders;
pub(crate) mod sales_figures;
pub(crate) mod seat_counts;
pub(crate) mod ticket_types;
