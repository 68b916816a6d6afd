//! Mails: what causes them, what becomes of them, and what they say. Messages are read back by Python's `email`.

mod causes;
#[cfg(feature = "smtp")]
mod kills;
mod messages;
mod operations;
#[cfg(feature = "smtp")]
mod relay;
mod sending;
#[cfg(feature = "smtp")]
mod smtp;
mod tools;
