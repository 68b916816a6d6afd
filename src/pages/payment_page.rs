//! The page to which a payment gateway sends the customer back, if the order names no pages of its own.

use askama::Template;

use super::bill::Bill;
use super::checkout_page::tickets_url;
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::error::Result;
use crate::model::payments::checkout::{CheckoutState, SettledCheckout};
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::receipt::OrderOnPage;
use crate::rules::printed_text;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "payment.html")]
struct PaymentPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    bill: Bill,
    documents_url: Option<&'a str>,
    /// The page on which the customer can still pay.
    checkout_url: Option<&'a str>,
    order: Option<String>,
    organizer: Option<String>,
}

impl PaymentPage<'_> {
    fn title(&self) -> String {
        let state = self.notice.as_ref().map_or(self.words.checkout.title, |notice| &notice.title);
        format!("{state}: {}", self.heading.title)
    }
}

/// The page with the result of a payment. `accepted` are the languages of the browser.
pub(crate) fn payment_page(settled: &SettledCheckout, shown: &OrderOnPage, accepted: &[String]) -> Result<String> {
    let OrderOnPage { order, event, organizer, receipt } = shown;
    let language = receipt.language();
    let words = words::for_reader(language.as_deref(), accepted);
    let can_be_paid = order.status == OrderStatus::Pending
        && settled.state == CheckoutState::Open
        && event.status != EventStatus::Cancelled;
    let link = order.payment_gateway.as_ref().map(|payment| payment.link.as_str());
    render(&PaymentPage {
        words,
        heading: Heading::of(event, words, language.as_deref())?,
        notice: Notice::of_order(order, event.status, receipt, Some(settled), words),
        bill: Bill::of(order, event, receipt, words)?,
        documents_url: tickets_url(shown),
        checkout_url: link.filter(|link| can_be_paid && !link.is_empty()),
        order: Some(order.id.number()),
        organizer: printed_text::organizer(organizer),
    })
}
