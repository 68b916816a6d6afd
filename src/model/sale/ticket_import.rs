//! Tickets that were sold elsewhere, with the codes of their seller.

use super::allocation::Allocation;
use crate::form::declare::fields::form;
use crate::form::limits::ListLimit::{MaxItems, MinItems};
use crate::form::limits::TextLimit::{Email, ForeignCode, MaxLength, MinLength};
use crate::form::limits::{EMAIL_LENGTH, ENTRY_LENGTH, LINE_LENGTH};
use crate::model::values::id::AllocationId;
use crate::model::values::responses::responses;

/// The greatest number of tickets of one import.
pub(crate) const MAX_IMPORTED: usize = 1000;

/// # Constructors
impl ImportTickets {
    /// Creates a request for a new allocation with these tickets. The name is the channel over which they were sold.
    #[must_use]
    pub fn new(name: impl Into<String>, tickets: impl IntoIterator<Item = ImportedTicket>) -> Self {
        Self { name: Some(name.into()), allocation_id: None, notify: None, tickets: tickets.into_iter().collect() }
    }

    /// Creates a request to add tickets to an allocation of imported ones.
    #[must_use]
    pub fn add_to(allocation: AllocationId, tickets: impl IntoIterator<Item = ImportedTicket>) -> Self {
        Self { allocation_id: Some(allocation), name: None, ..Self::new("", tickets) }
    }
}

form! {
    /// A request to import tickets that were sold elsewhere. It imports all of them or none.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ImportTickets {
        /// The name of a new allocation, such as the channel over which the tickets were sold: 1 to 100 characters. Not
        /// together with `allocationId`.
        pub name: Option<String> [nullable, MinLength(1), MaxLength(ENTRY_LENGTH)],
        /// The allocation of an earlier import to which they are added. Not together with `name`.
        pub allocation_id: Option<AllocationId> [nullable],
        /// Whether webhook endpoints and functions get `ticket.issued` for each ticket. Default: false.
        pub notify: Option<bool> [nullable],
        /// The tickets: 1 to 1,000.
        pub tickets: Vec<ImportedTicket> [MinItems(1), MaxItems(MAX_IMPORTED)],
    }
}

/// # Constructors
impl ImportedTicket {
    /// Creates a ticket with the code of its seller.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), label: None, holder: None }
    }
}

form! {
    /// A ticket that was sold elsewhere.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ImportedTicket {
        /// The text that is scanned: 6 to 200 visible ASCII characters, which are kept as they are. White space at the
        /// ends is cut off. No valid ticket of the event has it. It is none that is read as a code of this service: 20
        /// characters of Crockford base32.
        pub code: String [MinLength(6), MaxLength(200), ForeignCode],
        /// What is shown to the staff at the entrance, such as a seat: 1 to 100 characters.
        pub label: Option<String> [nullable, MinLength(1), MaxLength(ENTRY_LENGTH)],
        /// Its holder.
        pub holder: Option<ImportedHolder> [nullable],
    }
}

/// # Constructors
impl ImportedHolder {
    /// Creates the holder of an imported ticket.
    #[must_use]
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { name: name.into(), email: email.into() }
    }
}

form! {
    /// The holder of an imported ticket.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ImportedHolder {
        /// The name: 1 to 255 characters.
        pub name: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// The e-mail address: at most 254 characters. It identifies the customer; upper and lower case are equivalent.
        pub email: String [MaxLength(EMAIL_LENGTH), Email],
    }
}

responses! {
    /// The result of an import.
    pub struct TicketImport {
        /// The number of tickets that this request has imported: all of them.
        pub imported: i64,
        /// The allocation that they belong to.
        pub allocation: Allocation,
    }
}
