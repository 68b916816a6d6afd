//! Conflicts: requests that the current state does not allow.

use super::fields::FieldError;
use crate::enums::text_enum::text_enum;

/// A request that the current state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
#[non_exhaustive]
pub struct Conflict {
    /// The machine-readable reason.
    pub reason: Reason,
    /// A message for people.
    pub detail: String,
    /// The fields of the request that conflict, if it is a list of which some entries do: at most 100.
    pub errors: Vec<FieldError>,
}

text_enum! {
    /// The reason for a conflict: why the current state does not allow a request.
    pub enum Reason {
        /// Another event of the organization has this slug.
        SlugTaken = "slug-taken",
        /// Another organization has this reference.
        ReferenceTaken = "reference-taken",
        /// Another organization has this page name.
        PageNameTaken = "page-name-taken",
        /// Another discount of the event has this code, or other tickets of the event have these codes.
        CodeTaken = "code-taken",
        /// The event is not PUBLISHED, or has ended.
        EventNotOnSale = "event-not-on-sale",
        /// The ticket type is not ON_SALE.
        TicketTypeNotOnSale = "ticket-type-not-on-sale",
        /// The sale of the ticket type has not begun.
        SaleNotStarted = "sale-not-started",
        /// The sale of the ticket type is over.
        SaleEnded = "sale-ended",
        /// There are not enough seats left.
        SoldOut = "sold-out",
        /// The order has more tickets of one type than allowed.
        MaxPerOrderExceeded = "max-per-order-exceeded",
        /// There are as many resources of the kind as there may be.
        LimitReached = "limit-reached",
        /// The status cannot change in this way, or the notification to resend is of a type to which its endpoint is no
        /// longer subscribed.
        InvalidTransition = "invalid-transition",
        /// The quantity would be less than the number of sold and reserved seats.
        QuantityBelowSold = "quantity-below-sold",
        /// Other resources depend on the resource.
        InUse = "in-use",
        /// The order is not PENDING.
        OrderNotPending = "order-not-pending",
        /// The order is not COMPLETED.
        OrderNotCompleted = "order-not-completed",
        /// The order is already CANCELLED.
        OrderNotCancellable = "order-not-cancellable",
        /// The gateway is just being asked for a checkout of the order.
        CheckoutInProgress = "checkout-in-progress",
        /// The customer has paid, and the money is still on its way.
        PaymentInProgress = "payment-in-progress",
        /// More is to be refunded than is left of what was paid for the order.
        RefundExceedsPayment = "refund-exceeds-payment",
        /// The gateway is just being asked for the refund.
        RefundInProgress = "refund-in-progress",
        /// Nothing of the refund is left to go back.
        RefundSettled = "refund-settled",
        /// Nothing of the order, or less, is to be returned manually.
        NoManualRefundDue = "no-manual-refund-due",
        /// The ticket is CANCELLED.
        TicketCancelled = "ticket-cancelled",
        /// The ticket has the code of another seller, whose ticket is the document.
        TicketImported = "ticket-imported",
        /// The ticket has a customer already.
        AlreadyAssigned = "already-assigned",
        /// Tickets of several events have the code.
        AmbiguousCode = "ambiguous-code",
        /// The tickets of the allocation are being issued, or are cancelled.
        AllocationNotComplete = "allocation-not-complete",
        /// The ticket is checked in already.
        AlreadyCheckedIn = "already-checked-in",
        /// The ticket is not checked in.
        NotCheckedIn = "not-checked-in",
        /// The ticket is for another event.
        WrongEvent = "wrong-event",
        /// The event is not CANCELLED.
        EventNotCancelled = "event-not-cancelled",
        /// The event is CANCELLED.
        EventCancelled = "event-cancelled",
        /// The ticket is not valid yet.
        NotYetValid = "not-yet-valid",
        /// The ticket is not valid any more.
        NoLongerValid = "no-longer-valid",
        /// The ticket is for other days than today.
        NotValidToday = "not-valid-today",
        /// The event has no door link, so its scans are not logged.
        NoDoorLink = "no-door-link",
        /// The discount has reached its usage limit.
        DiscountUsedUp = "discount-used-up",
        /// The service sends no mails, or mail is switched off for the organization.
        MailDisabled = "mail-disabled",
    }
}
