//! Work on the whole database: backup, check, copy, restore.

pub(super) mod open_database;

pub(super) mod database_file;
pub(super) mod timed_backups;
