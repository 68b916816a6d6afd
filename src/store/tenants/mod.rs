//! The tables of organizations, API keys and idempotency records.

pub(crate) mod api_keys;
pub(crate) mod change_context;
pub(crate) mod idempotency_records;
pub(crate) mod organization_usage;
pub(crate) mod organizations;
