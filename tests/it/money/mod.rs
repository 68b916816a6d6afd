//! The books are right: whatever customers, organizers, banks and Stripe do, the ledger says what has happened at
//! Stripe and in the till, to the cent. An independent double-entry book in [`book`] is the reference.

pub mod book;
mod cancelled_events;
mod comparison;
mod controls;
mod driver;
mod findings;
mod month;
mod organizers_day;
mod runs;
mod shop;
