//! The pages for people: the checkout, the result of a payment, tickets, orders and problems. Also the calendar entry
//! of a ticket.
//!
//! A page is one file of HTML with its style: it loads nothing and runs no script. All pages share one design, in
//! `page.css` and `templates/base.html`. Only the page for check-in, in `door`, is a program. Their words are in [`words`](crate::words), in the language of the order, or
//! else in one that the browser accepts.

pub(crate) mod bill;
#[cfg(feature = "documents")]
mod calendar_entry;
#[cfg(all(feature = "documents", feature = "server"))]
mod card;
#[cfg(feature = "server")]
mod chart;
#[cfg(feature = "server")]
mod checkout_page;
#[cfg(feature = "server")]
mod document;
#[cfg(feature = "server")]
mod door_page;
#[cfg(feature = "event-pages")]
mod event_page;
pub(crate) mod heading;
#[cfg(feature = "server")]
mod home_page;
#[cfg(feature = "event-pages")]
mod message_page;
#[cfg(feature = "event-pages")]
mod order_form_page;
#[cfg(all(feature = "documents", feature = "server"))]
mod order_page;
pub(crate) mod page_notice;
#[cfg(feature = "server")]
mod payment_page;
#[cfg(feature = "event-pages")]
mod pending_order_page;
#[cfg(feature = "server")]
mod problem_page;
#[cfg(feature = "server")]
mod report_page;
#[cfg(feature = "event-pages")]
mod seller;
#[cfg(feature = "event-pages")]
mod structured_data;
#[cfg(all(feature = "documents", feature = "server"))]
mod ticket_page;

#[cfg(all(feature = "documents", feature = "server"))]
pub(crate) use calendar_entry::calendar_entry;
#[cfg(feature = "event-pages")]
pub(crate) use calendar_entry::calendar_entry_of_event;
#[cfg(feature = "mail")]
pub(crate) use calendar_entry::calendar_entry_of_ticket;
#[cfg(feature = "server")]
pub(crate) use checkout_page::checkout_page;
#[cfg(feature = "server")]
pub(crate) use document::STYLE_HASHES;
#[cfg(feature = "server")]
pub(crate) use door_page::DOOR_FILES;
#[cfg(feature = "event-pages")]
pub(crate) use event_page::{Prefilled, event_page};
#[cfg(feature = "event-pages")]
pub(crate) use home_page::events_page;
#[cfg(feature = "server")]
pub(crate) use home_page::home_page;
#[cfg(feature = "server")]
pub(crate) fn language_for(languages: &[String]) -> &'static str {
    crate::words::for_reader(None, languages).language
}
#[cfg(feature = "event-pages")]
pub(crate) use message_page::{cancel_page, other_site_page, sent_already_page, too_many_orders_page};
#[cfg(feature = "event-pages")]
pub(crate) use order_form_page::{Entries, FormError, FormNotice, FormToShow, order_form_page};
#[cfg(all(feature = "documents", feature = "server"))]
pub(crate) use order_page::{MAX_CARDS, order_page};
#[cfg(feature = "server")]
pub(crate) use payment_page::payment_page;
#[cfg(feature = "event-pages")]
pub(crate) use pending_order_page::pending_order_page;
#[cfg(feature = "server")]
pub(crate) use problem_page::{ProblemKind, problem_page};
#[cfg(feature = "server")]
pub(crate) use report_page::report_page;
#[cfg(all(feature = "documents", feature = "server"))]
pub(crate) use ticket_page::ticket_page;
