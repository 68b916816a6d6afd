//! Payments with Stripe, against a fake of it: see `common/fake_stripe`.

#[cfg(feature = "stripe")]
mod accounts;
mod by_hand;
#[cfg(feature = "stripe")]
mod crashes;
#[cfg(feature = "stripe")]
mod currencies;
mod fake;
#[cfg(feature = "stripe")]
mod foreign_notices;
#[cfg(feature = "stripe")]
pub mod gateway;
#[cfg(feature = "stripe")]
mod hostile_notices;
#[cfg(feature = "stripe")]
mod reconciliation;
#[cfg(feature = "stripe")]
mod refunds_and_notices;
#[cfg(feature = "stripe")]
mod renewals;
#[cfg(feature = "stripe")]
mod return_page;
#[cfg(feature = "stripe")]
mod sales;
#[cfg(feature = "stripe")]
mod secrets;
#[cfg(feature = "stripe")]
mod starts;
#[cfg(feature = "stripe")]
mod statements;
#[cfg(feature = "stripe")]
mod thin_notices;
#[cfg(feature = "stripe")]
mod wrong_keys;

/// A shop that sells with Stripe.
#[cfg(feature = "stripe")]
type Shop = crate::gateways::shop::Shop<crate::common::fake_stripe::FakeStripe>;
