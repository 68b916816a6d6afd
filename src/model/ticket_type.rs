//! Ticket types: what can be bought for an event.

use super::amount::Amount;
use super::id::{EventId, TicketTypeId, kind};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::change::Change;
use crate::form::fields::{Fields, FromFields};
use crate::text_enum::text_enum;

text_enum! {
    /// How a ticket type is offered.
    pub enum TicketTypeStatus {
        /// It can be ordered.
        OnSale = "ON_SALE",
        /// It is shown as sold out.
        DisplayAsSoldOut = "DISPLAY_AS_SOLD_OUT",
        /// It is shown as not available.
        DisplayAsUnavailable = "DISPLAY_AS_UNAVAILABLE",
        /// Only the organizer sees it.
        OnlyVisibleToOwner = "ONLY_VISIBLE_TO_OWNER",
    }
}

/// A ticket type.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TicketType {
    /// Its id.
    pub id: TicketTypeId,
    /// Its name.
    pub name: String,
    /// What one gets.
    pub description: Option<String>,
    /// The price of one, in the event's currency.
    pub price: Amount,
    /// How many places there are.
    pub quantity: i64,
    /// How many are sold or issued and not cancelled. Places that pending orders hold are not among them.
    pub sold: i64,
    /// The event.
    pub event_id: EventId,
    /// How it is offered.
    pub status: TicketTypeStatus,
    /// Whether buyers see how many are left.
    pub display_remaining: bool,
    /// Nobody enters before this instant.
    pub valid_from: Option<Timestamp>,
    /// Nobody enters from this instant on.
    pub valid_until: Option<Timestamp>,
    /// Where it is not empty: entry only on the days, in the event's time zone, on which these instants fall.
    pub allowed_dates: Vec<Timestamp>,
    /// For how many calendar days, in the event's time zone, a ticket is valid from its first scan on.
    pub validity_days: Option<i64>,
    /// For how many hours a ticket is valid from its first scan on.
    pub validity_hours: Option<i64>,
    /// Where the ticket admits to.
    pub access_areas: Vec<String>,
    /// How many of them one order may hold.
    pub max_per_order: i64,
    /// The sale begins at this instant.
    pub sale_start_date: Option<Timestamp>,
    /// The sale is over from this instant on.
    pub sale_end_date: Option<Timestamp>,
    /// Its place in the list; smaller comes first.
    pub sort_order: i64,
    /// Text printed on the ticket.
    pub ticket_text: Option<String>,
    /// The address of a logo printed on the ticket.
    pub ticket_logo: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last; sales are no change.
    pub updated_at: Timestamp,
    /// Raised by every change of the ticket type; sales are none. Not part of the JSON.
    #[serde(skip, default = "super::first_revision")]
    pub revision: i64,
}

/// A new ticket type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CreateTicketType {
    /// At least 2 characters.
    pub name: String,
    /// From 0 to 1,000,000,000, with no more decimals than the event's currency has.
    pub price: Amount,
    /// From 1 to 10,000,000.
    pub quantity: i64,
    /// What one gets.
    pub description: Option<String>,
    /// ON_SALE where it is not given.
    pub status: Option<TicketTypeStatus>,
    /// False where it is not given.
    pub display_remaining: Option<bool>,
    /// 1 or more.
    pub validity_days: Option<i64>,
    /// 1 or more.
    pub validity_hours: Option<i64>,
    /// Empty where it is not given.
    pub access_areas: Option<Vec<String>>,
    /// From 1 to 100; 10 where it is not given.
    pub max_per_order: Option<i64>,
    /// 0 where it is not given.
    pub sort_order: Option<i64>,
    /// Text printed on the ticket.
    pub ticket_text: Option<String>,
    /// A URI (RFC 3986).
    pub ticket_logo: Option<String>,
    /// Before `valid_until`.
    pub valid_from: Option<Timestamp>,
    /// After `valid_from`.
    pub valid_until: Option<Timestamp>,
    /// Empty where it is not given.
    pub allowed_dates: Option<Vec<Timestamp>>,
    /// Before `sale_end_date`.
    pub sale_start_date: Option<Timestamp>,
    /// After `sale_start_date`.
    pub sale_end_date: Option<Timestamp>,
}

