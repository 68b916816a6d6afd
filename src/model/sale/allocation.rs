//! Allocations: a number of tickets of one type that the organizer gives away, or hands to somebody else to sell.

use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
#[cfg(feature = "documents")]
use crate::form::declare::setters::constructor;
use crate::form::limits::ListLimit::{Each, MaxItems};
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::limits::{ENTRY_LENGTH, LINE_LENGTH};
use crate::model::values::id::{AllocationId, EventId, TicketTypeId};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of tickets of an allocation that is not an import.
const MAX_TICKETS: usize = 10_000;

/// Labels of tickets.
type Labels = Vec<String>;

/// # Constructors
impl CreateAllocation {
    /// Creates a request for `quantity` tickets. Each has the name as its label.
    #[must_use]
    pub fn new(name: impl Into<String>, quantity: i64) -> Self {
        Self { name: name.into(), quantity, labels: None, reference: None, metadata: None }
    }

    /// Creates a request for a ticket for each of these labels.
    #[must_use]
    pub fn of_labels(name: impl Into<String>, labels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let labels: Labels = labels.into_iter().map(Into::into).collect();
        Self { labels: Some(labels.clone()), ..Self::new(name, i64::try_from(labels.len()).unwrap_or(i64::MAX)) }
    }
}

form! {
    /// A request to set tickets aside.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CreateAllocation {
        /// The name, such as `Guest list`: 1 to 100 characters.
        pub name: String [MinLength(1), MaxLength(ENTRY_LENGTH)],
        /// The number of tickets: 1 to 10,000.
        pub quantity: i64 [Min(1), Max(10_000)],
        /// What distinguishes the tickets, such as `Row A, seat 3` or `Ada Lovelace, press`: at most one for each ticket,
        /// each of 1 to 100 characters. A ticket without one has the name of the allocation.
        pub labels: Option<Labels> [nullable, MaxItems(MAX_TICKETS), Each(&[MinLength(1), MaxLength(ENTRY_LENGTH)])],
        /// The organization's own name for the allocation: 1 to 255 characters.
        pub reference: Option<String> [nullable, MinLength(1), MaxLength(LINE_LENGTH)],
        /// Metadata that the organization attaches to the allocation: strings by name, at most 16,384 bytes.
        pub metadata: Option<Metadata> [nullable],
    }
}

text_enum! {
    /// The state of an allocation.
    pub enum AllocationState {
        /// Its tickets are being issued. The seats of those that are not are reserved.
        Issuing = "ISSUING",
        /// All tickets are issued, or the event was cancelled before.
        Complete = "COMPLETE",
        /// Its tickets are being cancelled.
        Cancelling = "CANCELLING",
        /// Its tickets are cancelled, except for those whose holders are or were inside.
        Cancelled = "CANCELLED",
    }
}

responses! {
    /// Tickets of one type that are set aside, or that another seller has sold.
    pub struct Allocation {
        /// The id.
        pub id: AllocationId,
        /// The event.
        pub event_id: EventId,
        /// The ticket type.
        #[serde(rename = "ticketId")]
        pub ticket_type_id: TicketTypeId,
        /// The name. That of an import is the channel over which the tickets were sold.
        pub name: String,
        /// Whether its tickets were imported, with the codes of another seller.
        pub imported: bool,
        /// The state.
        pub state: AllocationState,
        /// The number of tickets that it was created for, or that were imported.
        pub quantity: i64,
        /// The number of tickets that were ever issued.
        pub issued: i64,
        /// The number of these that are cancelled.
        pub cancelled: i64,
        /// The number of these that are checked in now.
        pub checked_in: i64,
        /// The number of tickets that the cancellation has left, because their holders are or were inside. Only set if it
        /// is CANCELLED.
        pub kept: Option<i64>,
        /// The organization's own name for the allocation.
        pub reference: Option<String>,
        /// Metadata that the organization has attached to the allocation.
        pub metadata: Metadata,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }
}

#[cfg(feature = "documents")]
constructor! { GetAllocationDocument "Creates a request for the first tickets." }

#[cfg(feature = "documents")]
form! {
    /// Which tickets of an allocation a document has.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct GetAllocationDocument {
        /// The number of the first ticket, from 1. Default: 1. Cancelled tickets count.
        pub from: Option<i64> [Min(1)],
    }
}

list_request! {
    /// A request to list allocations.
    pub struct ListAllocations {
        /// Only allocations of this event.
        pub event_id: Option<EventId>,
        /// Only allocations of this ticket type.
        pub ticket_type_id as "ticketId": Option<TicketTypeId>,
        /// Only allocations in this state.
        pub state: Option<AllocationState>,
        /// The part of the list to return.
        pub page: PageRequest<AllocationId>,
    }
}
