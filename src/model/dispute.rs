//! Disputes: payments that a customer's bank has taken back, or may take back.

use crate::text_enum::text_enum;

text_enum! {
    /// The status of a dispute.
    pub enum DisputeStatus {
        /// The bank has not decided yet.
        Open = "OPEN",
        /// The bank decided for the organizer, who keeps the payment.
        Won = "WON",
        /// The bank decided for the customer, who has the money back.
        Lost = "LOST",
    }
}
