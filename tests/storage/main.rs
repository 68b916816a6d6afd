//! The database file itself: backup, integrity check, crashes, damage, full disks, upgrades.

mod backup;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod failures;
mod temporary;
mod upgrade;
