//! How the HTTP server answers malformed, hostile and interrupted requests.
//!
//! The tests capture the log of the whole process and assert that it has no error and no secret. That is why they are a
//! test binary of their own.
#![cfg(feature = "server")]

mod bodies;
mod broken;
#[path = "../common/mod.rs"]
mod common;
mod garbage;
mod markup;
mod shapes;
mod values;
