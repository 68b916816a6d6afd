//! The tables of events, ticket types, discounts, customers and orders.

pub(crate) mod cancellation_runs;
pub(crate) mod customers;
pub(crate) mod discounts;
pub(crate) mod event_cancellations;
pub(crate) mod event_figures;
pub(crate) mod event_lists;
pub(crate) mod event_sales;
pub(crate) mod events;
pub(crate) mod gateway_identity;
pub(crate) mod order_items;
pub(crate) mod sales_figures;
pub(crate) mod seat_counts;
pub(crate) mod ticket_types;
