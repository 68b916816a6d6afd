//! The bill of an order, which becomes its receipt: what is paid for, what was paid, and what goes back.

use crate::error::Result;
use crate::model::sale::event::Event;
use crate::model::sale::order::Order;
use crate::model::sale::receipt::{Receipt, ReceiptPayment};
use crate::model::sale::received_payment::ManualMethod;
use crate::model::sale::refund::Refund;
use crate::model::values::amount::Amount;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// What a page says of an order's money, and of the buyer.
pub(crate) struct Bill {
    /// The items and the discount.
    pub(crate) items: Vec<Line>,
    pub(crate) total: String,
    /// What was paid, and what went back or will go back.
    pub(crate) movements: Vec<Line>,
    /// The company and the delivery address, if the buyer gave them: labels, and the lines below each.
    pub(crate) buyer: Vec<(&'static str, Vec<String>)>,
}

/// A line of the bill.
pub(crate) struct Line {
    pub(crate) label: String,
    /// What stands below the label in small letters.
    pub(crate) note: Option<String>,
    pub(crate) amount: String,
}

impl Bill {
    pub(crate) fn of(order: &Order, event: &Event, receipt: &Receipt, words: &Words) -> Result<Self> {
        let zone = Zone::stored(&event.timezone)?;
        let payments = receipt.payments.iter().map(|payment| paid(payment, zone, words));
        let refunds = receipt.refunds.iter().flat_map(|refund| refunded(refund, zone, words));
        Ok(Self {
            items: items(order, words),
            total: words::money(words, order.total, &order.currency),
            movements: payments.chain(refunds).collect(),
            buyer: buyer(receipt, words),
        })
    }
}

fn items(order: &Order, words: &Words) -> Vec<Line> {
    let money = |amount| words::money(words, amount, &order.currency);
    let items = order.items.iter();
    let items =
        items.map(|item| tickets(&item.ticket_type_name, item.quantity, &money(item.price), money(item.item_subtotal)));
    let discounted = order.discounted_amount.filter(|amount| *amount > Amount::ZERO);
    let discount = discounted.map(|amount| discount(order.discount_code.as_deref(), &money(amount), words));
    items.chain(discount).collect()
}

/// The line of some tickets of one type.
pub(crate) fn tickets(name: &str, quantity: i64, price: &str, subtotal: String) -> Line {
    Line { label: printed_text::line(name), note: Some(format!("{quantity} × {price}")), amount: subtotal }
}

/// The line of a discount. An automatic one has no code.
pub(crate) fn discount(code: Option<&str>, amount: &str, words: &Words) -> Line {
    let code = code.map(printed_text::line).unwrap_or_default();
    let label = format!("{} {code}", words.receipt.discount).trim_end().to_owned();
    Line { label, note: None, amount: format!("−{amount}") }
}

fn paid(payment: &ReceiptPayment, zone: Zone, words: &Words) -> Line {
    let label = match payment.manual_method {
        None => words.receipt.paid_online,
        Some(ManualMethod::Cash) => words.receipt.paid_in_cash,
        Some(ManualMethod::Card) => words.receipt.paid_by_card,
        Some(ManualMethod::Transfer) => words.receipt.paid_by_transfer,
        Some(ManualMethod::Other) => words.receipt.paid,
    };
    let amount = words::money(words, payment.amount, &payment.currency);
    on_day(label, zone, payment.received_at, amount, words)
}

/// The part of a refund that went back, and the part that will.
fn refunded(refund: &Refund, zone: Zone, words: &Words) -> impl Iterator<Item = Line> {
    let parts = [
        (words.receipt.refunded, refund.returned, refund.updated_at),
        (words.receipt.refund_due, refund.to_return(), refund.created_at),
    ];
    parts.into_iter().filter(|(_, amount, _)| *amount > Amount::ZERO).map(move |(label, amount, at)| {
        let amount = format!("−{}", words::money(words, amount, &refund.currency));
        on_day(label, zone, at, amount, words)
    })
}

fn on_day(label: &str, zone: Zone, at: Timestamp, amount: String, words: &Words) -> Line {
    Line { label: label.to_owned(), note: Some(words::day_at(words, zone, at)), amount }
}

fn buyer(receipt: &Receipt, words: &Words) -> Vec<(&'static str, Vec<String>)> {
    let details = &receipt.details;
    let company = details.company_name.iter().map(|name| printed_text::line(name)).collect();
    let address = details.shipping_address.iter().flat_map(|to| {
        let town = printed_text::line(&format!("{} {}", to.zip, to.city));
        [printed_text::line(&to.street), town, to.country.clone()]
    });
    let address = address.collect();
    let mut buyer = vec![(words.receipt.company, company), (words.receipt.delivery_address, address)];
    buyer.retain(|(_, lines): &(_, Vec<String>)| !lines.is_empty());
    buyer
}
