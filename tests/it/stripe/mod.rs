//! Payments with Stripe, against a fake of it: see `common/fake_stripe`.

#[cfg(feature = "stripe")]
mod accounts;
#[cfg(feature = "stripe")]
mod after_the_sale;
mod by_hand;
#[cfg(feature = "stripe")]
mod crashes;
#[cfg(feature = "stripe")]
mod currencies;
mod fake;
#[cfg(feature = "stripe")]
mod foreign_notices;
#[cfg(feature = "stripe")]
mod gateway;
#[cfg(feature = "stripe")]
mod hanging;
#[cfg(feature = "stripe")]
mod hostile_notices;
#[cfg(feature = "stripe")]
mod model;
#[cfg(feature = "stripe")]
mod reconciliation;
#[cfg(feature = "stripe")]
mod refunds_and_notices;
#[cfg(feature = "stripe")]
mod renewals;
#[cfg(feature = "stripe")]
mod return_page;
#[cfg(feature = "stripe")]
mod returned_money;
#[cfg(feature = "stripe")]
mod sales;
#[cfg(feature = "stripe")]
mod secrets;
#[cfg(feature = "stripe")]
mod shop;
#[cfg(feature = "stripe")]
mod starts;
#[cfg(feature = "stripe")]
mod statements;
#[cfg(feature = "stripe")]
mod thin_notices;
#[cfg(feature = "stripe")]
mod wrong_keys;
