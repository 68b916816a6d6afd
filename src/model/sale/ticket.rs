//! Issued tickets: what a person shows at the entrance.

use super::customer::{Customer, NewCustomer};
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::{Email, MaxLength, MinLength, TicketCode};
use crate::form::limits::{EMAIL_LENGTH, LINE_LENGTH};
use crate::form::request::Request;
use crate::model::values::id::{
    AllocationId, ApiKeyId, CustomerId, EventId, OrderId, OrderItemId, TicketId, TicketTypeId,
};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::{responses, with_shared_fields};
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of a ticket.
    pub enum TicketStatus {
        /// It is checked in: its holder is inside.
        CheckedIn = "CHECKED_IN",
        /// It is not checked in: its holder is outside.
        NotCheckedIn = "NOT_CHECKED_IN",
        /// It is cancelled and no longer valid.
        Cancelled = "CANCELLED",
    }
}

with_shared_fields! {
    shared {
        /// The id.
        id: TicketId,
        /// The ticket type.
        #[serde(rename = "ticketId")]
        ticket_type_id: TicketTypeId,
        /// The item of the order. Not set if the organizer issued the ticket without an order.
        order_item_id: Option<OrderItemId>,
        /// The customer. Not set if none is assigned to the ticket of an allocation.
        customer_id: Option<CustomerId>,
        /// The code that is scanned at check-in: 20 characters of Crockford base32, which encode 100 random bits, or the
        /// code of another seller if the ticket was imported.
        code: String,
        /// A link to the ticket as a PDF, for its holder. It works without an API key. Not set unless ticket documents
        /// are enabled, nor if the ticket was imported.
        download_ticket_url: Option<String>,
        /// The status.
        status: TicketStatus,
        /// When the ticket was last checked in.
        check_in_date: Option<Timestamp>,
        /// When the ticket was last checked out.
        check_out_date: Option<Timestamp>,
        /// The API key with which the ticket was last checked in.
        checked_in_by_id: Option<ApiKeyId>,
        /// Whether the organizer issued the ticket without an order.
        is_internal: bool,
        /// The allocation. Not set if the ticket belongs to none.
        internal_allocation_id: Option<AllocationId>,
        /// What distinguishes the ticket from others of its allocation, such as a seat.
        ticket_label: Option<String>,
        /// When the ticket was first checked in.
        first_scan_date: Option<Timestamp>,
        /// From this time on, the ticket cannot be checked in. Set by the first check-in if the ticket type has a
        /// validity period in days or hours.
        expires_at: Option<Timestamp>,
        /// When the ticket was last scanned for check-in, including refused scans. Check-outs do not count.
        last_scan_date: Option<Timestamp>,
        /// How often the ticket was scanned for check-in, including refused scans. Check-outs do not count.
        scan_count: i64,
        /// When the ticket was issued.
        created_at: Timestamp,
        /// When the ticket last changed.
        updated_at: Timestamp,
    }

    /// An issued ticket with its type and its holder.
    pub struct IssuedTicket {
        /// The ticket type.
        #[serde(rename = "ticket")]
        ticket_type: TicketTypeOfTicket,
        /// The holder, with the name given when the ticket was issued or assigned. Not set if none is assigned.
        customer: Option<Customer>,
    }
    /// The response to the cancellation of an issued ticket: the ticket without its type and its holder.
    pub struct CancelledIssuedTicket {}
}

responses! {
    /// A ticket type as shown in a ticket.
    pub struct TicketTypeOfTicket {
        /// The ticket type.
        pub id: TicketTypeId,
        /// The name.
        pub name: String,
        /// The event.
        pub event_id: EventId,
    }
}

/// # Constructors
impl IssueTickets {
    /// Creates a request for `quantity` tickets of one type.
    #[must_use]
    pub fn new(ticket_type_id: TicketTypeId, customer: NewCustomer, quantity: i64) -> Self {
        Self { ticket_type_id, customer, quantity }
    }
}

form! {
    /// A request to issue tickets without an order, made by the organizer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct IssueTickets {
        /// The ticket type. It may have any status: it need not be on sale.
        pub ticket_type_id as "ticketId": TicketTypeId,
        /// The holder of the tickets. A company name is ignored.
        pub customer: NewCustomer as TicketHolder,
        /// The number of tickets: 1 to 10.
        pub quantity: i64 [Min(1), Max(10)],
    }
}

