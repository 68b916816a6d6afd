//! Several threads, services or processes that use one database file at once.

mod claims;
mod customer_limit;
mod expired_holds;
mod idempotency_gateway;
mod idempotency_races;
mod organizations;
mod processes;
mod races;
#[cfg(feature = "postgres")]
mod servers;
mod shared_work;
mod writer;
