//! Issued tickets: what a person shows at the door.

use super::customer::{Customer, NewCustomer};
use super::id::{ApiKeyId, CustomerId, EventId, OrderId, OrderItemId, TicketId, TicketTypeId, kind};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::fields::{Fields, FromFields, object_value};
use crate::text_enum::text_enum;

text_enum! {
    /// Where a ticket stands.
    pub enum TicketStatus {
        /// Its holder is inside.
        CheckedIn = "CHECKED_IN",
        /// Its holder is not inside.
        NotCheckedIn = "NOT_CHECKED_IN",
        /// It admits nobody.
        Cancelled = "CANCELLED",
    }
}

/// An issued ticket with its type and its holder.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct IssuedTicket {
    /// The ticket itself.
    #[serde(flatten)]
    pub record: CancelledIssuedTicket,
    /// Its type.
    pub ticket: TicketTypeOfTicket,
    /// Its holder, with the name given at the time.
    pub customer: Option<Customer>,
}

impl std::ops::Deref for IssuedTicket {
    type Target = CancelledIssuedTicket;

    fn deref(&self) -> &Self::Target {
        &self.record
    }
}

/// An issued ticket without its type and its holder: the answer to its cancellation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CancelledIssuedTicket {
    /// Its id.
    pub id: TicketId,
    /// The ticket type.
    #[serde(rename = "ticketId")]
    pub ticket_type_id: TicketTypeId,
    /// The order's item; `None` where the organizer issued it.
    pub order_item_id: Option<OrderItemId>,
    /// The customer.
    pub customer_id: Option<CustomerId>,
    /// What is scanned at the door: 20 characters of Crockford base32, 100 random bits.
    pub code: String,
    /// Always `None`: this crate makes no files.
    pub download_ticket_url: Option<String>,
    /// Where it stands.
    pub status: TicketStatus,
    /// When its holder was let in last.
    pub check_in_date: Option<Timestamp>,
    /// When its holder left last.
    pub check_out_date: Option<Timestamp>,
    /// The key that let its holder in last.
    pub checked_in_by_id: Option<ApiKeyId>,
    /// Whether the organizer issued it without an order.
    pub is_internal: bool,
    /// Always `None`: there are no allocations.
    pub internal_allocation_id: Option<String>,
    /// Always `None`: there are no labels.
    pub ticket_label: Option<String>,
    /// When it was accepted for the first time.
    pub first_scan_date: Option<Timestamp>,
    /// From this instant on it is refused; set by the first accepted scan.
    pub expires_at: Option<Timestamp>,
    /// When it was scanned last, refused scans included.
    pub last_scan_date: Option<Timestamp>,
    /// How often it was scanned, refused scans included.
    pub scan_count: i64,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// The type of a ticket, as the ticket shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TicketTypeOfTicket {
    /// The ticket type.
    pub id: TicketTypeId,
    /// Its name.
    pub name: String,
    /// The event.
    pub event_id: EventId,
}

/// Tickets that the organizer issues without an order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct IssueTickets {
    /// The ticket type, whatever its status.
    #[cfg_attr(feature = "server", schemars(rename = "ticketId"))]
    pub ticket_type_id: TicketTypeId,
    /// Who they are for. A company is not looked at.
    pub customer: NewCustomer,
    /// From 1 to 10.
    pub quantity: i64,
}

impl FromFields for IssueTickets {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let WithoutCompany(customer) = fields.required("customer");
        Self { ticket_type_id: fields.required("ticketId"), customer, quantity: fields.required("quantity") }
    }
}

/// A customer whose company is not asked for.
struct WithoutCompany(NewCustomer);

impl FromFields for WithoutCompany {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let (email, name) = (fields.required("email"), fields.required("name"));
        Self(NewCustomer { email, name, company_name: None, locale: fields.nullable("locale") })
    }
}

object_value!(WithoutCompany);

#[cfg(feature = "server")]
impl schemars::JsonSchema for WithoutCompany {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TicketHolder".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        NewCustomer::json_schema(generator)
    }
}

/// The answer to issuing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IssueTicketsResponse {
    /// Always true.
    #[cfg_attr(feature = "server", schemars(extend("const" = true)))]
    pub success: bool,
    /// What was done, for a person.
    pub message: String,
    /// The new tickets.
    pub issued_tickets: Vec<NewTicket>,
}

/// A ticket just issued.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct NewTicket {
    /// Its id.
    pub id: TicketId,
    /// What is scanned at the door.
    pub code: String,
}

/// A scan at the door.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CheckInTicket {
    /// The code: upper and lower case alike, blanks and hyphens ignored.
    pub code: String,
    /// The event at whose door the ticket is shown: any other is refused.
    pub event_id: Option<EventId>,
}

impl CheckInTicket {
    /// A scan at the door of any event.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), event_id: None }
    }
}

impl FromFields for CheckInTicket {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { code: fields.required("code"), event_id: fields.optional("eventId") }
    }
}

/// Which tickets to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListTickets {
    /// Only those of this event.
    pub event_id: Option<EventId>,
    /// Only those of this ticket type.
    #[cfg_attr(feature = "server", schemars(rename = "ticketId"))]
    pub ticket_type_id: Option<TicketTypeId>,
    /// Only those of this order.
    pub order_id: Option<OrderId>,
    /// Only those with this status.
    pub status: Option<TicketStatus>,
    /// Only those of this customer: the whole address, upper and lower case alike.
    pub customer_email: Option<String>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Ticket>,
}

impl FromFields for ListTickets {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            event_id: fields.optional("eventId"),
            ticket_type_id: fields.optional("ticketId"),
            order_id: fields.optional("orderId"),
            status: fields.optional("status"),
            customer_email: fields.optional("customerEmail"),
            page: PageRequest::from_fields(fields),
        }
    }
}
