//! Refunds and disputes, as a payment gateway reports them.

use super::dispute::DisputeStatus;
use crate::form::declare::setters::with_setters;
use crate::model::values::amount::Amount;
use crate::model::values::id::RefundId;

with_setters! {
    /// A refund, as the gateway reports it: one that this service asked for, or one that somebody made in the account
    /// at the gateway.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct GatewayRefund {
        /// The gateway's id of the refund.
        pub reference: String,
        /// Which refund of this service it is, if the gateway has kept its id. It counts only if that refund is of the
        /// same order and payment, and has this amount, currency and reference: an organization that has an account of
        /// its own at the provider may be able to write any id.
        pub refund_id: Option<RefundId>,
        /// The amount that is given back.
        pub amount: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// Its state at the gateway.
        pub state: RefundState,
    }
}

/// The state of a refund at the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefundState {
    /// The gateway has accepted it. It may still fail.
    Pending,
    /// The gateway has accepted it, and waits for the customer, who has to say where the money goes. It may still fail.
    RequiresAction,
    /// The money has gone back. With some providers, it may still fail.
    Succeeded,
    /// The money was not sent, or came back. The text says why, in the gateway's words.
    Failed(String),
}

impl GatewayRefund {
    /// Creates a refund that has succeeded, and that the gateway does not say this service asked for.
    #[must_use]
    pub fn new(reference: impl Into<String>, amount: Amount, currency: impl Into<String>) -> Self {
        let (reference, currency) = (reference.into(), currency.into());
        Self { reference, refund_id: None, amount, currency, state: RefundState::Succeeded }
    }

    pub(crate) const fn has_failed(&self) -> bool {
        matches!(self.state, RefundState::Failed(_))
    }
}

with_setters! {
    /// A dispute of a payment, as the gateway reports it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct GatewayDispute {
        /// The gateway's id of the dispute.
        pub reference: String,
        /// The gateway's id of the payment, if it says so.
        pub payment_reference: Option<String>,
        /// The disputed amount.
        pub amount: Amount,
        /// What the gateway has taken from the organizer for it and has not given back. It is less than the amount, or
        /// nothing, if the bank only asks questions, or if the dispute was won.
        pub taken: Amount,
        /// The currency, as an ISO 4217 code.
        pub currency: String,
        /// The gateway's word for the reason.
        pub reason: String,
        /// Its status. For a dispute that was won, set also [what is taken](Self::taken): usually nothing.
        pub status: DisputeStatus,
    }
}

impl GatewayDispute {
    /// Creates a dispute that the bank has not decided, for the reason `general`. The gateway has taken the whole
    /// amount.
    #[must_use]
    pub fn new(reference: impl Into<String>, amount: Amount, currency: impl Into<String>) -> Self {
        Self {
            reference: reference.into(),
            payment_reference: None,
            amount,
            taken: amount,
            currency: currency.into(),
            reason: "general".to_owned(),
            status: DisputeStatus::Open,
        }
    }
}
