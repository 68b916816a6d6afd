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
mod chart;
mod checkout_page;
mod document;
mod door_page;
#[cfg(feature = "event-pages")]
mod event_page;
mod heading;
mod home_page;
#[cfg(feature = "event-pages")]
mod message_page;
#[cfg(feature = "event-pages")]
mod order_form_page;
#[cfg(feature = "documents")]
mod order_page;
mod page_notice;
mod payment_page;
#[cfg(feature = "event-pages")]
mod pending_order_page;
mod problem_page;
mod report_page;
#[cfg(feature = "event-pages")]
mod seller;
#[cfg(feature = "event-pages")]
mod structured_data;
#[cfg(feature = "documents")]
mod ticket_page;

#[cfg(feature = "documents")]
pub(crate) use calendar_entry::calendar_entry;
#[cfg(feature = "event-pages")]
pub(crate) use calendar_entry::calendar_entry_of_event;
pub(crate) use checkout_page::checkout_page;
pub(crate) use document::STYLE_HASHES;
pub(crate) use door_page::DOOR_FILES;
#[cfg(feature = "event-pages")]
pub(crate) use event_page::{Prefilled, event_page};
#[cfg(feature = "event-pages")]
pub(crate) use home_page::events_page;
pub(crate) use home_page::home_page;
pub(crate) fn language_for(languages: &[String]) -> &'static str {
    crate::words::for_reader(None, languages).language
}
#[cfg(feature = "event-pages")]
pub(crate) use message_page::{cancel_page, other_site_page, sent_already_page, too_many_orders_page};
#[cfg(feature = "event-pages")]
pub(crate) use order_form_page::{Entries, FormError, FormNotice, FormToShow, order_form_page};
#[cfg(feature = "documents")]
pub(crate) use order_page::{MAX_CARDS, order_page};
pub(crate) use payment_page::payment_page;
#[cfg(feature = "event-pages")]
pub(crate) use pending_order_page::pending_order_page;
pub(crate) use problem_page::{ProblemKind, problem_page};
pub(crate) use report_page::report_page;
#[cfg(feature = "documents")]
pub(crate) use ticket_page::ticket_page;
