//! The outcome of a notice of the payment gateway.

use crate::enums::text_enum::text_enum;
use crate::error::gateway_failure::NoticeError;

text_enum! {
    /// The outcome of a notice of the payment gateway.
    pub enum NoticeOutcome {
        /// What it says is recorded, or was recorded before.
        Processed = "processed",
        /// It reports a payment of another amount, or in another currency, than the order costs. The payment completed
        /// nothing, and is refunded.
        AmountMismatch = "amount-mismatch",
        /// It is about an order that is not in this database.
        UnknownOrder = "unknown-order",
        /// It reports a payment that this service has asked for, but no order of this database has it. The money is in
        /// the account at the provider, and nobody has got tickets for it: see [the
        /// guide](crate::guide::payment_gateway#payments-that-no-order-has).
        UnknownPayment = "unknown-payment",
        /// The gateway had to ask the provider, which refused to answer. The log says why.
        GatewayRefused = "gateway-refused",
        /// It says nothing about a payment.
        Ignored = "ignored",
        /// The gateway did not sign it.
        InvalidSignature = "invalid-signature",
        /// The gateway signed it, but it cannot be read.
        Unreadable = "unreadable",
        /// The gateway had to ask the provider, and got no answer.
        Unavailable = "unavailable",
        /// The gateway sends no notices.
        Unsupported = "unsupported",
    }
}

impl NoticeOutcome {
    /// The outcome of a notice that was refused.
    pub(crate) fn of_refusal(refusal: &NoticeError) -> Self {
        match refusal {
            NoticeError::Unsupported => Self::Unsupported,
            NoticeError::InvalidSignature => Self::InvalidSignature,
            NoticeError::Unreadable(_) => Self::Unreadable,
            NoticeError::Unavailable(_) => Self::Unavailable,
        }
    }
}
