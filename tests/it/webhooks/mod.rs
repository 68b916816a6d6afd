//! The webhook sender, from the outbox to the receiver, and its HTTPS transport.

mod addresses;
mod changes;
mod crashes;
mod damage;
mod fan_out;
mod fuzzed_answers;
mod isolation;
mod kills;
mod model;
mod receipts;
mod retries;
mod sender;
mod stopped_process;
mod threads;
mod tls;
mod transport;
mod workers;
