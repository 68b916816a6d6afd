//! Events: what tickets are sold for.

use crate::enums::text_enum::text_enum;
use crate::form::declare::writable_fields::writable_fields;
use crate::form::limits::ListLimit::{Each, MaxItems, Unique};
use crate::form::limits::TextLimit::{ExactLength, Lines, MaxLength, MinLength, SafeLink, Slug, TimeOfDay, Uri};
use crate::form::limits::{ADDRESS_LINES, ANY_LINES, DESCRIPTION_LENGTH, ENTRY_LENGTH, LINE_LENGTH, URL_LENGTH};
use crate::form::object::Form;
use crate::model::tenants::organization::Organization;
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// The status of an event.
    pub enum EventStatus {
        /// Its tickets are on sale.
        Published = "PUBLISHED",
        /// It is in preparation.
        Drafted = "DRAFTED",
        /// It has ended.
        Expired = "EXPIRED",
        /// All seats are sold.
        SoldOut = "SOLD_OUT",
        /// It will not take place.
        Cancelled = "CANCELLED",
    }
}

text_enum! {
    /// The delivery method of an event: how its tickets reach the customer.
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
        /// The first layout.
        V1 = "V1",
    }
}

responses! {
    /// An event.
    pub struct Event {
        /// The id.
        pub id: EventId,
        /// The title.
        pub title: String,
        /// What the event is about.
        pub description: Option<String>,
        /// Where the event takes place.
        pub location: Option<String>,
        /// Any JSON about the location.
        pub location_metadata: serde_json::Value,
        /// The currency of all prices: an ISO 4217 code.
        pub currency: String,
        /// The time zone: an IANA name.
        pub timezone: String,
        /// When the event begins.
        pub start_date: Timestamp,
        /// The local time at which the event begins: `HH:MM` in its time zone.
        pub start_time: Option<String>,
        /// When the event ends. An event without an end ends 24 hours after its start.
        pub end_date: Option<Timestamp>,
        /// The local time at which the event ends: `HH:MM` in its time zone.
        pub end_time: Option<String>,
        /// The local time at which days of the event begin: `HH:MM` in its time zone. Not set means midnight.
        pub day_starts_at: Option<String>,
        /// The URI of a picture.
        pub cover_image: Option<String>,
        /// The state. An event on sale or sold out is reported as EXPIRED as soon as it has ended.
        pub status: EventStatus,
        /// The organization.
        pub organizer_id: OrganizationId,
        /// The name of the event in URLs, unique within the organization.
        pub slug: String,
        /// Tags.
        pub tags: Vec<String>,
        /// Whether listings highlight the event.
        pub is_featured: bool,
        /// How often the page of the event was viewed.
        pub page_views: i64,
        /// Whether the event is visible to everyone.
        pub is_public: bool,
        /// Any JSON about tracking.
        pub tracking_pixels: serde_json::Value,
        /// How tickets reach the customer.
        pub delivery_method: DeliveryMethod,
        /// The countries to which physical tickets are sent, as two-letter codes (ISO 3166-1 alpha-2). Empty means all
        /// countries.
        pub shipping_countries: Vec<String>,
        /// Whether an order may name a company.
        pub accepts_company: bool,
        /// Whether the organizer receives no notifications of orders.
        pub disable_organizer_order_notifications: bool,
        /// The layout of a ticket's PDF.
        pub ticket_pdf_design_version: TicketPdfDesignVersion,
        /// The URL of the page on which customers buy. Not set if the [event pages](crate::Builder::event_pages) are not
        /// switched on, or if the event is a draft or not public.
        pub page_url: Option<String> [default],
        /// The organization's own name for the event.
        pub reference: Option<String>,
        /// What the organization has attached to the event.
        pub metadata: Metadata [default],
        /// When the event was created.
        pub created_at: Timestamp,
        /// When the event was last changed. Sales and page views do not count as changes.
        pub updated_at: Timestamp,
        /// The number of the current version. Every change increases it; sales and page views do not.
        pub revision: i64,
    }
}

/// # Constructors
impl CreateEvent {
    /// Creates a draft of an event with digital tickets and no optional fields.
    #[must_use]
    pub fn new(title: impl Into<String>, slug: impl Into<String>, start_date: Timestamp) -> Self {
        let title = title.into();
        let slug = slug.into();
        Self { title, slug, start_date, delivery_method: DeliveryMethod::Digital, ..Self::blank() }
    }
}

