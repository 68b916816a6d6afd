//! Guides: how to use the crate for one purpose, with examples that run.

#[doc = include_str!("guarantees.md")]
pub mod guarantees {}

#[doc = include_str!("http.md")]
pub mod http {}

#[doc = include_str!("webhooks.md")]
pub mod webhooks {}

#[doc = include_str!("documents.md")]
pub mod documents {}

#[doc = include_str!("door.md")]
/// ```json
#[doc = include_str!("ticket_codes.json")]
/// ```
pub mod door {}

#[doc = include_str!("guest_lists.md")]
pub mod guest_lists {}

#[doc = include_str!("event_pages.md")]
pub mod event_pages {}

#[doc = include_str!("reports.md")]
pub mod reports {}

#[doc = include_str!("exports.md")]
pub mod exports {}

#[doc = include_str!("mail.md")]
pub mod mail {}

#[doc = include_str!("stripe.md")]
pub mod stripe {}

#[doc = include_str!("payment_gateway.md")]
pub mod payment_gateway {}

#[doc = include_str!("money.md")]
pub mod money {}

#[doc = include_str!("tenants.md")]
pub mod tenants {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("production.md")]
pub mod production {}

#[doc = include_str!("logging.md")]
pub mod logging {}

#[doc = include_str!("metrics.md")]
/// ```json
#[doc = include_str!("grafana_dashboard.json")]
/// ```
pub mod metrics {}

#[doc = include_str!("several_machines.md")]
pub mod several_machines {}
