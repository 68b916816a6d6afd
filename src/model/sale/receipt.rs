//! What the pages of an order say of it besides its tickets: for the customer.

use super::event::Event;
use super::order::{Order, OrderDetails};
use super::received_payment::{ManualMethod, PaymentPurpose};
use super::refund::Refund;
use crate::form::accepted::preferred_language;
use crate::model::values::amount::Amount;
use crate::model::values::timestamp::Timestamp;

/// An order on the pages on which it is paid.
#[derive(Debug)]
pub(crate) struct OrderOnPage {
    pub(crate) order: Order,
    pub(crate) event: Event,
    /// The name of the organization that sells.
    pub(crate) organizer: String,
    pub(crate) receipt: Receipt,
}

/// Who buys, what was paid for an order, and what goes back.
#[derive(Debug)]
pub(crate) struct Receipt {
    pub(crate) details: OrderDetails,
    /// The oldest first.
    pub(crate) payments: Vec<ReceiptPayment>,
    /// The oldest first. Refunds that have failed are among them.
    pub(crate) refunds: Vec<Refund>,
}

/// A payment on a receipt.
#[derive(Debug)]
pub(crate) struct ReceiptPayment {
    pub(crate) purpose: PaymentPurpose,
    /// `None` if a payment gateway took it.
    pub(crate) manual_method: Option<ManualMethod>,
    pub(crate) amount: Amount,
    pub(crate) currency: String,
    pub(crate) received_at: Timestamp,
}

impl Receipt {
    /// The language tag of the buyer, such as `de-AT`: the language of the order, or else the locale of the customer.
    pub(crate) fn language(&self) -> Option<String> {
        preferred_language(self.details.language.clone().or_else(|| self.details.locale.clone()))
    }
}
