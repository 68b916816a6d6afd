//! The contract of payment gateways: what customers, organizers and banks do at a provider, what goes wrong on the way, and
//! what the service has made of it in the end. Each test runs with a gateway in this process and with the fake of Stripe.
//!
//! What only one of them has is tested elsewhere: the wire format of Stripe in `stripe`, and in `facade` what the service
//! asks of a gateway, and how often.

mod disputes;
mod in_process;
mod payments;
mod refunds;
mod renewals;
pub mod shop;
#[cfg(all(feature = "server", feature = "stripe"))]
mod stripe;
mod unnoticed_refunds;

use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::payment::NoticeOutcome;
use ticketing::{Builder, Result, TicketingService};

/// Requests to a provider that can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Starting a checkout, and closing it.
    Checkout,
    LookUp,
    Refund,
    ListRefunds,
}

/// How a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is turned away.
    NotExecuted,
    /// It is not executed, and has no answer.
    NoAnswer,
    /// It is executed, and its answer is lost.
    AnswerLost,
}

/// A payment provider, its customers and its banks.
pub trait Provider: Sized {
    type Notice;

    /// Starts a provider whose clock this is.
    fn start(clock: ManualClock) -> Self;

    /// Makes the provider the payment gateway of a service.
    fn configure(&self, builder: Builder) -> Builder;

    // The customer.

    /// The checkouts of an order, the oldest first.
    fn checkouts(&self, order: OrderId) -> Vec<String>;

    /// Whether somebody can open the page of this checkout now and pay.
    fn is_payable(&self, checkout: &str) -> bool;

    /// Returns the id of the payment.
    fn pay(&self, checkout: &str) -> String;

    /// The customer pays with a method whose outcome comes later.
    fn pay_later(&self, checkout: &str);

    fn end_payment(&self, checkout: &str, is_paid: bool);

    // The organizer, in the provider's Dashboard.

    /// A checkout that is open has another total from now on.
    fn change_total(&self, checkout: &str, cents: i64);

    /// Ends a checkout that is open.
    fn expire(&self, checkout: &str);

    /// Refunds an amount, or what is left. Returns the id of the refund.
    fn refund(&self, payment: &str, cents: Option<i64>) -> String;

    // Banks.

    /// A refund fails after it was accepted.
    fn fail_refund(&self, refund: &str);

    /// A refund is no longer known, as if it had never been made.
    fn remove_refund(&self, refund: &str);

    /// The cardholder disputes an amount, or what is left, which the bank takes. Returns the id of the dispute.
    fn dispute(&self, payment: &str, cents: Option<i64>) -> String;

    fn close_dispute(&self, dispute: &str, is_won: bool);

    // What goes wrong.

    /// Lets each such request go wrong from now on.
    fn fail(&self, call: Call, trouble: Trouble);

    /// Ends everything that goes wrong.
    fn repair(&self);

    // What the provider has.

    /// The notices that are not taken yet, the oldest first.
    fn take_notices(&self) -> Vec<Self::Notice>;

    /// Passes a notice on to a service, with its signature.
    fn send(&self, service: &TicketingService, notice: &Self::Notice) -> Result<Vec<NoticeOutcome>>;

    /// Whether a notice tells that a checkout was paid.
    fn is_about_payment(notice: &Self::Notice) -> bool;

    /// The number of requests so far of this kind.
    fn requests(&self, call: Call) -> usize;

    /// The ids and amounts of the refunds that have not failed, the oldest first.
    fn refunds(&self) -> Vec<(String, i64)>;

    /// What is left of the payments of an order: without what was refunded, and what banks have taken.
    fn kept(&self, order: OrderId) -> i64;
}

/// Runs these functions as tests with each provider.
macro_rules! contract {
    ($($test:ident,)+) => {
        mod in_process {
            $(#[test]
            fn $test() {
                super::$test::<crate::gateways::in_process::InProcess>();
            })+
        }

        #[cfg(all(feature = "server", feature = "stripe"))]
        mod stripe {
            $(#[test]
            fn $test() {
                super::$test::<crate::common::fake_stripe::FakeStripe>();
            })+
        }
    };
}

use contract;
