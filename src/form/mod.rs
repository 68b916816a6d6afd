//! Reads requests from JSON and query strings, collecting every field error, and describes them for OpenAPI.

pub(crate) mod change;
#[cfg(feature = "server")]
pub(crate) mod describe;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod request;