writable_fields! {
    /// A request to create an event.
    create CreateEvent(organization: &Organization);
    /// Changes to an event, with the same limits as for its creation.
    update UpdateEvent;
    fields EventFields of Event;

    /// The title: 3 to 255 characters.
    title: String => required, MinLength(3), MaxLength(LINE_LENGTH);
    /// What the event is about: 5 to 20,000 characters. It may have several lines.
    description: String => nullable, MinLength(5), MaxLength(DESCRIPTION_LENGTH), Lines(ANY_LINES);
    /// Where the event takes place: 3 to 255 characters. It may have several lines, at most 5.
    location: String => nullable, MinLength(3), MaxLength(LINE_LENGTH), Lines(ADDRESS_LINES);
    /// The currency of all prices: an ISO 4217 code. The default is the currency of the organization. Once the event
    /// has prices or orders, the currency cannot change.
    currency: String => inherited(organization.currency.clone()), ExactLength(3);
    /// The time zone: an IANA name. The default is the time zone of the organization.
    timezone: String => inherited(organization.timezone.clone());
    /// When the event begins.
    start_date: Timestamp => required;
    /// When the event ends. Must not be before its start.
    end_date: Timestamp => optional;
    /// The name of the event in URLs: up to 255 lower-case letters and digits, in groups joined by single hyphens.
    /// Unique within the organization.
    slug: String => required, Slug, MaxLength(LINE_LENGTH);
    /// A picture: a URI (RFC 3986) of at most 2,048 characters. An `http` or `https` URL has a host and no user; the
    /// scheme of an app is accepted, but none that runs a script or reads local data, such as `javascript` or `data`.
    cover_image: String => optional, MaxLength(URL_LENGTH), Uri, SafeLink;
    /// Whether the event is visible to everyone.
    is_public: bool => default(true);
    /// The state.
    status: EventStatus => default(EventStatus::Drafted);
    /// How tickets reach the customer.
    delivery_method: DeliveryMethod => required;
    /// The countries to which physical tickets are sent, as two-letter codes (ISO 3166-1 alpha-2): at most 300, each
    /// once. Empty means all countries.
    shipping_countries: Vec<String> => default(Vec::new()),
        MaxItems(300), Each(&[MaxLength(ENTRY_LENGTH)]), Unique;
    /// Whether an order may name a company.
    accepts_company: bool => default(false);
    /// The organization's own name for the event: 1 to 255 characters. Lists can be filtered by it. It need not be
    /// unique.
    reference: String => nullable, MinLength(1), MaxLength(LINE_LENGTH);
    /// What the organization attaches to the event: strings by name, at most 16,384 bytes. An update replaces all of
    /// it.
    metadata: Metadata => default(Metadata::new());
}

writable_fields! {
    /// Changes to the settings of an event that do not concern its sale.
    update EventSettings;
    fields EventSettingsFields of Event;

    /// Tags: at most 50, each once and of at most 100 characters.
    tags: Vec<String> => required, MaxItems(50), Each(&[MaxLength(ENTRY_LENGTH)]), Unique;
    /// Whether listings highlight the event.
    is_featured: bool => required;
    /// Any JSON about the location: at most 16,384 bytes, and 32 levels deep.
    location_metadata: serde_json::Value => required;
    /// Any JSON about tracking: at most 16,384 bytes, and 32 levels deep.
    tracking_pixels: serde_json::Value => required;
    /// Whether the organizer receives no notifications of orders.
    disable_organizer_order_notifications: bool => required;
    /// The local time at which days of the event begin, for the allowed dates of its ticket types, for validity in
    /// calendar days, and for tickets that are checked in once a day: `HH:MM` in its time zone, from 00:00, the default,
    /// to 23:59. With 06:00, a night from 22:00 to 06:00 is one day. Tickets that were scanned already expire at the time
    /// that was set then.
    day_starts_at: String => nullable, TimeOfDay;
}

list_request! {
    /// A request to list events.
    pub struct ListEvents {
        /// Only events that currently have this status.
        pub status: Option<EventStatus>,
        /// Only public events, or only the others.
        pub is_public: Option<bool>,
        /// Only events with this text in their title or slug: at most 100 characters. Upper and lower case are
        /// equivalent, and so are different encodings of a letter.
        pub q: Option<String> [MaxLength(100)],
        /// Only the event with exactly this slug.
        pub slug: Option<String> [MaxLength(LINE_LENGTH), Slug],
        /// Only events that begin at this time or later.
        pub starts_from: Option<Timestamp>,
        /// Only events that begin before this time.
        pub starts_before: Option<Timestamp>,
        /// Only events with exactly this reference.
        pub reference: Option<String> [MaxLength(LINE_LENGTH)],
        /// The part of the list to return.
        pub page: PageRequest<EventId>,
    }
}
