//! Metadata: strings that an organization attaches to a resource.

use std::collections::BTreeMap;

/// Metadata of a resource: strings by name, which the service stores and returns, and does not interpret.
///
/// The names have 1 to 255 characters. Names and values together have at most 16,384 bytes in UTF-8.
pub type Metadata = BTreeMap<String, String>;
