//! Orders: their creation and life cycle, the seats and discount uses that they claim, and their holds.

pub(crate) mod cancellation_runs;
pub(crate) mod gateway_facts;
#[cfg(feature = "documents")]
pub(crate) mod linked_documents;
pub(crate) mod manual_refunds;
pub(crate) mod order_creation;
pub(crate) mod order_lifecycle;
pub(crate) mod partial_refunds;
pub(crate) mod payment_checks;
#[cfg(feature = "event-pages")]
pub(crate) mod quotes;
#[cfg(feature = "server")]
pub(crate) mod receipts;
pub(crate) mod received_payments;
pub(crate) mod refund_attempts;
