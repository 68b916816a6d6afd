//! What every request passes: its caller, limits, permits and body.

pub(super) mod base_path;
pub(super) mod blocking;
pub(super) mod body;
pub(super) mod call;
pub(super) mod caller;
pub(super) mod direct_look_ups;
#[cfg(feature = "exports")]
pub(super) mod export_body;
pub(super) mod held_bytes;
pub(super) mod query;
pub(super) mod rate_limit;
pub(super) mod refusal_log;
pub(in crate::server) mod representation;
