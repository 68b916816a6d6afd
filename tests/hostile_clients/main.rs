//! The HTTP server against malformed, hostile and interrupted requests.
//!
//! The tests are a separate binary because they capture the log of the whole process, to assert that it contains no
//! error and no secret.
#![cfg(feature = "server")]

mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod injection;
mod invalid_http;
mod invalid_input;
mod shapes;
mod values;
