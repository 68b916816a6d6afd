//! The page of an order that has no tickets: it waits for its payment, or ended without one.

use askama::Template;

use super::bill::Bill;
use super::document::render;
use super::heading::Heading;
use super::page_notice::Notice;
use crate::error::Result;
use crate::model::sale::event::EventStatus;
use crate::model::sale::event_page::is_shown;
use crate::model::sale::order::OrderStatus;
use crate::model::sale::receipt::OrderOnPage;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

#[derive(Template)]
#[template(path = "pending_order.html")]
struct PendingOrderPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    bill: Bill,
    /// Until when the tickets are reserved.
    reserved: Option<String>,
    is_pending: bool,
    can_be_paid: bool,
    /// The label of the button.
    pay: String,
    /// The page of the event, to order again.
    event_url: Option<String>,
    /// The last part of the path of the page: its links are relative.
    token: &'a str,
    order: Option<String>,
    organizer: Option<String>,
}

impl PendingOrderPage<'_> {
    fn title(&self) -> String {
        let state = self.notice.as_ref().map_or(self.words.form.title, |notice| &notice.title);
        format!("{state}: {}", self.heading.title)
    }
}

/// Renders the page of an order that was never completed. `accepted` are the languages of the browser.
pub(crate) fn pending_order_page(shown: &OrderOnPage, token: &str, accepted: &[String]) -> Result<String> {
    let OrderOnPage { order, event, organizer, receipt } = shown;
    let language = receipt.language();
    let words = words::for_reader(language.as_deref(), accepted);
    let is_pending = order.status == OrderStatus::Pending && event.status != EventStatus::Cancelled;
    let zone = Zone::stored(&event.timezone)?;
    let bill = Bill::of(order, event, receipt, words)?;
    let can_be_paid = is_pending && order.payment_gateway.is_some();
    let notice = Notice::of_order(order, event.status, receipt, None, words);
    let waits = is_pending && !can_be_paid;
    let notice =
        notice.or_else(|| waits.then(|| Notice::new("calm", words.event.not_paid.title, words.event.not_paid.text)));
    let has_ended = matches!(order.status, OrderStatus::Expired | OrderStatus::Cancelled);
    let can_order_again = has_ended && event.status == EventStatus::Published && is_shown(event);
    let reserved = receipt.details.hold_until.filter(|_| is_pending);
    render(&PendingOrderPage {
        words,
        heading: Heading::of(event, words, language.as_deref())?,
        notice,
        reserved: reserved.map(|until| (words.event.reserved_until)(&words::moment(words, zone, until))),
        is_pending,
        can_be_paid,
        pay: (words.checkout.pay)(&bill.total),
        bill,
        event_url: can_order_again.then(|| format!("../e/{}/{}", order.organizer_id, event.slug)),
        token,
        order: Some(order.id.number()),
        organizer: printed_text::organizer(organizer),
    })
}
