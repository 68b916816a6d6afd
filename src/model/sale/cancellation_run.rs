//! The cancellation of all completed orders of an event that does not take place.

use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::model::values::id::{CancellationRunId, EventId, OrderId};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// How many orders a run names that could not be cancelled.
pub(crate) const NAMED_FAILURES: usize = 20;

form! {
    /// A request to cancel all COMPLETED orders of a CANCELLED event.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct CancelEventOrders {
        /// Whether what is left of the payments is refunded; true by default.
        pub refund: Option<bool> [nullable],
        /// The reason: 1 to 255 characters. It is shown with each refund.
        pub reason: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
    }
}

text_enum! {
    /// The state of a run that cancels the orders of an event.
    pub enum CancellationRunState {
        /// Orders are being cancelled.
        Running = "RUNNING",
        /// Every order is cancelled, or could not be cancelled. Refunds may still be due.
        Done = "DONE",
    }
}

responses! {
    /// A run that cancels the COMPLETED orders of a CANCELLED event, in batches, and refunds them.
    pub struct CancellationRun {
        /// The id.
        pub id: CancellationRunId,
        /// The event.
        pub event_id: EventId,
        /// The state.
        pub state: CancellationRunState,
        /// Whether what is left of the payments is refunded.
        pub refund: bool,
        /// The organizer's reason. Not set if the request gave none.
        pub reason: Option<String>,
        /// The number of orders found so far: those that are cancelled, have failed, or are still to be cancelled.
        pub orders: i64,
        /// The number of orders that the run has cancelled.
        pub cancelled: i64,
        /// The number of refunds of these orders that are due, and that nobody has to make manually.
        pub refunds_due: i64,
        /// The number of refunds of these orders whose money was returned.
        pub refunds_done: i64,
        /// The number of refunds of these orders that the organizer has to make manually: the order was marked as paid,
        /// or the gateway has no refunds or has refused this one.
        pub manual: i64,
        /// The number of orders that could not be cancelled. They are still COMPLETED, and the next run tries them
        /// again.
        pub failed: i64,
        /// The first 20 orders that could not be cancelled.
        pub failures: Vec<FailedCancellation>,
        /// When the run was started.
        pub started_at: Timestamp,
        /// When the last order was cancelled. Not set while the run is RUNNING.
        pub ended_at: Option<Timestamp>,
        /// Whether the request that returns it has found the run in progress, and has started none.
        pub already_running: bool [default],
    }

    /// An order that could not be cancelled.
    pub struct FailedCancellation {
        /// The order.
        pub order_id: OrderId,
        /// Why it could not be cancelled.
        pub error: String,
    }
}
