//! The tickets of an event as devices at the entrance need them: with the rules of admission, and without names and codes.

use crate::error::Reason;
use crate::form::declare::fields::form;
use crate::form::declare::setters::constructor;
use crate::form::limits::NumberLimit::{Max, Min};
use crate::form::limits::TextLimit::MaxLength;
use crate::model::sale::event::EventStatus;
use crate::model::sale::ticket::TicketStatus;
use crate::model::tickets::scan::{OtherScan, ScanOutcome};
use crate::model::values::id::{EventId, ScanId, TicketId, TicketTypeId};
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
        /// The conflicts of the tickets that have changed. If a ticket changes, all its conflicts are listed: a conflict
        /// that is not listed any more was resolved by a later report. At most 1,000, the newest first.
        pub conflicts: Vec<ScanConflict>,
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
        /// 4648). A code of this service cannot be found from it; a short code of another seller can. The hash of a cancelled
        /// ticket whose code another ticket has got is that of no code.
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

    /// A scan for which somebody was let in, although the ticket was checked in already or the rules refuse it. Scans with
    /// which the staff decided against the device are not listed.
    pub struct ScanConflict {
        /// The row of the log.
        pub id: ScanId,
        /// The id that the device gave: a UUID. Not set if no device reported the scan.
        #[cfg_attr(feature = "server", schemars(extend("format" = "uuid")))]
        pub uuid: Option<String>,
        /// The issued ticket.
        pub ticket_id: TicketId,
        /// `ADMITTED_TWICE` or `WOULD_BE_REFUSED`.
        pub outcome: ScanOutcome,
        /// Why the rules refuse it.
        pub reason: Option<Reason>,
        /// When it happened.
        pub scanned_at: Timestamp,
        /// The name of the device.
        pub device: Option<String>,
        /// The earlier admission, if the ticket was checked in already.
        pub other: Option<OtherScan>,
    }

    /// The tickets of an order, for holders who have no code to show.
    pub struct RosterOrder {
        /// All tickets of the order, also cancelled ones, in the order in which they were issued.
        pub tickets: Vec<RosterOrderTicket>,
        /// The time of the service, with which a device can correct its clock.
        pub now: Timestamp,
    }

    /// A ticket of an order, without its holder and its code.
    pub struct RosterOrderTicket {
        /// The issued ticket.
        pub ticket_id: TicketId,
        /// The ticket type.
        pub ticket_type_id: TicketTypeId,
        /// The name of the ticket type.
        pub ticket_type_name: String,
        /// The status.
        pub status: TicketStatus,
        /// The `proof` of a scan of this ticket.
        pub proof: String,
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
        /// Valid tickets that another seller has sold. If there are none, no text but a code of this service is a ticket.
        pub imported: i64 [default],
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
