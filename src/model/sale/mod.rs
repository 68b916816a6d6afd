//! What is sold, and to whom: events, ticket types, discounts, orders, customers.

pub(crate) mod allocation;
pub(crate) mod cancellation_run;
pub(crate) mod customer;
pub(crate) mod discount;
pub(crate) mod discount_value;
pub(crate) mod event;
#[cfg(feature = "event-pages")]
pub(crate) mod event_page;
#[cfg(feature = "server")]
pub(crate) mod event_report;
pub(crate) mod event_sales;
pub(crate) mod gateway_account;
pub(crate) mod mail;
pub(crate) mod new_order;
pub(crate) mod order;
#[cfg(any(feature = "server", feature = "mail"))]
pub(crate) mod receipt;
pub(crate) mod received_payment;
pub(crate) mod refund;
#[cfg(feature = "exports")]
pub(crate) mod settlement;
pub(crate) mod summary;
pub(crate) mod ticket;
pub(crate) mod ticket_import;
pub(crate) mod ticket_type;
