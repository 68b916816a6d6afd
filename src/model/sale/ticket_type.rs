//! Ticket types: what can be ordered for an event.

use crate::enums::text_enum::text_enum;
use crate::form::declare::writable_fields::writable_fields;
use crate::form::limits::ListLimit::{Each, MaxItems, Unique};
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::{Lines, Logo, MaxLength, MinLength, Picture};
use crate::form::limits::{ANY_LINES, DESCRIPTION_LENGTH, ENTRY_LENGTH, LINE_LENGTH};
use crate::form::object::Form;
use crate::model::values::amount::{Amount, MAX_PRICE};
use crate::model::values::id::{EventId, TicketTypeId};
use crate::model::values::metadata::Metadata;
use crate::model::values::page::{PageRequest, list_request};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The highest number of ticket types of an event.
pub(crate) const MAX_TICKET_TYPES: usize = 500;

/// The highest number of seats of a ticket type, and of uses of a discount.
pub(crate) const MAX_QUANTITY: i64 = 10_000_000;

text_enum! {
    /// The status of a ticket type: whether it is on sale.
    pub enum TicketTypeStatus {
        /// It can be ordered.
        OnSale = "ON_SALE",
        /// It cannot be ordered and is shown as sold out.
        DisplayAsSoldOut = "DISPLAY_AS_SOLD_OUT",
        /// It cannot be ordered and is shown as unavailable.
        DisplayAsUnavailable = "DISPLAY_AS_UNAVAILABLE",
        /// It cannot be ordered and only the organizer sees it.
        OnlyVisibleToOwner = "ONLY_VISIBLE_TO_OWNER",
    }
}

text_enum! {
    /// Whether one ticket of a type can be ordered now, and if not, why. It follows from the same conditions as the answer
    /// to an order.
    pub enum SaleState {
        /// It can be ordered.
        OnSale = "ON_SALE",
        /// Its sale has not begun.
        NotYet = "NOT_YET",
        /// Its sale has ended, or its event.
        Ended = "ENDED",
        /// No seat is left, or the organizer shows it or its event as sold out.
        SoldOut = "SOLD_OUT",
        /// It is not offered: its event is not published or was cancelled, or its status is neither on sale nor sold
        /// out.
        Closed = "CLOSED",
    }
}

impl SaleState {
    /// That of a ticket type that a version without states has stored as a result.
    const fn unknown() -> Self {
        Self::Closed
    }
}

responses! {
    /// A ticket type.
    pub struct TicketType {
        /// The id.
        pub id: TicketTypeId,
        /// The name.
        pub name: String,
        /// What a buyer gets.
        pub description: Option<String>,
        /// The price of one ticket, in the currency of the event.
        pub price: Amount,
        /// The number of seats.
        pub quantity: i64,
        /// The number of seats that are sold or issued. Cancelled tickets and seats reserved by pending orders do not
        /// count.
        pub sold: i64,
        /// The number of seats that are neither sold nor reserved by pending orders or allocations.
        pub available: i64 [default],
        /// Whether it can be ordered now, and if not, why.
        pub sale_state: SaleState [default = "SaleState::unknown"],
        /// The event.
        pub event_id: EventId,
        /// How the ticket type is offered.
        pub status: TicketTypeStatus,
        /// Whether buyers see how many seats are left.
        pub display_remaining: bool,
        /// Entry is refused before this time.
        pub valid_from: Option<Timestamp>,
        /// Entry is refused from this time on.
        pub valid_until: Option<Timestamp>,
        /// If not empty, entry is only possible on the days of the event to which these timestamps belong.
        pub allowed_dates: Vec<Timestamp>,
        /// For how many days of the event a ticket is valid from its first scan on.
        pub validity_days: Option<i64>,
        /// For how many hours a ticket is valid from its first scan on.
        pub validity_hours: Option<i64>,
        /// The areas to which a ticket admits.
        pub access_areas: Vec<String>,
        /// How many tickets of this type one order may contain.
        pub max_per_order: i64,
        /// When the sale begins.
        pub sale_start_date: Option<Timestamp>,
        /// When the sale ends.
        pub sale_end_date: Option<Timestamp>,
        /// The position in lists: lower numbers come first.
        pub sort_order: i64,
        /// Text printed on the ticket.
        pub ticket_text: Option<String>,
        /// The URI of a logo printed on the ticket.
        pub ticket_logo: Option<String>,
        /// The organization's own name for the ticket type.
        pub reference: Option<String>,
        /// What the organization has attached to the ticket type.
        pub metadata: Metadata [default],
        /// When the ticket type was created.
        pub created_at: Timestamp,
        /// When the ticket type was last changed. Sales do not count as changes.
        pub updated_at: Timestamp,
        /// The number of the current version. Every change increases it; sales do not.
        pub revision: i64,
    }
}

