//! The checkout page of the sandbox gateway.

use askama::Template;

use super::document::render;
use super::heading::{EventFacts, Heading};
use super::page_notice::Notice;
use crate::error::Result;
use crate::form::limits::LINE_LENGTH;
use crate::model::payments::checkout::HostedCheckout;
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::{Order, OrderStatus, PaymentStatus};
use crate::model::values::timestamp::Timestamp;
use crate::rules::printed_text;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "checkout.html")]
struct CheckoutPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    items: Vec<Item>,
    discount: Option<Discount>,
    total: String,
    /// How long the order reserves its seats.
    reserved: Option<String>,
    can_be_paid: bool,
    /// The label of the button.
    pay: String,
    documents_url: Option<&'a str>,
    order: String,
}

/// A line of the bill.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) quantity: i64,
    pub(super) price: String,
    pub(super) amount: String,
}

/// What is taken off the bill.
pub(super) struct Discount {
    pub(super) label: String,
    pub(super) amount: String,
}

impl CheckoutPage<'_> {
    fn title(&self) -> String {
        format!("{}: {}", self.words.checkout.title, self.heading.title)
    }
}

/// The page of a checkout, at the time `now`. `accepted` are the languages of the browser.
pub(crate) fn checkout_page(checkout: &HostedCheckout, now: Timestamp, accepted: &[String]) -> Result<String> {
    let language = checkout.language.as_deref();
    let words = words::for_reader(language, accepted);
    let order = &checkout.order;
    let can_be_paid = order.status == OrderStatus::Pending;
    let total = words::money(words, order.total, &checkout.currency);
    let minutes = |hold_until: Timestamp| hold_until.duration_since(now).unwrap_or_default().as_secs().div_ceil(60);
    render(&CheckoutPage {
        words,
        heading: heading(checkout, words)?,
        notice: notice(checkout, words),
        items: items(checkout, words),
        discount: discount(checkout, words),
        reserved: checkout.hold_until.filter(|_| can_be_paid).map(|until| (words.checkout.reserved)(minutes(until))),
        can_be_paid,
        pay: (words.checkout.pay)(&total),
        documents_url: documents_url(checkout),
        order: order.id.number(),
        total,
    })
}

pub(super) fn heading<'a>(checkout: &'a HostedCheckout, words: &Words) -> Result<Heading<'a>> {
    let event = EventFacts {
        title: shortened(&checkout.event_title),
        start: checkout.event_start,
        end: checkout.event_end,
        timezone: &checkout.timezone,
        location: checkout.event_location.as_deref().map(shortened),
    };
    Heading::of(&event, words, checkout.language.as_deref())
}

/// The beginning of a text. Those of version 0.1 may have any length.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(LINE_LENGTH).map_or(text, |(end, _)| &text[..end])
}

pub(super) fn items(checkout: &HostedCheckout, words: &Words) -> Vec<Item> {
    let money = |amount| words::money(words, amount, &checkout.currency);
    let items = checkout.order.items.iter().map(|item| Item {
        name: printed_text::line(&item.ticket_type_name),
        quantity: item.quantity,
        price: money(item.price),
        amount: money(item.item_subtotal),
    });
    items.collect()
}

pub(super) fn discount(checkout: &HostedCheckout, words: &Words) -> Option<Discount> {
    let Order { discounted_amount, discount_code, .. } = &checkout.order;
    let amount = discounted_amount.filter(|amount| amount.minor_units() > 0)?;
    let code = discount_code.as_deref().map(printed_text::line).unwrap_or_default();
    let label = format!("{} {code}", words.checkout.discount).trim_end().to_owned();
    Some(Discount { label, amount: words::money(words, amount, &checkout.currency) })
}

/// The link of the tickets, while the order has any.
pub(super) fn documents_url(checkout: &HostedCheckout) -> Option<&str> {
    checkout.documents_url.as_deref().filter(|_| checkout.order.status == OrderStatus::Completed)
}

/// The state of the order, for the customer. `None` while it can be paid and no payment has failed.
fn notice(checkout: &HostedCheckout, words: &Words) -> Option<Notice> {
    let order = &checkout.order;
    let payment = order.payment_gateway.as_ref().map(|payment| payment.status);
    let words = &words.payment;
    let (tone, message) = match (order.status, payment) {
        (OrderStatus::Pending, Some(PaymentStatus::Failed)) => ("bad", words.failed),
        (OrderStatus::Pending, _) => return None,
        (OrderStatus::Completed, _) => ("good", words.paid),
        (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Refunded)) => ("calm", words.refunded),
        (OrderStatus::Cancelled | OrderStatus::Expired, Some(PaymentStatus::Completed)) => ("calm", words.refund_due),
        (OrderStatus::Cancelled, _) if checkout.event_status == EventStatus::Cancelled => {
            ("calm", words.event_cancelled)
        }
        (OrderStatus::Cancelled, _) => ("calm", words.cancelled),
        (OrderStatus::Expired, _) => ("calm", words.expired),
    };
    Some(Notice::of(tone, message))
}
