//! Statements: what a payment gateway lists of the payments, refunds and disputes of a period.

use super::checkout::GatewayPayment;
use super::gateway_report::{GatewayDispute, GatewayRefund};
use crate::form::declare::setters::with_setters;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;

/// What a line of a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementEvent {
    /// A customer has paid.
    Payment(GatewayPayment),
    /// A payment, or a part of it, was refunded, or the refund has failed.
    Refund(GatewayRefund),
    /// A bank disputes a payment.
    Dispute(GatewayDispute),
}

impl StatementLine {
    /// Creates a line with its event, the gateway's id of the payment, and the time of the event. The other fields are
    /// not known, unless they are set.
    #[must_use]
    pub fn new(event: StatementEvent, payment_reference: impl Into<String>, happened_at: Timestamp) -> Self {
        Self {
            event,
            checkout_reference: None,
            payment_reference: payment_reference.into(),
            order_id: None,
            organization_id: None,
            happened_at,
            movements: 1,
            fee: None,
            net: None,
        }
    }
}

with_setters! {
    /// A line of a statement: a payment, a refund or a dispute, with its state when the gateway listed it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct StatementLine {
        /// The payment, refund or dispute, with its amount and currency.
        pub event: StatementEvent,
        /// The gateway's id of the checkout through which the customer paid. `None` if the gateway does not list it,
        /// which may be so for refunds and disputes.
        pub checkout_reference: Option<String>,
        /// The gateway's id of the payment that was made, refunded or disputed.
        pub payment_reference: String,
        /// The order, as the program has attached it to the payment. In an account that an organization owns, the
        /// organization may have written any order there.
        pub order_id: Option<OrderId>,
        /// The organization that sold the tickets, as the program has attached it to the payment. In an account that an
        /// organization owns, it may be any organization.
        pub organization_id: Option<OrganizationId>,
        /// When the customer paid, or when the refund or the dispute was created.
        pub happened_at: Timestamp,
        /// How many entries of the provider's own statement it stands for; 1 by default. A refund that has failed may
        /// have 2, because its money went out and came back. So may a dispute whose money came back.
        pub movements: u64,
        /// The fee of the provider and of a platform for this movement, in the currency of the payment. `None` if it is
        /// not known, or if the account is kept in another currency.
        pub fee: Option<Amount>,
        /// By how much this has changed the balance of the account, in the currency of the payment: the amount less the
        /// fee. It is negative for most refunds and disputes. `None` like the fee.
        pub net: Option<Amount>,
    }
}
