//! What only a PostgreSQL database has. Each test starts servers of its own, and is skipped if PostgreSQL is not installed.
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
mod options;
mod program;
