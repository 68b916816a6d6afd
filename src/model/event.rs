//! Events: what tickets are sold for.

use super::id::{EventId, OrganizationId, kind};
use super::page::PageRequest;
use super::timestamp::Timestamp;
use crate::form::change::Change;
use crate::form::fields::{Fields, FromFields};
use crate::text_enum::text_enum;

text_enum! {
    /// Where an event stands.
    pub enum EventStatus {
        /// Its tickets are on sale.
        Published = "PUBLISHED",
        /// It is being prepared.
        Drafted = "DRAFTED",
        /// It is over.
        Expired = "EXPIRED",
        /// Every place is sold.
        SoldOut = "SOLD_OUT",
        /// It will not take place.
        Cancelled = "CANCELLED",
    }
}

text_enum! {
    /// How tickets reach the customer.
    pub enum DeliveryMethod {
        /// As a code.
        Digital = "DIGITAL",
        /// By mail: an order needs a shipping address.
        Physical = "PHYSICAL",
    }
}

text_enum! {
    /// The layout of a ticket's PDF.
    pub enum TicketPdfDesignVersion {
        /// The first.
        V1 = "V1",
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub description: Option<String>,
    /// Where it takes place.
    pub location: Option<String>,
    /// Free JSON about the place.
    pub location_metadata: serde_json::Value,
    /// The currency of its prices: an ISO 4217 code.
    pub currency: String,
    /// Its time zone: an IANA name.
    pub timezone: String,
    /// When it begins.
    pub start_date: Timestamp,
    /// The wall-clock time there at which it begins, `HH:MM`.
    pub start_time: Option<String>,
    /// When it ends; 24 hours after its start where it has no end.
    pub end_date: Option<Timestamp>,
    /// The wall-clock time there at which it ends, `HH:MM`.
    pub end_time: Option<String>,
    /// The address of a picture.
    pub cover_image: Option<String>,
    /// Where it stands: EXPIRED from the instant of its end, whatever was stored.
    pub status: EventStatus,
    /// The organization.
    pub organizer_id: OrganizationId,
    /// Its name in addresses, unique within the organization.
    pub slug: String,
    /// Free words.
    pub tags: Vec<String>,
    /// Whether it stands out in listings.
    pub is_featured: bool,
    /// How often its page was viewed.
    pub page_views: i64,
    /// Whether everybody may see it.
    pub is_public: bool,
    /// Free JSON about trackers.
    pub tracking_pixels: serde_json::Value,
    /// How tickets reach the customer.
    pub delivery_method: DeliveryMethod,
    /// Where physical tickets are sent; everywhere where it is empty. Two-letter codes (ISO 3166-1).
    pub shipping_countries: Vec<String>,
    /// Whether an order may name a company.
    pub accepts_company: bool,
    /// Whether the organizer wants to hear of no orders.
    pub disable_organizer_order_notifications: bool,
    /// The layout of a ticket's PDF.
    pub ticket_pdf_design_version: TicketPdfDesignVersion,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was changed last; sales and page views are no change.
    pub updated_at: Timestamp,
    /// Raised by every change of the event; sales and page views are none. Not part of the JSON.
    #[serde(skip, default = "super::first_revision")]
    pub revision: i64,
}

/// A new event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct CreateEvent {
    /// At least 3 characters.
    pub title: String,
    /// At least 5 characters.
    pub description: Option<String>,
    /// At least 3 characters.
    pub location: Option<String>,
    /// An ISO 4217 code; the organization's currency where it is not given.
    pub currency: Option<String>,
    /// An IANA name; the organization's time zone where it is not given.
    pub timezone: Option<String>,
    /// When it begins.
    pub start_date: Timestamp,
    /// When it ends: not before its start.
    pub end_date: Option<Timestamp>,
    /// Lower-case letters and digits in groups joined by single hyphens; unique within the organization.
    pub slug: String,
    /// A URI (RFC 3986).
    pub cover_image: Option<String>,
    /// True where it is not given.
    pub is_public: Option<bool>,
    /// DRAFTED where it is not given.
    pub status: Option<EventStatus>,
    /// How tickets reach the customer.
    pub delivery_method: DeliveryMethod,
    /// Empty where it is not given.
    pub shipping_countries: Option<Vec<String>>,
    /// False where it is not given.
    pub accepts_company: Option<bool>,
}

