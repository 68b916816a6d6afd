//! Notifications, and the webhook endpoints that get them.

pub(crate) mod handler_notification;
pub(crate) mod notification;
pub(crate) mod notification_data;
pub(crate) mod notification_types;
pub(crate) mod webhook;
