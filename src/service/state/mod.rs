//! [`TicketingService`](ticketing_service::TicketingService), and what it holds.

pub(in crate::service) mod clock_history;
pub(in crate::service) mod deferred_rows;
pub(in crate::service) mod downtime;
pub(in crate::service) mod notification_handler;
pub(in crate::service) mod sold_out_events;
pub(in crate::service) mod threads;
pub(in crate::service) mod ticketing_service;
