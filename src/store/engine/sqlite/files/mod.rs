//! The database file and its copies: where it is, backup, restore, recovery.

pub(super) mod file_copy;
pub(super) mod file_state;
pub(super) mod location;
pub(super) mod migration_copy;
pub(super) mod moved;
pub(super) mod online_backup;
pub(super) mod partial_copy;
pub(super) mod recovery;
pub(super) mod restore;
pub(super) mod sync_failure;
pub(super) mod temporary_folder;
pub(super) mod wal_owner;
