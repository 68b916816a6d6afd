//! Mails: what causes them, what becomes of them, and what they say. Messages are read back by Python's `email`.

mod causes;
mod operations;
mod sending;
mod smtp;
mod tools;
