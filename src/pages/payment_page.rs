//! The page to which a payment gateway sends the customer back, if the order names no pages of its own.

use askama::Template;

use super::checkout_page::{Discount, Item, discount, documents_url, heading, items};
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::error::Result;
use crate::model::payments::checkout::{CheckoutState, HostedCheckout, SettledCheckout};
use crate::model::sale::order::{OrderStatus, PaymentStatus};
use crate::words::{self, Message, Payment, Words};

#[derive(Template)]
#[template(path = "payment.html")]
struct PaymentPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Notice,
    items: Vec<Item>,
    discount: Option<Discount>,
    total: String,
    documents_url: Option<&'a str>,
    /// The page on which the customer can still pay.
    checkout_url: Option<&'a str>,
    order: String,
}

impl PaymentPage<'_> {
    fn title(&self) -> String {
        format!("{}: {}", self.notice.title, self.heading.title)
    }
}

/// The page with the result of a payment. `accepted` are the languages of the browser.
pub(crate) fn payment_page(
    settled: &SettledCheckout,
    checkout: &HostedCheckout,
    accepted: &[String],
) -> Result<String> {
    let language = checkout.language.as_deref();
    let words = words::for_reader(language, accepted);
    let can_be_paid = settled.order.status == OrderStatus::Pending && settled.state == CheckoutState::Open;
    let link = settled.order.payment_gateway.as_ref().map(|payment| payment.link.as_str());
    let (tone, message) = message(settled, &words.payment);
    render(&PaymentPage {
        words,
        heading: heading(checkout, words)?,
        notice: Notice::of(tone, message),
        items: items(checkout, words),
        discount: discount(checkout, words),
        total: words::money(words, checkout.order.total, &checkout.currency),
        documents_url: documents_url(checkout),
        checkout_url: link.filter(|link| can_be_paid && !link.is_empty()),
        order: checkout.order.id.number(),
    })
}

/// The tone of the notice, and what it says.
fn message(settled: &SettledCheckout, words: &Payment) -> (&'static str, Message) {
    let payment = settled.order.payment_gateway.as_ref().map(|payment| payment.status);
    match (settled.order.status, &settled.state) {
        _ if settled.paid_too_late && payment == Some(PaymentStatus::Refunded) => ("calm", words.too_late_and_refunded),
        _ if settled.paid_too_late => ("calm", words.too_late),
        (OrderStatus::Completed, _) => ("good", words.paid),
        (OrderStatus::Pending, CheckoutState::Open) => ("calm", words.not_yet),
        (OrderStatus::Pending, CheckoutState::Processing) => ("calm", words.in_progress),
        _ if settled.outcome.is_none() => ("calm", words.unknown),
        (OrderStatus::Pending, CheckoutState::Closed) => ("calm", words.closed),
        (OrderStatus::Pending, _) => ("calm", words.mismatch),
        (OrderStatus::Cancelled, _) => ("calm", words.cancelled_maybe_paid),
        (OrderStatus::Expired, _) => ("calm", words.expired_maybe_paid),
    }
}