/// # Constructors
impl CreateTicketType {
    /// Creates a ticket type that is on sale immediately and valid at any time. An order may contain at most
    /// [10](Self::max_per_order) of its tickets.
    #[must_use]
    pub fn new(name: impl Into<String>, price: Amount, quantity: i64) -> Self {
        Self { name: name.into(), price, quantity, ..Self::blank() }
    }
}

writable_fields! {
    /// A request to create a ticket type.
    create CreateTicketType;
    /// Changes to a ticket type, with the same limits as for its creation.
    update UpdateTicketType;
    fields TicketTypeFields of TicketType;

    /// The name: 2 to 255 characters.
    name: String => required, MinLength(2), MaxLength(LINE_LENGTH);
    /// The price of one ticket: 0 to 1,000,000,000, with at most as many decimals as the currency of the event.
    /// Existing orders keep their price.
    price: Amount => required, Min(0), Max(MAX_PRICE);
    /// The number of seats: 1 to 10,000,000, and not less than the number of seats that are sold or reserved.
    quantity: i64 => required, Min(1), Max(MAX_QUANTITY);
    /// What a buyer gets: at most 20,000 characters. It may have several lines.
    description: String => optional, MaxLength(DESCRIPTION_LENGTH), Lines(ANY_LINES);
    /// How the ticket type is offered.
    status: TicketTypeStatus => default(TicketTypeStatus::OnSale);
    /// Whether buyers see how many seats are left.
    display_remaining: bool => default(false);
    /// For how many days of the event a ticket is valid from its first scan on: at least 1. The day of the scan is the
    /// first. They are calendar days in its time zone, unless its `dayStartsAt` says when they begin.
    validity_days: i64 => nullable, Min(1);
    /// For how many hours a ticket is valid from its first scan on: at least 1.
    validity_hours: i64 => nullable, Min(1);
    /// The areas to which a ticket admits: at most 50, each once and of at most 100 characters.
    access_areas: Vec<String> => default(Vec::new()),
        MaxItems(50), Each(&[MaxLength(ENTRY_LENGTH)]), Unique;
    /// How many tickets of this type one order may contain: 1 to 100, by default 10.
    max_per_order: i64 => default(10), Min(1), Max(100);
    /// The position in lists: lower numbers come first.
    sort_order: i64 => default(0);
    /// Text printed on the ticket: at most 2,000 characters. It may have several lines.
    ticket_text: String => nullable, MaxLength(2000), Lines(ANY_LINES);
    /// A logo printed on the ticket: an `https` URL, which is fetched when a ticket is printed, or a `data:` URI of a PNG
    /// or JPEG image, which must be whole. The image has at most 524,288 bytes (512 KiB), and at most 2,000 pixels in
    /// width and height. At most 700,000 characters.
    ticket_logo: String => nullable, MaxLength(700_000), Logo, Picture;
    /// Entry is refused before this time.
    valid_from: Timestamp => nullable;
    /// Entry is refused from this time on. Must be after the start of the validity.
    valid_until: Timestamp => nullable;
    /// If not empty, entry is only possible on the days of the event to which these timestamps belong: at most 366, each
    /// once. They are calendar days in its time zone, unless its `dayStartsAt` says when they begin: with 06:00, a
    /// timestamp at midnight belongs to the day before.
    allowed_dates: Vec<Timestamp> => default(Vec::new()), MaxItems(366), Unique;
    /// When the sale begins.
    sale_start_date: Timestamp => nullable;
    /// When the sale ends. Must be after its start.
    sale_end_date: Timestamp => nullable;
    /// The organization's own name for the ticket type: 1 to 255 characters. Lists can be filtered by it. It need not
    /// be unique.
    reference: String => nullable, MinLength(1), MaxLength(LINE_LENGTH);
    /// What the organization attaches to the ticket type: strings by name, at most 16,384 bytes. An update replaces all
    /// of it.
    metadata: Metadata => default(Metadata::new());
}

list_request! {
    /// A request to list the ticket types of an event.
    pub struct ListTicketTypes {
        /// Only ticket types with this status.
        pub status: Option<TicketTypeStatus>,
        /// Only ticket types with exactly this reference.
        pub reference: Option<String> [MaxLength(LINE_LENGTH)],
        /// The part of the list to return.
        pub page: PageRequest<TicketTypeId>,
    }
}
