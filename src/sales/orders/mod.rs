//! Orders: their creation and life cycle, the seats and discount uses that they claim, and their holds.

pub(super) mod discount_use;
pub(crate) mod hold_releases;
pub(crate) mod holds;
pub(super) mod inventory;
pub(crate) mod order_creation;
pub(crate) mod order_lifecycle;
#[cfg(feature = "event-pages")]
pub(crate) mod quotes;
#[cfg(feature = "server")]
pub(crate) mod receipts;
