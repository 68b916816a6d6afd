//! Checkouts: the transactions before and after the gateway is asked for one, or about one. No transaction is open during
//! a call.
//!
//! An order has checkout 0 first, and another one with each renewal; `checkouts` has the newest one.
//!
//! | status | meaning | what leads on |
//! |---|---|---|
//! | OPEN, without a reference | the gateway is asked for the link, or has not answered; a lease keeps other processes from asking too ([`checkout_links::start`]) | its answer is recorded: OPEN with a reference. It refuses: CLOSED. The order is cancelled without a link: CLOSING, or CLOSED if the gateway has created nothing. The lease ends: a retry asks for the same checkout |
//! | OPEN, with a reference | the customer can pay | the payment is recorded: CLOSED. The order ends, or is paid in another way: CLOSING. The gateway says that nothing can be paid: CLOSED |
//! | CLOSING | the gateway is asked to close it ([`checkout_attempts`]) | it is closed, or has ended by itself: CLOSED. It was paid: the payment goes back, CLOSED |
//! | CLOSED | nothing can be paid | the order is pending, and its checkout is renewed: OPEN, with the next number |
//!
//! While a checkout is not CLOSED, a row of the queue of work says when the gateway is asked about it next.

pub(crate) mod checkout_attempts;
pub(crate) mod checkout_links;
pub(crate) mod checkout_renewal;
pub(crate) mod hosted_checkout;
