//! The balance of an order: what was received for it, what went back, and what still has to.

use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, PaymentId};
use crate::model::values::responses::responses;

responses! {
    /// The balance of an order. Its sums are those of the payments in the currency of the order: of real money, if
    /// there is any.
    pub struct OrderBalance {
        /// The order.
        pub order_id: OrderId,
        /// The currency of the sums: an ISO 4217 code.
        pub currency: String,
        /// Whether the sums are of real money. Not set if nothing was received.
        pub mode: Option<PaymentMode>,
        /// The sums.
        #[serde(flatten)]
        pub sums: BalanceSums,
        /// The balance of each payment, the oldest first.
        pub payments: Vec<PaymentBalance>,
    }

    /// The balance of a payment.
    pub struct PaymentBalance {
        /// The payment.
        pub payment_id: PaymentId,
        /// The currency: an ISO 4217 code.
        pub currency: String,
        /// Whether it is real money.
        pub mode: PaymentMode,
        /// The sums.
        #[serde(flatten)]
        pub sums: BalanceSums,
    }

    /// The sums of one or more payments.
    #[derive(Copy, Default)]
    pub struct BalanceSums {
        /// What was paid.
        pub received: Amount,
        /// What went back: refunds that have not failed, and money that the organizer returned manually.
        pub returned: Amount,
        /// What banks have taken for disputes and have not given back.
        pub taken: Amount,
        /// What was decided to be refunded, without what was withdrawn.
        pub promised: Amount,
        /// What the gateway is to be asked for, or is just being asked for.
        pub in_flight: Amount,
        /// What waits until a bank has decided about a dispute.
        pub on_hold: Amount,
        /// What the organizer still has to return manually.
        pub owed: Amount,
    }
}
