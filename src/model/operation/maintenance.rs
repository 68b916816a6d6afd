//! The report of a maintenance run.

/// What a run of the maintenance did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MaintenanceReport {
    /// Orders that were marked as expired.
    pub expired_orders: usize,
    /// Events that were marked as expired.
    pub expired_events: usize,
    /// Pending orders that were cancelled because their event was, by a program that has ended meanwhile.
    pub cancelled_orders: usize,
    /// Tickets of allocations that were issued or cancelled.
    pub allocated_tickets: usize,
    /// Checkouts that the gateway was asked to close, or their outcomes, and that it answered for.
    pub answered_checkouts: usize,
    /// Refunds that the gateway made or refused.
    pub answered_refunds: usize,
    /// Payments that were refunded or disputed before, and that the gateway said more about.
    pub checked_payments: usize,
    /// Idempotency keys that were deleted at the age of 24 hours.
    pub forgotten_keys: usize,
    /// Webhook deliveries that were deleted at the age of the
    /// [`webhook_retention`](crate::Builder::webhook_retention).
    pub forgotten_deliveries: usize,
    /// Notifications for handlers that were deleted unprocessed, because no program has had their handler for the
    /// [`webhook_retention`](crate::Builder::webhook_retention).
    pub forgotten_notifications: usize,
    /// Mails that were deleted at the age of their retention.
    pub forgotten_mails: usize,
    /// Rows that could not be processed, because they cannot be read or contradict other rows. They are as they were,
    /// and are tried again after a minute. [`check`](crate::TicketingService::check) shows them.
    pub skipped_rows: usize,
    /// Whether nothing was expired or deleted because the clock [jumped
    /// ahead](crate::TicketingService::run_maintenance).
    pub held_back: bool,
}
