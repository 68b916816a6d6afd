//! The pages of events, on which customers buy.

mod buying;
mod hostile;
mod limits;
mod pages;
mod pending_orders;
mod shop;
#[cfg(feature = "stripe")]
mod stripe_sale;
