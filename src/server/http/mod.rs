//! One request: its authentication, limits, body, conditions and problems.

pub(super) mod base_path;
pub(super) mod blocking;
pub(super) mod body;
pub(super) mod call;
pub(super) mod caller;
pub(super) mod conditions;
#[cfg(feature = "exports")]
pub(super) mod export_body;
pub(super) mod held_bytes;
pub(super) mod middleware;
pub(super) mod problem;
pub(super) mod query;
pub(super) mod rate_limit;
pub(super) mod refusal_log;
pub(super) mod request;
pub(super) mod request_id;