impl CreateEvent {
    /// A drafted event with digital tickets and nothing but what every event needs.
    #[must_use]
    pub fn new(title: impl Into<String>, slug: impl Into<String>, start_date: Timestamp) -> Self {
        Self {
            title: title.into(),
            description: None,
            location: None,
            currency: None,
            timezone: None,
            start_date,
            end_date: None,
            slug: slug.into(),
            cover_image: None,
            is_public: None,
            status: None,
            delivery_method: DeliveryMethod::Digital,
            shipping_countries: None,
            accepts_company: None,
        }
    }
}

impl FromFields for CreateEvent {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            title: fields.required("title"),
            description: fields.nullable("description"),
            location: fields.nullable("location"),
            currency: fields.optional("currency"),
            timezone: fields.optional("timezone"),
            start_date: fields.required("startDate"),
            end_date: fields.optional("endDate"),
            slug: fields.required("slug"),
            cover_image: fields.optional("coverImage"),
            is_public: fields.optional("isPublic"),
            status: fields.optional("status"),
            delivery_method: fields.required("deliveryMethod"),
            shipping_countries: fields.optional("shippingCountries"),
            accepts_company: fields.optional("acceptsCompany"),
        }
    }
}

/// Changes to an event, under the same limits as [`CreateEvent`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct UpdateEvent {
    /// The title.
    pub title: Change<String>,
    /// What it is about.
    pub description: Change<Option<String>>,
    /// Where it takes place.
    pub location: Change<Option<String>>,
    /// The currency; it cannot change once something has a price in it.
    pub currency: Change<String>,
    /// The time zone.
    pub timezone: Change<String>,
    /// When it begins.
    pub start_date: Change<Timestamp>,
    /// When it ends.
    pub end_date: Change<Timestamp>,
    /// Its name in addresses.
    pub slug: Change<String>,
    /// The address of a picture.
    pub cover_image: Change<String>,
    /// Whether everybody may see it.
    pub is_public: Change<bool>,
    /// Where it stands.
    pub status: Change<EventStatus>,
    /// How tickets reach the customer.
    pub delivery_method: Change<DeliveryMethod>,
    /// Where physical tickets are sent.
    pub shipping_countries: Change<Vec<String>>,
    /// Whether an order may name a company.
    pub accepts_company: Change<bool>,
}

impl FromFields for UpdateEvent {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            title: fields.change("title"),
            description: fields.change_nullable("description"),
            location: fields.change_nullable("location"),
            currency: fields.change("currency"),
            timezone: fields.change("timezone"),
            start_date: fields.change("startDate"),
            end_date: fields.change("endDate"),
            slug: fields.change("slug"),
            cover_image: fields.change("coverImage"),
            is_public: fields.change("isPublic"),
            status: fields.change("status"),
            delivery_method: fields.change("deliveryMethod"),
            shipping_countries: fields.change("shippingCountries"),
            accepts_company: fields.change("acceptsCompany"),
        }
    }
}

/// Changes to what an event carries beside its sale.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct EventSettings {
    /// Free words.
    pub tags: Change<Vec<String>>,
    /// Whether it stands out in listings.
    pub is_featured: Change<bool>,
    /// Free JSON about the place.
    pub location_metadata: Change<serde_json::Value>,
    /// Free JSON about trackers.
    pub tracking_pixels: Change<serde_json::Value>,
    /// Whether the organizer wants to hear of no orders.
    pub disable_organizer_order_notifications: Change<bool>,
}

impl FromFields for EventSettings {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            tags: fields.change("tags"),
            is_featured: fields.change("isFeatured"),
            location_metadata: fields.change("locationMetadata"),
            tracking_pixels: fields.change("trackingPixels"),
            disable_organizer_order_notifications: fields.change("disableOrganizerOrderNotifications"),
        }
    }
}

/// Which events to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ListEvents {
    /// Only those that read this status now.
    pub status: Option<EventStatus>,
    /// Only public ones, or only the others.
    pub is_public: Option<bool>,
    /// Only those with this text in their title or slug, upper and lower case alike. At most 1,000 characters.
    pub q: Option<String>,
    /// Only those that begin at this instant or later.
    pub starts_from: Option<Timestamp>,
    /// Only those that begin before this instant.
    pub starts_before: Option<Timestamp>,
    /// Which part of the list.
    #[cfg_attr(feature = "server", schemars(flatten))]
    pub page: PageRequest<kind::Event>,
}

impl FromFields for ListEvents {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            status: fields.optional("status"),
            is_public: fields.optional("isPublic"),
            q: fields.optional("q"),
            starts_from: fields.optional("startsFrom"),
            starts_before: fields.optional("startsBefore"),
            page: PageRequest::from_fields(fields),
        }
    }
}
