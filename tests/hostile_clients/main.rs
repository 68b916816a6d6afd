//! The HTTP server against malformed, hostile and interrupted requests.
//!
//! The tests are a separate binary because they capture the log of the whole process, to assert that it contains no
//! error and no secret.
#![cfg(feature = "server")]

mod body_fields;
mod body_generator;
#[path = "../common/mod.rs"]
mod common;
mod fuzzing;
mod generated_bodies;
mod injection;
mod invalid_http;
mod invalid_input;
mod noisy_tenant;
