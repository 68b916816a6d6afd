//! Work on the whole database: backup, check, copy, restore.

pub(super) mod backup;
pub(super) mod check;
#[cfg(feature = "postgres")]
pub(super) mod copy;
pub(super) mod database_file;
pub(super) mod timed_backups;
