//! Changes of what is sold and of who sells it: events, ticket types, discounts, organizations, webhook endpoints.

pub(crate) mod discount_changes;
pub(in crate::sales) mod discount_use;
pub(crate) mod event_changes;
#[cfg(feature = "event-pages")]
pub(crate) mod event_pages;
pub(crate) mod hold_releases;
pub(crate) mod holds;
pub(in crate::sales) mod inventory;
#[cfg(feature = "mail")]
pub(crate) mod mail_settings_changes;
pub(crate) mod organization_changes;
pub(super) mod references;
pub(crate) mod ticket_type_changes;
pub(crate) mod webhook_changes;
