//! Guides: how to use the crate for one purpose, with examples that run.

#[doc = include_str!("payment_gateway.md")]
pub mod payment_gateway {}

#[doc = include_str!("tenants.md")]
#[cfg_attr(feature = "http", doc = "\n\n[`server`]: crate::server")]
#[cfg_attr(not(feature = "http"), doc = "\n\n[`server`]: https://docs.rs/ticketing/latest/ticketing/server/")]
pub mod tenants {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("production.md")]
#[cfg_attr(feature = "http", doc = "\n\n[`server`]: crate::server")]
#[cfg_attr(not(feature = "http"), doc = "\n\n[`server`]: https://docs.rs/ticketing/latest/ticketing/server/")]
pub mod production {}

#[doc = include_str!("logging.md")]
pub mod logging {}

#[doc = include_str!("metrics.md")]
#[cfg_attr(feature = "http", doc = "\n\n[`server`]: crate::server")]
#[cfg_attr(not(feature = "http"), doc = "\n\n[`server`]: https://docs.rs/ticketing/latest/ticketing/server/")]
pub mod metrics {}