form! {
    /// The holder of issued tickets: a customer without a company.
    struct TicketHolder {
        /// The e-mail address: at most 254 characters. It identifies the customer; upper and lower case are equivalent.
        /// With `new@walk-in.invalid`, for a customer who gives no address, a customer with an address of its own is
        /// created.
        email: String [MaxLength(EMAIL_LENGTH), Email],
        /// The name: 1 to 255 characters.
        name: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// The language and country of the holder, such as `de-AT`, or the header `Accept-Language` of a browser: at
        /// most 255 characters. The documents and pages of these tickets are in this language, if it is supported.
        locale: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// Metadata that the organization attaches to the customer: strings by name, at most 16,384 bytes. It replaces
        /// the metadata from earlier orders and tickets. If it is not set, the customer keeps that metadata.
        metadata: Option<Metadata> [nullable],
    }
}

impl From<TicketHolder> for NewCustomer {
    fn from(holder: TicketHolder) -> Self {
        let TicketHolder { email, name, locale, metadata } = holder;
        Self { email, name, company_name: None, locale, metadata }
    }
}

impl From<NewCustomer> for AssignTicket {
    fn from(customer: NewCustomer) -> Self {
        Self { customer }
    }
}

impl From<NewCustomer> for Request<AssignTicket> {
    fn from(customer: NewCustomer) -> Self {
        AssignTicket::from(customer).into()
    }
}

form! {
    /// A request to give a ticket of an allocation to a customer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AssignTicket {
        /// The holder of the ticket. A company name is ignored.
        pub customer: NewCustomer as TicketHolder,
    }
}

responses! {
    /// The response to issuing tickets.
    pub struct IssueTicketsResponse {
        /// Always true.
        pub success: bool,
        /// A message that describes the result.
        pub message: String,
        /// The new tickets.
        pub issued_tickets: Vec<NewTicket>,
    }

    /// A newly issued ticket.
    pub struct NewTicket {
        /// The id.
        pub id: TicketId,
        /// The code that is scanned at check-in.
        pub code: String,
    }
}

/// # Constructors
impl CheckInTicket {
    /// Creates a scan that accepts tickets for any event of the organization. Set [`event`](Self::event) to refuse
    /// tickets for other events.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), event_id: None }
    }
}

form! {
    /// A request to check a ticket in or out: the scan of its code.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CheckInTicket {
        /// The code of the ticket: at most 255 characters. Upper and lower case are equivalent, and so are O and 0, and
        /// I, L and 1. White space, dashes, control characters and invisible ones are ignored. The code of another
        /// seller is read exactly as it was imported, without white space at its ends.
        pub code: String [MinLength(1), MaxLength(LINE_LENGTH), TicketCode],
        /// The event at whose entrance the ticket is scanned. Tickets for other events are refused. Needed if tickets of
        /// several events were imported with the code.
        pub event_id: Option<EventId>,
    }
}

/// # Constructors
impl FindTicket {
    /// Creates a request for the ticket of any event of the organization that has this code.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), event_id: None }
    }
}

impl From<&str> for FindTicket {
    fn from(code: &str) -> Self {
        Self::new(code)
    }
}

impl From<&String> for FindTicket {
    fn from(code: &String) -> Self {
        Self::new(code)
    }
}

form! {
    /// A request for the ticket with a code.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct FindTicket {
        /// The code of the ticket, which is read as for a check-in: at most 255 characters.
        pub code: String [MinLength(1), MaxLength(LINE_LENGTH), TicketCode],
        /// The event of the ticket. Needed if tickets of several events were imported with the code.
        pub event_id: Option<EventId>,
    }
}

list_request! {
    /// A request to list tickets.
    pub struct ListTickets {
        /// Only tickets for this event.
        pub event_id: Option<EventId>,
        /// Only tickets of this ticket type.
        pub ticket_type_id as "ticketId": Option<TicketTypeId>,
        /// Only tickets of this order.
        pub order_id: Option<OrderId>,
        /// Only tickets of this allocation.
        pub allocation_id: Option<AllocationId>,
        /// Only tickets with this status.
        pub status: Option<TicketStatus>,
        /// Only tickets of the customer with exactly this e-mail address. Upper and lower case are equivalent, and so
        /// are both spellings of an international domain.
        pub customer_email: Option<String> [MaxLength(EMAIL_LENGTH), Email],
        /// Only tickets that were first checked in at this time or later.
        pub first_scan_from: Option<Timestamp>,
        /// Only tickets that were first checked in before this time.
        pub first_scan_before: Option<Timestamp>,
        /// The part of the list to return.
        pub page: PageRequest<TicketId>,
    }
}
