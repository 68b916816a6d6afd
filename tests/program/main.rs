//! The program `ticketing`: its options, its log, and the commands of the README.

mod backups;
mod cli;
#[path = "../common/mod.rs"]
mod common;
mod door;
mod exports;
mod failed_sync;
mod memory;
mod readme;
mod server_log;
mod stripe;
