//! The checkout page of the sandbox gateway.

use askama::Template;

use super::bill::Bill;
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::error::Result;
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::receipt::OrderOnPage;
use crate::model::values::timestamp::Timestamp;
use crate::rules::printed_text;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "checkout.html")]
struct CheckoutPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    bill: Bill,
    /// How long the order reserves its seats.
    reserved: Option<String>,
    can_be_paid: bool,
    /// The label of the button.
    pay: String,
    documents_url: Option<&'a str>,
    order: Option<String>,
    organizer: Option<String>,
}

impl CheckoutPage<'_> {
    fn title(&self) -> String {
        let state = self.notice.as_ref().map_or(self.words.checkout.title, |notice| &notice.title);
        format!("{state}: {}", self.heading.title)
    }
}

/// The page of a checkout, at the time `now`. `accepted` are the languages of the browser.
pub(crate) fn checkout_page(shown: &OrderOnPage, now: Timestamp, accepted: &[String]) -> Result<String> {
    let OrderOnPage { order, event, organizer, receipt } = shown;
    let language = shown.receipt.language();
    let words = words::for_reader(language.as_deref(), accepted);
    let can_be_paid = order.status == OrderStatus::Pending && event.status != EventStatus::Cancelled;
    let minutes = |hold_until: Timestamp| hold_until.duration_since(now).unwrap_or_default().as_secs().div_ceil(60);
    let bill = Bill::of(order, event, receipt, words)?;
    render(&CheckoutPage {
        words,
        heading: Heading::of(event, words, language.as_deref())?,
        notice: Notice::of_order(order, event.status, receipt, None, words),
        reserved: receipt
            .details
            .hold_until
            .filter(|_| can_be_paid)
            .map(|until| (words.checkout.reserved)(minutes(until))),
        can_be_paid,
        pay: (words.checkout.pay)(&bill.total),
        bill,
        documents_url: tickets_url(shown),
        order: Some(order.id.number()),
        organizer: printed_text::organizer(organizer),
    })
}

/// The link of the tickets, while the order has valid ones.
pub(super) fn tickets_url(shown: &OrderOnPage) -> Option<&str> {
    let is_valid = shown.order.status == OrderStatus::Completed && shown.event.status != EventStatus::Cancelled;
    shown.receipt.details.documents_url.as_deref().filter(|_| is_valid)
}
