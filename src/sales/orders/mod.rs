//! Orders: their creation and life cycle, the seats and discount uses that they claim, and their holds.

pub(crate) mod cancellation_runs;
pub(crate) mod gateway_facts;
#[cfg(feature = "documents")]
pub(crate) mod linked_documents;
#[cfg(feature = "mail")]
pub(crate) mod mail_facts;
#[cfg(feature = "mail")]
pub(crate) mod mail_resends;
pub(crate) mod manual_refunds;
pub(crate) mod order_creation;
pub(crate) mod order_lifecycle;
pub(crate) mod partial_refunds;
pub(crate) mod payment_checks;
#[cfg(feature = "mail")]
pub(crate) mod payment_reminders;
#[cfg(feature = "event-pages")]
pub(crate) mod quotes;
#[cfg(any(feature = "server", feature = "mail"))]
pub(crate) mod receipts;
pub(crate) mod received_payments;
pub(crate) mod refund_attempts;
