//! The tickets of an event as devices at the entrance need them: with the rules of admission, and without names and codes.

use crate::form::declare::fields::form;
use crate::form::declare::setters::constructor;
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::MaxLength;
use crate::model::sale::event::EventStatus;
use crate::model::tickets::ticket::TicketStatus;
use crate::model::values::id::{EventId, TicketId, TicketTypeId};
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of tickets in one answer, and the default.
pub(crate) const MAX_TICKETS: i64 = 5000;

constructor! { GetRoster "Creates a request for the first part of the roster." }

form! {
    /// A request for a part of the roster of an event.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct GetRoster {
        /// The `cursor` of the previous answer. After a complete one, only what has changed since follows.
        pub since: Option<String> [MaxLength(255)],
        /// The greatest number of tickets: 1 to 5,000, which is the default.
        pub limit: Option<i64> [Min(1), Max(MAX_TICKETS)],
    }
}

responses! {
    /// A part of the roster of an event: the rules of admission, and tickets.
    pub struct Roster {
        /// The event.
        pub event: RosterEvent,
        /// The name of the API key, which is that of the entrance. Not set without one.
        pub gate: Option<String>,
        /// All ticket types of the event.
        pub types: Vec<RosterTicketType>,
        /// Tickets. One may come several times, and replaces what was known of it.
        pub tickets: Vec<RosterTicket>,
        /// How many tickets there are. A device that has all of them, and no scans to report, has the same counts. If
        /// not, it should read the roster from the beginning.
        pub counts: RosterCounts,
        /// The time of the service, with which a device can correct its clock.
        pub now: Timestamp,
        /// What to ask for next.
        pub cursor: String,
        /// Whether nothing follows at present. If not, ask again at once.
        pub complete: bool,
    }

    /// What a device needs of the event.
    pub struct RosterEvent {
        /// The id.
        pub id: EventId,
        /// The title.
        pub title: String,
        /// The time zone: an IANA name.
        pub timezone: String,
        /// The local time at which days of the event begin: `HH:MM`. Not set means midnight.
        pub day_starts_at: Option<String>,
        /// The status.
        pub status: EventStatus,
        /// When it was cancelled. Not set if that is not known.
        pub cancelled_at: Option<Timestamp>,
    }

    /// What a device needs of a ticket type.
    pub struct RosterTicketType {
        /// The id.
        pub id: TicketTypeId,
        /// The name.
        pub name: String,
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
    }

    /// A ticket of the roster. In JSON it is a list of these values, in this order.
    // Without `items`, tools that do not know `prefixItems` take it for no list.
    #[cfg_attr(feature = "server", schemars(extend("items" = {"type": ["string", "integer", "null"]})))]
    #[serde(from = "Values", into = "Values")]
    pub struct RosterTicket {
        /// The first 12 bytes of the SHA-256 hash of `roster`, the id of the event and the code, in base64url (RFC
        /// 4648). The code cannot be found from it.
        pub hash: String,
        /// The issued ticket.
        pub ticket_id: TicketId,
        /// The position of the ticket type in the `types` of the same answer, counted from 0.
        pub ticket_type: u32,
        /// The status.
        pub status: TicketStatus,
        /// When the ticket was last checked in.
        pub check_in_date: Option<Timestamp>,
        /// When the ticket was first checked in.
        pub first_scan_date: Option<Timestamp>,
        /// From this time on, the ticket cannot be checked in.
        pub expires_at: Option<Timestamp>,
    }

    /// How many tickets an event has.
    #[derive(Copy, Default)]
    pub struct RosterCounts {
        /// The tickets, including cancelled ones.
        pub tickets: i64,
        /// Those that are cancelled.
        pub cancelled: i64,
        /// Those that are checked in.
        pub inside: i64,
    }
}

type Values = (String, TicketId, u32, TicketStatus, Option<Timestamp>, Option<Timestamp>, Option<Timestamp>);

impl From<Values> for RosterTicket {
    fn from(values: Values) -> Self {
        let (hash, ticket_id, ticket_type, status, check_in_date, first_scan_date, expires_at) = values;
        Self { hash, ticket_id, ticket_type, status, check_in_date, first_scan_date, expires_at }
    }
}

impl From<RosterTicket> for Values {
    fn from(ticket: RosterTicket) -> Self {
        let RosterTicket { hash, ticket_id, ticket_type, status, check_in_date, first_scan_date, expires_at } = ticket;
        (hash, ticket_id, ticket_type, status, check_in_date, first_scan_date, expires_at)
    }
}
