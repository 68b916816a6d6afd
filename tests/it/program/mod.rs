//! The program `ticketing`: its options, its log, and the commands of the README.

mod backups;
mod cli;
mod door;
mod exports;
mod failed_sync;
mod imports;
mod mail;
mod memory;
mod readme;
mod reports;
mod server_log;
mod stripe;
