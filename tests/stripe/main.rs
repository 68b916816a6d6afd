//! Payments with Stripe, against a fake of it: see `common/fake_stripe`.
#![cfg(feature = "http")]

mod by_hand;
#[path = "../common/mod.rs"]
mod common;
mod fake;
