//! The ledger: every movement of money, in the order in which it was recorded. No entry is ever changed or removed.

use crate::enums::text_enum::text_enum;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::sale::received_payment::ManualMethod;
use crate::model::values::amount::Amount;
use crate::model::values::id::{ApiKeyId, DisputeId, EventId, LedgerEntryId, OrderId, PaymentId, RefundId};
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// What moved money.
    pub enum LedgerKind {
        /// A payment came in.
        Payment = "PAYMENT",
        /// A refund was made, or money was returned manually.
        Refund = "REFUND",
        /// A refund failed after it was made, so that its money came back.
        RefundFailed = "REFUND_FAILED",
        /// A bank took money for a dispute.
        Dispute = "DISPUTE",
        /// A bank gave back what it had taken.
        DisputeReturned = "DISPUTE_RETURNED",
    }
}

responses! {
    /// A movement of money. The sum of the entries of an order is what the organizer keeps of it.
    ///
    /// A refund at the gateway that pays several decisions has an entry for each of them, with the same reference.
    pub struct LedgerEntry {
        /// The id. Ids sort by the time of recording.
        pub id: LedgerEntryId,
        /// What moved the money.
        pub kind: LedgerKind,
        /// The amount: more than 0 if the organizer got it, and less if the organizer gave it.
        pub amount: Amount,
        /// The currency: an ISO 4217 code.
        pub currency: String,
        /// The order.
        pub order_id: OrderId,
        /// The event of the order.
        pub event_id: EventId,
        /// The payment.
        pub payment_id: PaymentId,
        /// The refund that the money went back for.
        pub refund_id: Option<RefundId>,
        /// The dispute.
        pub dispute_id: Option<DisputeId>,
        /// How it was done manually. Not set for a movement at a gateway.
        pub manual_method: Option<ManualMethod>,
        /// The name of the payment gateway. Not set for a manual movement, or if the gateway is not known.
        pub gateway: Option<String>,
        /// The provider's id of the account. Not set if it is the gateway's own account, or not known.
        pub account: Option<String>,
        /// Whether it is real money. Manual movements are LIVE.
        pub mode: PaymentMode,
        /// The gateway's id of the payment, the refund or the dispute.
        pub reference: Option<String>,
        /// The note with which it was recorded.
        pub note: Option<String>,
        /// When it happened, as far as is known.
        pub happened_at: Timestamp,
        /// When it was recorded.
        pub recorded_at: Timestamp,
        /// The API key that recorded it. Not set if the gateway reported it.
        pub recorded_by: Option<ApiKeyId>,
        /// The name of the caller that recorded it, such as a till of a program. Calls over HTTP have none.
        pub recorded_by_name: Option<String>,
        /// Whether an earlier version recorded what this was derived from.
        pub backfilled: bool,
    }
}

list_request! {
    /// A request to list the entries of the ledger.
    pub struct ListLedgerEntries {
        /// Only entries of orders for this event.
        pub event_id: Option<EventId>,
        /// Only entries of this order.
        pub order_id: Option<OrderId>,
        /// Only entries of this kind.
        pub kind: Option<LedgerKind>,
        /// Only real money, or only that of tests.
        pub mode: Option<PaymentMode>,
        /// Only entries recorded at this time or later.
        pub from: Option<Timestamp>,
        /// Only entries recorded before this time.
        pub before: Option<Timestamp>,
        /// The part of the list to return.
        pub page: PageRequest<LedgerEntryId>,
    }
}
