//! The webhook sender, from the outbox to the receiver, and its HTTPS transport.

mod addresses;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod damage;
mod fan_out;
mod isolation;
mod model;
mod retries;
mod sender;
mod tls;
mod transport;
mod workers;
