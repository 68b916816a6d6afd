//! The database file itself: backup, integrity check, crashes, damage, full disks, upgrades.

mod backup;
mod check;
mod crashes;
mod failed_sync;
mod failures;
mod history;
mod io_faults;
mod io_operations;
mod make_fixture;
#[cfg(unix)]
mod permissions;
mod power_failures;
mod power_loss;
mod restore;
#[cfg(feature = "ring")]
mod stopped_log;
mod temporary;
pub mod upgrade;
mod upgrade_from_0_3_0;
mod upgrade_of_keys;
mod upgrade_of_scans;
