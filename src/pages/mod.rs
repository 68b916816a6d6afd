//! The pages for people: the checkout, the result of a payment, tickets, orders and problems. Also the calendar entry
//! of a ticket.
//!
//! A page is one file of HTML with its style: it loads nothing and runs no script. All pages share one design, in
//! `page.css` and `templates/base.html`. Only the page for check-in, in `door`, is a program. Their words are in [`words`](crate::words), in the language of the order, or
//! else in one that the browser accepts.

mod bill;
#[cfg(feature = "documents")]
mod calendar_entry;
#[cfg(feature = "documents")]
mod card;
mod checkout_page;
mod document;
mod door_page;
mod heading;
mod home_page;
#[cfg(feature = "documents")]
mod order_page;
mod page_notice;
mod payment_page;
mod problem_page;
#[cfg(feature = "documents")]
mod ticket_page;

#[cfg(feature = "documents")]
pub(crate) use calendar_entry::calendar_entry;
pub(crate) use checkout_page::checkout_page;
pub(crate) use document::STYLE_HASH;
pub(crate) use door_page::DOOR_FILES;
pub(crate) use home_page::home_page;
#[cfg(feature = "documents")]
pub(crate) use order_page::{MAX_CARDS, order_page};
pub(crate) use payment_page::payment_page;
pub(crate) use problem_page::{ProblemKind, problem_page};
#[cfg(feature = "documents")]
pub(crate) use ticket_page::ticket_page;
