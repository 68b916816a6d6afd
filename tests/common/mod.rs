//! What the tests and the benches share. The center is [`Fixture`]: a service over a database file of its own.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each group of tests uses its own part of this")]

pub mod assertions;
pub mod clock;
#[cfg(feature = "postgres")]
pub mod cluster;
pub mod database;
pub mod door;
pub mod fixture;
pub mod fuzz;
pub mod gateway;
pub mod hanging_gateway;
pub mod invariants;
#[cfg(feature = "webhooks")]
pub mod issuer;
pub mod log;
pub mod long_runs;
pub mod outbox;
pub mod pictures;
#[cfg(feature = "postgres")]
pub mod postgres_server;
pub mod processes;
#[cfg(feature = "program")]
pub mod program;
pub mod python;
pub mod random;
pub mod receiver;
pub mod resolver;
pub mod responses;
pub mod sales;
pub mod seller;
#[cfg(feature = "exports")]
pub mod settlements;
pub mod shop;
pub mod skipped;
pub mod sources;
#[cfg(feature = "postgres")]
pub mod statement_proxy;
pub mod sync_shim;
pub mod threads;
pub mod transactions;
pub mod transport;
pub mod webhooks;

#[cfg(feature = "server")]
pub mod fake_stripe;
#[cfg(feature = "server")]
pub mod http;

pub use assertions::*;
pub use database::Database;
pub use fixture::*;
pub use gateway::*;
pub use pictures::{LARGEST_FILE, pixel_logo};
pub use responses::*;
pub use sales::*;
pub use skipped::*;
