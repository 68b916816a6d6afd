//! Guides: how to use the crate for one purpose, with examples that run.

#[doc = include_str!("payment_gateway.md")]
pub mod payment_gateway {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("logging.md")]
pub mod logging {}
