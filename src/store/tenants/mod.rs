//! The tables of organizations, API keys and idempotency records.

pub(crate) mod api_keys;
pub(crate) mod change_context;
pub(crate) mod idempotency_records;
#[cfg(feature = "mail")]
pub(crate) mod mail_settings;
pub(crate) mod organization_usage;
pub(crate) mod organizations;
