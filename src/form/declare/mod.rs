//! Declarations: macros that declare a request, from which its reading, its setters and its schema follow.

pub(crate) mod fields;
pub(crate) mod schema;
pub(crate) mod setters;
pub(crate) mod writable_fields;
