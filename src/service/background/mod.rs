//! Work without a caller: maintenance, webhook senders and notification handlers.

mod allocation_changes;
pub(super) mod clock_check;
pub(super) mod due_notifications;
pub(super) mod gateway_work;
pub(super) mod handler_calls;
#[cfg(feature = "mail")]
mod mail_pace;
#[cfg(feature = "mail")]
mod mail_reminders;
#[cfg(feature = "mail")]
mod mail_sending;
#[cfg(feature = "mail")]
pub(super) mod mail_work;
pub(super) mod maintenance;
pub(super) mod maintenance_steps;
pub(super) mod row_changes;
pub(super) mod webhook_sender;