impl CreateTicketType {
    /// A ticket type on sale at once and valid at any time.
    #[must_use]
    pub fn new(name: impl Into<String>, price: Amount, quantity: i64) -> Self {
        Self {
            name: name.into(),
            price,
            quantity,
            description: None,
            status: None,
            display_remaining: None,
            validity_days: None,
            validity_hours: None,
            access_areas: None,
            max_per_order: None,
            sort_order: None,
            ticket_text: None,
            ticket_logo: None,
            valid_from: None,
            valid_until: None,
            allowed_dates: None,
            sale_start_date: None,
            sale_end_date: None,
        }
    }
}

impl FromFields for CreateTicketType {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.required("name"),
            price: fields.required("price"),
            quantity: fields.required("quantity"),
            description: fields.optional("description"),
            status: fields.optional("status"),
            display_remaining: fields.optional("displayRemaining"),
            validity_days: fields.nullable("validityDays"),
            validity_hours: fields.nullable("validityHours"),
            access_areas: fields.optional("accessAreas"),
            max_per_order: fields.optional("maxPerOrder"),
            sort_order: fields.optional("sortOrder"),
            ticket_text: fields.nullable("ticketText"),
            ticket_logo: fields.nullable("ticketLogo"),
            valid_from: fields.nullable("validFrom"),
            valid_until: fields.nullable("validUntil"),
            allowed_dates: fields.optional("allowedDates"),
            sale_start_date: fields.nullable("saleStartDate"),
            sale_end_date: fields.nullable("saleEndDate"),
        }
    }
}

/// Changes to a ticket type, under the same limits as [`CreateTicketType`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct UpdateTicketType {
    /// Its name.
    pub name: Change<String>,
    /// The price of one; orders keep the price they were made at.
    pub price: Change<Amount>,
    /// How many places there are: not fewer than are sold or held.
    pub quantity: Change<i64>,
    /// What one gets.
    pub description: Change<String>,
    /// How it is offered.
    pub status: Change<TicketTypeStatus>,
    /// Whether buyers see how many are left.
    pub display_remaining: Change<bool>,
    /// Calendar days from the first scan on.
    pub validity_days: Change<Option<i64>>,
    /// Hours from the first scan on.
    pub validity_hours: Change<Option<i64>>,
    /// Where the ticket admits to.
    pub access_areas: Change<Vec<String>>,
    /// How many of them one order may hold.
    pub max_per_order: Change<i64>,
    /// Its place in the list.
    pub sort_order: Change<i64>,
    /// Text printed on the ticket.
    pub ticket_text: Change<Option<String>>,
    /// The address of a logo.
    pub ticket_logo: Change<Option<String>>,
    /// Nobody enters before this instant.
    pub valid_from: Change<Option<Timestamp>>,
    /// Nobody enters from this instant on.
    pub valid_until: Change<Option<Timestamp>>,
    /// The days of entry.
    pub allowed_dates: Change<Vec<Timestamp>>,
    /// The sale begins at this instant.
    pub sale_start_date: Change<Option<Timestamp>>,
    /// The sale is over from this instant on.
    pub sale_end_date: Change<Option<Timestamp>>,
}

impl FromFields for UpdateTicketType {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.change("name"),
            price: fields.change("price"),
            quantity: fields.change("quantity"),
            description: fields.change("description"),
            status: fields.change("status"),
            display_remaining: fields.change("displayRemaining"),
            validity_days: fields.change_nullable("validityDays"),
            validity_hours: fields.change_nullable("validityHours"),
            access_areas: fields.change("accessAreas"),
            max_per_order: fields.change("maxPerOrder"),
            sort_order: fields.change("sortOrder"),
            ticket_text: fields.change_nullable("ticketText"),
            ticket_logo: fields.change_nullable("ticketLogo"),
            valid_from: fields.change_nullable("validFrom"),
            valid_until: fields.change_nullable("validUntil"),
            allowed_dates: fields.change("allowedDates"),
            sale_start_date: fields.change_nullable("saleStartDate"),
            sale_end_date: fields.change_nullable("saleEndDate"),
        }
    }
}

/// Which ticket types of an event to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListTicketTypes {
    /// Only those with this status.
    pub status: Option<TicketTypeStatus>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::TicketType>,
}

impl FromFields for ListTicketTypes {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { status: fields.optional("status"), page: PageRequest::from_fields(fields) }
    }
}
