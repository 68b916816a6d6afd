//! Looking at a database file: what it is, and its integrity.

pub(super) mod file;
pub(super) mod integrity;
