//! The database file itself: backup, integrity check, crashes, damage, full disks, upgrades.

mod backup;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod failed_sync;
mod failures;
mod io_faults;
mod io_operations;
#[cfg(unix)]
mod permissions;
mod power_failures;
mod power_loss;
mod restore;
mod temporary;
mod upgrade;
