//! Payments with [Stripe](https://stripe.com): customers pay on the page of Stripe Checkout.
//!
//! ```no_run
//! use ticketing::TicketingService;
//! use ticketing::stripe::StripeGateway;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gateway = StripeGateway::builder(std::fs::read_to_string("stripe-key")?.trim())
//!     .webhook_secret(std::fs::read_to_string("stripe-webhook-secret")?.trim())
//!     .build()?;
//! let service = TicketingService::builder("ticketing.db")
//!     .payment_gateway(gateway)
//!     .public_url("https://tickets.example.com")
//!     .open()?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! - **Checkout.** Each order gets a Checkout Session that expires with the hold of the order, but not before 31
//!   minutes, because Stripe requires 30. The service expires it if the order ends before. Payment methods that confirm
//!   a payment days later are excluded, because seats are reserved for minutes.
//! - **Notices.** Stripe sends them to `/gateway/notices` of the server. Their signatures are verified before anything
//!   is read, with each of the [secrets](StripeGatewayBuilder::webhook_secret). Set up an endpoint at Stripe with these
//!   types of events; [`StripeGateway::check_setup`] tells which ones are missing: `checkout.session.completed`,
//!   `checkout.session.expired`, `checkout.session.async_payment_succeeded`, `checkout.session.async_payment_failed`,
//!   `charge.refunded`, `refund.failed`, `refund.updated`, `charge.dispute.created`, `charge.dispute.updated`,
//!   `charge.dispute.funds_withdrawn`, `charge.dispute.funds_reinstated` and `charge.dispute.closed`. Thin events are
//!   looked up by the id of what they name. The account may be shared with other programs: their events, and those of
//!   the other mode than that of the key, are answered and ignored.
//! - **Return.** Stripe sends the customer back to `/checkout/return/…` of the server. That page looks the session up,
//!   and sends the customer on to the order's own pages.
//! - **Refunds.** They are made with idempotency keys. Before the service tries again, and before it asks for a
//!   refund that was not decided just now, it records what Stripe lists of the payment. If Stripe repeats an error
//!   that it has stored under a key, the next key is used. Only refusals about the payment or the amount are final:
//!   others may be about the key, and the refund stays due, for 7 days. Money that was refunded in the Dashboard, or
//!   that a bank has taken, is not owed again. A refund may fail days later, also after it has succeeded: Stripe is
//!   asked again after 1, 7 and 30 days.
//! - **Disputes.** Inquiries count as disputes, and take no money. What Stripe has taken follows from the balance
//!   transactions of a dispute. One with the status `prevented` is decided before the bank has opened it: if Stripe has
//!   blocked it, it is [won](crate::payment::DisputeStatus::Won), and if Stripe has resolved it, which refunds the
//!   payment, it is [lost](crate::payment::DisputeStatus::Lost).
//! - **Statements.** The payments of the program, their refunds and their disputes are listed for a period, with
//!   Stripe's fees: [`Statements`](crate::payment::Statements). They are known by the ids of the order and the
//!   organization in the metadata of the payment. Only the owner of an account can write metadata: in a connected
//!   account that is the organization, which may write any ids.
//! - **Rate limits.** A request that Stripe turns away because there were too many is sent again after a moment, and
//!   organizations take turns: [`StripeGatewayBuilder::concurrent_requests`]. All organizations share the rate of the
//!   key: while one sells many paid orders at once, those of the others take longer, and free orders, check-in and
//!   reads do not.
//! - **Test mode.** [`StripeGateway::livemode`] tells whether customers pay real money. Sessions of the other mode than
//!   the key complete nothing.
//! - **Organizations.** Each may have an account of its own: [`StripeGatewayBuilder::account_for`]. Their events need
//!   an endpoint of their own at Stripe, for connected accounts. It may have the same URL: add the signing secrets of
//!   both.
//!
//! # Amounts
//!
//! Orders that Stripe cannot take are refused before they are stored: those in currencies that Stripe does not support,
//! amounts in KWD, BHD, JOD, OMR and TND whose last digit is not 0, fractions of the ariary (MGA), and holds of 24
//! hours and more. Refunds of a part of an order and application fees are multiples of what Stripe can express too.
//!
//! # Secrets
//!
//! Keys and secrets are in no log, error or `Debug` text. Errors have the codes of Stripe's answer and the id of the
//! request, with which Stripe's Dashboard shows the rest.

mod account;
mod amounts;
mod api;
mod builder;
mod email;
mod gateway;
mod locale;
mod objects;
mod setup;
mod signature;

pub use account::ConnectedAccount;
pub use builder::StripeGatewayBuilder;
pub use gateway::StripeGateway;
pub use setup::{StripeEndpoint, StripeSetup};
