//! Notices: what a customer has to know first.

use std::collections::BTreeMap;

use crate::model::payments::checkout::{CheckoutState, SettledCheckout};
use crate::model::sale::event::EventStatus;
use crate::model::sale::order::{Order, OrderStatus, PaymentStatus};
use crate::model::sale::receipt::Receipt;
use crate::model::sale::received_payment::PaymentPurpose;
use crate::model::sale::refund::Refund;
use crate::model::values::amount::Amount;
use crate::words::{self, Message, Words};

/// A title and a sentence in a colored box.
pub(crate) struct Notice {
    /// A class in the style sheet: `good`, `bad` or `calm`.
    #[cfg_attr(not(feature = "server"), expect(dead_code, reason = "mails show only the text"))]
    pub(crate) tone: &'static str,
    #[cfg_attr(not(feature = "server"), expect(dead_code, reason = "mails show only the text"))]
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Notice {
    pub(crate) fn new(tone: &'static str, title: &str, text: &str) -> Self {
        Self { tone, title: title.to_owned(), text: text.to_owned() }
    }

    /// What all pages of an order say of it: on which it is paid, to which the customer comes back, and with its
    /// tickets. `settled` is what the gateway has answered, if the page has asked it. `None` while the order waits for
    /// its payment on the page.
    ///
    /// That the event is cancelled comes first. Money that went back, or will, is always named with its amount.
    pub(crate) fn of_order(
        order: &Order,
        event: EventStatus,
        receipt: &Receipt,
        settled: Option<&SettledCheckout>,
        words: &Words,
    ) -> Option<Self> {
        let payment = &words.payment;
        let refunds = refunds(&receipt.refunds, words);
        let is_unknown = settled.is_some_and(|settled| settled.outcome.is_none());
        let (tone, title, text) = match order.status {
            _ if event == EventStatus::Cancelled => {
                return Some(Self::of_end(words.tickets.event_cancelled, order, receipt, &refunds, is_unknown, words));
            }
            OrderStatus::Cancelled => {
                return Some(Self::of_end(words.tickets.order_cancelled, order, receipt, &refunds, is_unknown, words));
            }
            OrderStatus::Expired if is_late(receipt) => ("calm", payment.too_late.title, payment.too_late.text),
            OrderStatus::Expired if is_unknown => ("calm", payment.unknown.title, payment.unknown.text),
            OrderStatus::Expired => ("calm", payment.expired.title, payment.expired.text),
            OrderStatus::Completed => of_completed(order, event, receipt, &refunds, words),
            OrderStatus::Pending => {
                let (tone, message) = of_pending(order, settled, words)?;
                (tone, message.title, message.text)
            }
        };
        Some(Self::new(tone, title, &sentences([text, &refunds])))
    }

    /// The event or the order is cancelled.
    fn of_end(title: &str, order: &Order, receipt: &Receipt, refunds: &str, is_unknown: bool, words: &Words) -> Self {
        let had_tickets = receipt.details.completed_at.is_some();
        let money = match had_tickets {
            _ if !refunds.is_empty() => refunds,
            _ if is_unknown => words.payment.unknown.text,
            true if order.total > Amount::ZERO && receipt.refunds.is_empty() => words.tickets.contact_about_refund,
            true => "",
            false => words.payment.nothing_to_pay,
        };
        let entry = if had_tickets { words.tickets.no_entry } else { "" };
        let late = if is_late(receipt) { words.payment.too_late.text } else { "" };
        Self::new(if had_tickets { "bad" } else { "calm" }, title, &sentences([entry, late, money]))
    }
}

fn of_completed<'a>(
    order: &Order,
    event: EventStatus,
    receipt: &Receipt,
    refunds: &str,
    words: &'a Words,
) -> (&'static str, &'a str, &'a str) {
    let is_refunded = order.total > Amount::ZERO && receipt.details.refunded >= order.total;
    let is_due = receipt.refunds.iter().any(|refund| refund.to_return() > Amount::ZERO);
    match event {
        EventStatus::Expired => ("calm", words.tickets.event_over, ""),
        _ if refunds.is_empty() => ("good", words.payment.paid.title, words.payment.paid.text),
        _ if is_refunded && is_due => ("calm", words.receipt.refund_due, ""),
        _ if is_refunded => ("calm", words.receipt.refunded, ""),
        _ => ("calm", words.payment.paid.title, ""),
    }
}

fn of_pending(order: &Order, settled: Option<&SettledCheckout>, words: &Words) -> Option<(&'static str, Message)> {
    let words = &words.payment;
    let Some(settled) = settled else {
        let payment = order.payment_gateway.as_ref().map(|payment| payment.status);
        return (payment == Some(PaymentStatus::Failed)).then_some(("bad", words.failed));
    };
    let message = match settled.state {
        CheckoutState::Open => words.not_yet,
        CheckoutState::Processing => words.in_progress,
        CheckoutState::Closed => words.closed,
        CheckoutState::Unknown => words.unknown,
        CheckoutState::Paid(_) | CheckoutState::Returned(_) => words.mismatch,
    };
    Some(("calm", message))
}

/// Whether the payment came too late to complete the order.
pub(crate) fn is_late(receipt: &Receipt) -> bool {
    receipt.payments.iter().any(|payment| payment.purpose == PaymentPurpose::Late)
}

/// A sentence about what went back, and one about what will. Empty if nothing does.
pub(crate) fn refunds(refunds: &[Refund], words: &Words) -> String {
    let sentences_of = |amount_of: fn(&Refund) -> Amount, sentence: fn(&str) -> String| {
        let mut sums: BTreeMap<&str, Amount> = BTreeMap::new();
        for refund in refunds.iter().filter(|refund| amount_of(refund) > Amount::ZERO) {
            let sum = sums.entry(&refund.currency).or_insert(Amount::ZERO);
            *sum = sum.plus(amount_of(refund));
        }
        let written = sums.into_iter().map(|(currency, sum)| sentence(&words::money(words, sum, currency)));
        written.collect::<Vec<_>>().join(" ")
    };
    let went = sentences_of(|refund| refund.returned, words.payment.was_refunded);
    let will = sentences_of(Refund::to_return, words.payment.will_be_refunded);
    sentences([went.as_str(), &will])
}

/// The sentences that are not empty, one after the other.
fn sentences<'a>(sentences: impl IntoIterator<Item = &'a str>) -> String {
    sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join(" ")
}
