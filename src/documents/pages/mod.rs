//! The pages of tickets and orders, for the phones of their holders, and the calendar entry of a ticket.
//!
//! A page is one file of HTML with its style: it loads nothing and runs no script. The QR code is black on white in a dark
//! page too, and as large as on paper when the page is printed.

mod calendar_entry;
mod html;

pub(crate) use calendar_entry::calendar_entry;
pub(crate) use html::{STYLE_HASH, order_page, problem_page, ticket_page};
