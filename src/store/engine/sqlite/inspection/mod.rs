//! Looking at a database file: its integrity and its indexes.

pub(super) mod file;
pub(super) mod index_check;
pub(super) mod integrity;
